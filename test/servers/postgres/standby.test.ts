import { generateKey } from 'keyscope';
import { postgresInvalidation, postgresStore } from 'keyscope/stores/postgres';
import pg from 'pg';
import { expect, test } from 'vitest';
import { AUTHORITY, denied, issue, setUp, storeError } from '../../support/keyring.ts';
import { pgPool } from '../../support/postgres-clients.ts';
import { describeOwnPostgres, RECORD } from '../../support/postgres-place.ts';
import { promote, startAsStandby, startPair } from '../../support/postgres-servers.ts';
import { openTcpProxy } from '../../support/tcp-proxy.ts';

const LIMIT = { timeout: 120_000 };

const REPLICA = 'keyscope: this is a replica, which lags behind. Pass a client of the primary';

describeOwnPostgres('a primary and its standby', () => {
  test(
    'change places: staying clients are rejected, following ones miss nothing',
    LIMIT,
    async () => {
      const { primary, standby, remove } = await startPair('synchronous');
      const proxy = await openTcpProxy(primary.address);
      const connectionString = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
      const pool = pgPool({}, { connectionString });
      const store = postgresStore(pool);
      const { keyring } = setUp({ store, storeTimeoutMs: 10_000 });
      const kept = await issue(keyring);
      const lost = await issue(keyring);
      // Remembered from now on, and still rejected once the server is a replica.
      await keyring.verify(kept.key);
      await keyring.revoke(lost.info.keyId, AUTHORITY);

      await primary.stop('fast');
      await promote(standby);
      await startAsStandby(primary, standby);
      for (const { key, info } of [kept, lost]) {
        await storeError(() => keyring.verify(key));
        await expect(async () => store.findById(info.keyId)).rejects.toThrow(REPLICA);
      }
      // The new primary's key that has not arrived is not a bad key.
      await storeError(() => keyring.verify(generateKey({ prefix: 'acme' })));
      await expect(async () => store.listChanged({ since: 0, limit: 1 })).rejects.toThrow(REPLICA);
      await storeError(() => keyring.revoke(kept.info.keyId, AUTHORITY));
      await storeError(() => issue(keyring));
      const direct = pgPool({}, { connectionString: primary.url });
      const late = postgresStore(direct);
      await expect(async () => late.findById(kept.info.keyId)).rejects.toThrow(REPLICA);

      proxy.turnTo(standby.address);
      expect((await keyring.verify(kept.key)).keyId).toBe(kept.info.keyId);
      await denied(() => keyring.verify(lost.key), 'invalid_token', 'revoked');
      await Promise.all([pool.end(), direct.end()]);
      await proxy.close();
      await remove();
    },
  );

  test('write usage, and answer look-ups, while the standby is gone', LIMIT, async () => {
    const { primary, standby, remove } = await startPair('synchronous');
    const pool = pgPool({}, { connectionString: primary.url });
    const store = postgresStore(pool);
    await store.insert(RECORD);
    await standby.stop('killed');
    await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: {} }]);
    expect(await store.findById(RECORD.keyId)).toMatchObject({ lastUsedAt: 5 });
    // A mark that only this server has is not acknowledged.
    const revoke = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;
    const revoked = store.mark(RECORD.keyId, revoke);
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    await expect.poll(() => primary.sql(waiting), { timeout: 20_000 }).toHaveLength(1);
    expect(await store.findById(RECORD.keyId)).toMatchObject({ revokedAt: null });
    await standby.start();
    expect(await revoked).toBe(true);
    await pool.end();
    await remove();
  });

  // Only the beat revealed a channel that receives nothing there.
  test('carry no message on the standby, which is reported at once', LIMIT, async () => {
    const { primary, standby, remove } = await startPair('asynchronous');
    const made: pg.Client[] = [];
    const { subscribe, publish } = postgresInvalidation(() => {
      const client = new pg.Client(standby.url);
      made.push(client.on('error', () => {}));
      return client;
    });
    const heard: string[] = [];
    const listen = async () => subscribe((keyId) => heard.push(keyId));
    await expect(listen()).rejects.toThrow('cannot execute LISTEN during recovery');
    await primary.stop('killed');
    await promote(standby);
    // It retries every second on its own.
    await listen();
    const keyId = crypto.randomUUID();
    await publish(keyId);
    await expect.poll(() => heard, { timeout: 20_000 }).toContain(keyId);
    await Promise.allSettled(made.map((client) => client.end()));
    await remove();
  });
});
