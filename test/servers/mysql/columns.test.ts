import type { KeyRecord } from 'keyscope';
import { beforeAll, expect, test } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import { describeMysql, printed, usePlace } from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

const LONG = 'a'.repeat(256);

/** One field each that its column would cut or change. */
const UNFIT: readonly Partial<KeyRecord>[] = [
  { keyId: `${OTHER}0` },
  { keyId: OTHER.toUpperCase() },
  { keyId: 'x' },
  { digest: LONG },
  { digest: '' },
  { digest: 's1$é' },
  { digest: 's1$\n' },
  { seal: LONG },
  { seal: 'é' },
  { entityUuid: `${OWN} ` },
  { entityUuid: LONG },
  { rotatedFrom: LONG },
  { rotatedFrom: '' },
];

describeMysql('where the SQL mode is not strict', () => {
  const place = usePlace('mariadb connection', { initSql: "SET sql_mode = ''" });
  // Whichever test comes first: nothing is asked of the server before the first use.
  beforeAll(async () => {
    await place.store.findById(OTHER);
  });

  test('refuses what does not fit its column, and never cuts it', async () => {
    const ids = () => place.rows('SELECT key_id FROM keyscope_keys');
    const before = await ids();
    for (const given of UNFIT) {
      const [field] = Object.keys(given);
      const insert = async () => place.store.insert({ ...RECORD, ...given });
      const why = `keyscope: insert: ${field} does not fit its column`;
      await expect(insert, printed(given)).rejects.toThrow(why);
    }
    expect(await ids()).toEqual(before);
  });

  test('keeps every text to the last byte', async () => {
    const long = '🦊'.repeat(2 ** 18);
    const digest = 'd'.repeat(255);
    const seal = 's'.repeat(255);
    const record = { ...RECORD, name: long, justification: long, digest, seal };
    await place.store.insert(record);
    expect(await place.store.findById(RECORD.keyId)).toEqual(record);
  });
});
