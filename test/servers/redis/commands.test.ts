/** The commands that the store sends to a server, and that an ACL must therefore allow. */
import { readFileSync } from 'node:fs';
import type { Awaitable, KeyRecord, UsageEntry } from 'keyscope';
import { purgeEnded, redisStore } from 'keyscope/stores/redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  AUTHORITY,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  START,
  setUp,
} from '../../support/keyring.ts';
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

const NOBODY = { by: null, reason: null } as const;
const REVOKE = { kind: 'revoke', at: 5, ...NOBODY, seal: null } as const;
const SUSPEND = { kind: 'suspend', at: 5, ...NOBODY } as const;
const RESUME = { kind: 'resume', at: 6 } as const;
const RETIRE = { kind: 'retire', at: 7, retireAt: 9, ...NOBODY } as const;
const WITHDRAW = { kind: 'withdraw', at: 8, entityId: OTHER } as const;

const usageOf = (keyId: string): UsageEntry => ({
  keyId,
  lastUsedAt: 5,
  scopesUsed: { 'threats:read': 5 },
});

describeWithRedis.each(KINDS)('a server, with %s', (kind) => {
  const suite = useRedis();

  test('gets no more commands than this', async () => {
    const store = redisStore(suite.client(kind));
    const { keyring } = setUp({ store });
    const { key, info } = await issue(keyring);
    const entities = { entityId: OTHER, accessibleEntities: [OTHER, OWN] };
    const { record } = unsealed(entities);
    const { keyId } = record;
    async function expectCommands(
      act: () => Awaitable<unknown>,
      commands: Readonly<Record<string, number>>,
    ): Promise<void> {
      expect(await commandsOf(suite.own, act)).toEqual(commands);
    }
    /** The commands for so many records, by their digests. */
    const read = (count: number) => ({ eval: count, hgetall: count });
    /** A read that finds nothing asks whether the schema is there. */
    const missed = (count: number) => ({ exists: count });

    // One script each. Each also asks for the role, which does not count here.
    await expectCommands(() => keyring.verify(key), read(1));
    await expectCommands(() => store.insert(record), {
      set: 1,
      zadd: 3,
      eval: 1,
      exists: 2,
      hset: 1,
    });
    const look = () => store.findByDigest([record.digest, 's1$a', 's1$b']);
    await expectCommands(look, { ...read(3), ...missed(2) });
    await expectCommands(() => store.findById(keyId), { get: 1, eval: 2, hgetall: 1 });
    const page = { prefix: 'acme', entityId: OTHER, after: null, limit: 100 };
    await expectCommands(() => store.list(page), { zrange: 1, eval: 2, hgetall: 1 });
    const part = { after: null, limit: 100 };
    const lineage = { get: 1, zrange: 1, eval: 3, hgetall: 1, ...missed(1) };
    await expectCommands(() => store.listLineage({ rootKeyId: keyId, ...part }), lineage);
    const usage = [usageOf(keyId), usageOf(OWN)];
    const touched = { get: 2, eval: 3, hget: 3, hset: 2, ...missed(1) };
    await expectCommands(() => store.touch(usage), touched);
    const revoke = () => store.mark(info.keyId, REVOKE);
    const tried = { get: 1, eval: 4, zadd: 2, hmget: 1 };
    await expectCommands(revoke, { ...tried, hset: 1 });
    await expectCommands(revoke, tried);
    await expectCommands(() => store.mark(NOWHERE, REVOKE), { get: 1, eval: 1, ...missed(1) });
    await expectCommands(() => store.summarize(5), { zrange: 1, eval: 3, hmget: 2 });
    await expectCommands(() => store.listAll(part), { zrange: 1, eval: 3, hgetall: 2 });
    const expiring = { zrange: 1, eval: 1, ...missed(1) };
    await expectCommands(() => store.listExpiring({ ...part, before: 9 }), expiring);
    await expectCommands(() => store.listChanged({ since: 0, limit: 9 }), {
      zrange: 1,
      eval: 2,
      hgetall: 1,
    });
  });

  test('must allow exactly the documented commands', async () => {
    const user = ['keys', 'reset', 'on', '>secret', '~keyscope:*'];
    const ofClients = ['+hello', '+client'];
    await suite.own.ask('ACL', 'SETUSER', ...user, ...documentedCommands(), ...ofClients);
    const url = suite.own.url.replace('//', '//keys:secret@');
    const { client, close } = await connectTo(kind, url);
    onTestFinished(() => close());
    const store = redisStore(client);
    const { keyring, clock } = setUp({ store });
    const { key, info } = await issue(keyring);
    const { keyId } = info;
    await keyring.suspend(keyId, AUTHORITY);
    await keyring.resume(keyId, AUTHORITY);
    await keyring.rotate(keyId, { overlapMs: HOUR }, AUTHORITY);
    await keyring.revoke(keyId, AUTHORITY);
    await store.mark(keyId, { kind: 'withdraw', at: 5, entityId: OTHER });
    await store.touch([{ keyId, lastUsedAt: 5, scopesUsed: {} }]);
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
    expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(2);
    const lineage = { rootKeyId: keyId, after: null, limit: 9 };
    expect(await store.listLineage(lineage)).toHaveLength(2);
    expect(await store.summarize(clock.now())).toHaveLength(1);
    expect(await store.listChanged({ since: 0, limit: 9 })).toHaveLength(1);
    const row = (await store.findById(keyId)) as KeyRecord;
    const again = async () => store.insert({ ...row, keyId: OTHER });
    await expect(again()).rejects.toThrow('digest exists already');
    const later = new Date(START + 1);
    clock.set(START + HOUR);
    await keyring.revokeLineage(keyId, AUTHORITY);
    // The key has ended, and so has its successor.
    expect(await purgeEnded(client, { endedBefore: later })).toEqual([keyId]);
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

  test('that is full still marks keys', async () => {
    const { keyring, store } = setUp({ store: redisStore(suite.client(kind)) });
    const { key, info } = await issue(keyring);
    const other = await issue(keyring);
    await suite.own.ask('CONFIG', 'SET', 'maxmemory', '1');
    expect(await causeOf(() => issue(keyring))).toContain('OOM');
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    await keyring.revoke(info.keyId, AUTHORITY);
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
    for (const mark of [SUSPEND, RESUME, RETIRE, WITHDRAW]) {
      expect(await store.mark(other.info.keyId, mark), mark.kind).toBe(true);
    }
    await suite.own.ask('CONFIG', 'SET', 'maxmemory', '0');
    await issue(keyring);
  });
});

describe('the documentation', () => {
  test('lists the commands that an ACL must allow', () => {
    for (const command of documentedCommands()) expect(command).toMatch(/^\+[a-z]+$/);
  });
});
