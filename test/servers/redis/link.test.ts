/** What an error of a client says: what is wrong, and no digest. */
import { inspect } from 'node:util';
import type { Awaitable } from 'keyscope';
import { redisStore } from 'keyscope/stores/redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OWN, thrown } from '../../support/keyring.ts';
import { ioRedis, KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, startRedis, useRedis } from '../../support/redis-servers.ts';
import { unsealed } from '../../support/unsealed.ts';

describeWithRedis.each(KINDS)('an error of a server, with %s', (kind) => {
  const suite = useRedis();

  test('says what is wrong without a digest', async () => {
    const store = redisStore(suite.client(kind));
    const { record } = unsealed();
    const { digest, keyId } = record;
    await store.insert(record);
    await suite.own.ask('DEL', `keyscope:rec:${digest}`);
    await suite.own.ask('LPUSH', `keyscope:rec:${digest}`, 'x');
    await suite.own.ask('ACL', 'SETUSER', 'default', '-eval');
    onTestFinished(async () => {
      await suite.own.ask('ACL', 'SETUSER', 'default', '+eval');
    });
    const acts: readonly (() => Awaitable<unknown>)[] = [
      () => store.findByDigest([digest]),
      () => store.findById(keyId),
      () => store.insert(unsealed({ digest }).record),
      () => store.markEnded(keyId, { revokedAt: 5 }),
      () => store.list({ entityUuid: OWN, after: null, limit: 5 }),
    ];
    for (const act of acts) {
      const error = await thrown(async () => act());
      const shown = inspect(error, { showHidden: true, depth: 9 });
      expect(shown).toMatch(/redis: (?:WRONGTYPE|NOPERM)/);
      expect(shown).not.toContain(digest.slice(-16));
    }
  });
});

describe('an error of a client', () => {
  test('that quotes a key says so without the digest', async () => {
    const { digest } = unsealed().record;
    const message = `ERR nobody may read 'keyscope:rec:${digest}'`;
    const quoting = { call: () => Promise.reject(new Error(message)) };
    const error = await thrown(async () => redisStore(quoting).findByDigest([digest]));
    expect(String(error)).toMatch(/^Error: redis: ERR nobody may read 'keyscope:rec:/);
    expect(String(error)).not.toContain(digest.slice(-16));
  });
});

describeWithRedis('a server that does not know a command', () => {
  test('says so without the arguments', async () => {
    const bare = await startRedis('--rename-command', 'EVAL', '');
    onTestFinished(bare.remove);
    const { client, close } = ioRedis(bare.url);
    const error = await thrown(async () => redisStore(client).insert(unsealed().record));
    expect(String(error)).toBe("Error: redis: ERR unknown command 'EVAL'…");
    close();
  });
});
