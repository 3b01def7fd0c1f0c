import type { KeyRecord, Mark } from 'keyscope';
import { beforeAll, expect, test } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import { another, describeMysql, printed, usePlace } from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

const LONG = 'a'.repeat(256);

/** For each field, a value that its column would cut or change. */
const UNFIT: readonly Partial<KeyRecord>[] = [
  { keyId: `${OTHER}0` },
  { keyId: OTHER.toUpperCase() },
  { keyId: 'x' },
  { prefix: 'a'.repeat(21) },
  { prefix: 'acme ' },
  { prefix: '' },
  { issuedUnder: LONG },
  { issuedUnder: OTHER.toUpperCase() },
  { hint: LONG },
  { hint: 'é' },
  { digest: LONG },
  { digest: '' },
  { digest: 's1$é' },
  { digest: 's1$\n' },
  { seal: LONG },
  { seal: 'é' },
  { entityId: `${OWN} ` },
  { entityId: 'a'.repeat(65) },
  { entityId: '..' },
  { entityId: 'é' },
  { accessibleEntities: [OWN, `${OTHER} `] },
  { accessibleEntities: [OWN, 'a'.repeat(65)] },
  { rotatedFrom: LONG },
  { rotatedFrom: '' },
  { rootKeyId: '' },
  { rootKeyId: LONG },
];

describeMysql('a server whose SQL mode is not strict', () => {
  const place = usePlace('mariadb connection', { initSql: "SET sql_mode = ''" });
  // Whichever test runs first: the store asks the server nothing before its first use.
  beforeAll(async () => {
    await place.store.findById(OTHER);
  });

  test('gets no value that does not fit its column', async () => {
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

  test('gets no mark that does not fit its column', async () => {
    await place.store.insert(another(1));
    const marks: readonly Mark[] = [
      { kind: 'revoke', at: 5, by: null, reason: null, seal: LONG },
      { kind: 'revoke', at: 5, by: null, reason: null, seal: 'é' },
      { kind: 'withdraw', at: 5, entityId: `${OTHER} ` },
      { kind: 'withdraw', at: 5, entityId: '' },
      { kind: 'withdraw', at: 5, entityId: 'a'.repeat(65) },
    ];
    for (const mark of marks) {
      const write = async () => place.store.mark(another(1).keyId, mark);
      const what = 'seal' in mark ? 'seal' : 'entityId';
      const why = `keyscope: mark: ${what} does not fit its column`;
      await expect(write, printed(mark)).rejects.toThrow(why);
    }
    expect(await place.store.findById(another(1).keyId)).toEqual(another(1));
  });

  test('stores every text to the last byte', async () => {
    const long = '🦊'.repeat(2 ** 18);
    const digest = 'd'.repeat(255);
    const seal = 's'.repeat(255);
    const texts = { name: long, justification: long, createdBy: long, trust: long };
    const ended = { endedBy: long, endReason: long, revokedAt: 5 };
    const prefix = 'p'.repeat(20);
    const entityId = 'e'.repeat(64);
    const record = { ...RECORD, ...texts, ...ended, prefix, digest, seal, entityId };
    await place.store.insert(record);
    expect(await place.store.findById(RECORD.keyId)).toEqual(record);
  });
});
