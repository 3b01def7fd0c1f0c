/** What the store asks of a server, and what an ACL must therefore allow. */
import { readFileSync } from 'node:fs';
import type { Awaitable, KeyRecord, UsageEntry } from 'keyscope';
import { redisStore } from 'keyscope/stores/redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AUTHORITY, HOUR, issue, OTHER, OWN, setUp } from '../../support/keyring.ts';
import { causeOf, outcome } from '../../support/outcome.ts';
import { connectTo, KINDS } from '../../support/redis-clients.ts';
import { commandsOf, describeWithRedis, useRedis } from '../../support/redis-servers.ts';
import { unsealed } from '../../support/unsealed.ts';

/** As the comment of `redisStore` lists them. */
function documentedCommands(): string[] {
  const path = `${import.meta.dirname}/../../../src/stores/redis/store.ts`;
  const list = /`(\+get .+)`/.exec(readFileSync(path, 'utf8'))?.[1];
  if (list === undefined) throw new Error('the comment lists no commands');
  return list.split(' ');
}

const usageOf = (keyId: string): UsageEntry => ({
  keyId,
  lastUsedAt: 5,
  scopesUsed: { 'threats:read': 5 },
});

describeWithRedis.each(KINDS)('a server, with %s', (kind) => {
  const suite = useRedis();

  test('is asked for no more than this', async () => {
    const store = redisStore(suite.client(kind));
    const { keyring } = setUp({ store });
    const { key, info } = await issue(keyring);
    const { record } = unsealed({ entityUuid: OTHER, accessibleEntities: [OTHER] });
    async function expectCommands(
      act: () => Awaitable<unknown>,
      commands: Readonly<Record<string, number>>,
    ): Promise<void> {
      expect(await commandsOf(suite.own, act)).toEqual(commands);
    }

    // A verification writes nothing.
    await expectCommands(() => keyring.verify(key), { hgetall: 1 });
    await expectCommands(() => store.insert(record), {
      set: 1,
      zadd: 2,
      eval: 1,
      exists: 1,
      hset: 1,
    });
    await expectCommands(() => store.findByDigest([record.digest, 's1$a', 's1$b']), { hgetall: 3 });
    await expectCommands(() => store.findById(record.keyId), { get: 1, hgetall: 1 });
    const page = { entityUuid: OTHER, after: null, limit: 100 };
    await expectCommands(() => store.list(page), { zrange: 1, hgetall: 1 });
    const usage = [usageOf(record.keyId), usageOf(OWN)];
    await expectCommands(() => store.touch(usage), { get: 2, eval: 1, hget: 3, hset: 2 });
    const revoke = () => store.markEnded(info.keyId, { revokedAt: 5 });
    await expectCommands(revoke, { get: 1, eval: 1, hmget: 1, hset: 1 });
    await expectCommands(revoke, { get: 1, eval: 1, hmget: 1 });
    await expectCommands(() => store.summarize(5), { zrange: 3, hgetall: 2 });
  });

  test('needs to allow the commands that the documentation lists, and no other', async () => {
    const user = ['keys', 'reset', 'on', '>secret', '~keyscope:*'];
    const ofClients = ['+hello', '+client'];
    await suite.own.ask('ACL', 'SETUSER', ...user, ...documentedCommands(), ...ofClients);
    const url = suite.own.url.replace('//', '//keys:secret@');
    const { client, close } = await connectTo(kind, url);
    onTestFinished(() => close());
    const { keyring, store, clock } = setUp({ store: redisStore(client) });
    const { key, info } = await issue(keyring);
    await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
    await keyring.revoke(info.keyId, AUTHORITY);
    await store.touch([{ keyId: info.keyId, lastUsedAt: 5, scopesUsed: {} }]);
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
    expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(2);
    expect(await store.summarize(clock.now())).toHaveLength(1);
    const row = (await store.findById(info.keyId)) as KeyRecord;
    const again = async () => store.insert({ ...row, keyId: OTHER });
    await expect(again()).rejects.toThrow('digest exists already');
  });

  test('may forget its scripts, and nothing is lost', async () => {
    const { keyring } = setUp({ store: redisStore(suite.client(kind)) });
    for (let round = 0; round < 2; round++) {
      await suite.own.ask('SCRIPT', 'FLUSH');
      const { info } = await issue(keyring);
      await suite.own.ask('SCRIPT', 'FLUSH');
      await keyring.revoke(info.keyId, AUTHORITY);
    }
  });

  test('that is full still ends keys', async () => {
    const { keyring, store } = setUp({ store: redisStore(suite.client(kind)) });
    const { key, info } = await issue(keyring);
    const other = await issue(keyring);
    await suite.own.ask('CONFIG', 'SET', 'maxmemory', '1');
    expect(await causeOf(() => issue(keyring))).toContain('OOM');
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    await keyring.revoke(info.keyId, AUTHORITY);
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
    expect(await store.markEnded(other.info.keyId, { retireAt: 5 })).toBe(true);
    await suite.own.ask('CONFIG', 'SET', 'maxmemory', '0');
    await issue(keyring);
  });
});

describe('the documentation', () => {
  test('lists the commands that an ACL must allow', () => {
    for (const command of documentedCommands()) expect(command).toMatch(/^\+[a-z]+$/);
  });
});
