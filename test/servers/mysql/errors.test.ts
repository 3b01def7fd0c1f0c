import { mysqlStore } from 'keyscope/stores/mysql';
import mariadb from 'mariadb';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectNoSecretIn } from '../../support/leaks.ts';
import { describeMysql, usageOf, usePlace } from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

async function failureOf(act: () => unknown): Promise<Error> {
  try {
    await act();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

describeMysql.each([
  ['mysql2', {}],
  ['mariadb', { logParam: true }],
] as const)('an error over %s', (driver, options) => {
  const place = usePlace(`${driver} connection`, options);

  test('contains neither digest nor seal, and quotes the server', async () => {
    await place.store.insert(RECORD);
    const duplicate = await failureOf(() => place.store.insert(RECORD));
    expect(duplicate.message).toBe('keyscope: a key with this id or digest exists already');
    await place.rows('RENAME TABLE keyscope_keys TO elsewhere');
    const missing = [
      await failureOf(() => place.store.insert(RECORD)),
      await failureOf(() => place.store.findByDigest([RECORD.digest])),
      await failureOf(() => place.store.touch([usageOf(RECORD, 5)])),
    ];
    await place.rows('RENAME TABLE elsewhere TO keyscope_keys');
    for (const { message } of missing) {
      expect(message).toMatch(/^keyscope: Table .* doesn't exist$/);
    }
    for (const error of [duplicate, ...missing]) expectNoSecretIn(error, RECORD);
  });
});

// It only said that the pool had no connection.
describe('an error of a pool of mariadb that cannot connect', () => {
  test('says why', async () => {
    const nobody = { host: '127.0.0.1', port: 1, acquireTimeout: 300 };
    const pool = mariadb.createPool(nobody);
    onTestFinished(() => pool.end());
    const { message } = await failureOf(() => mysqlStore(pool).findById(RECORD.keyId));
    expect(message).toMatch(/^keyscope: pool failed to retrieve a connection.*ECONNREFUSED/s);
  });
});
