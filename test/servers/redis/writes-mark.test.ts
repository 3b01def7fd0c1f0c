/**
 * Marks: one script on one record, filed before it is written. The contract tests the conditions.
 */
import type { Redis } from 'ioredis';
import type { KeyRecord, Mark } from 'keyscope';
import { redisStore } from 'keyscope/stores/redis';
import { expect, test } from 'vitest';
import { NOWHERE, OTHER, OWN, untyped } from '../../support/keyring.ts';
import { BREAKS, breaking } from '../../support/redis-breaks.ts';
import { KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, useRedis } from '../../support/redis-servers.ts';
import { unsealed } from '../../support/unsealed.ts';

const SUSPEND = { kind: 'suspend', at: 5, by: 'ada', reason: 'doubt' } as const;
const REVOKE = { kind: 'revoke', at: 6, by: 'ada', reason: 'lost', seal: 'ab' } as const;

function withdraw(entityId: string, at: number = 7): Mark {
  return { kind: 'withdraw', at, entityId };
}

/** Texts that a Lua script would spell differently in JSON, or misread. */
const TEXTS: readonly string[] = [
  'a/b',
  '"',
  '","',
  '\\',
  ']',
  '[]',
  '%',
  '\u007f',
  '\b\f\n\u0001',
  'é🦊',
  '5',
  'null',
  '',
];

describeWithRedis.each(KINDS)('a mark, with %s,', (kind) => {
  const suite = useRedis();
  const storeOf = () => redisStore(suite.client(kind));

  async function inserted(given: Partial<KeyRecord> = {}) {
    const store = storeOf();
    const { record } = unsealed(given);
    await store.insert(record);
    return { store, record, keyId: record.keyId, hash: `keyscope:rec:${record.digest}` };
  }

  test('is written if a caller without types omits null fields', async () => {
    const { store, record, keyId } = await inserted({ endedBy: 'x', endReason: 'x', seal: 'cd' });
    expect(await store.mark(keyId, untyped<Mark>({ kind: 'suspend', at: 3 }))).toBe(true);
    const nobody = { endedBy: null, endReason: null };
    const suspended = { ...record, ...nobody, suspendedAt: 3, changedAt: 3 };
    expect(await store.findById(keyId)).toEqual(suspended);
    await store.mark(keyId, { kind: 'resume', at: 4 });
    expect(await store.mark(keyId, untyped<Mark>({ kind: 'retire', at: 4, retireAt: 9 }))).toBe(
      true,
    );
    const retired = { ...record, ...nobody, retireAt: 9, changedAt: 4 };
    expect(await store.findById(keyId)).toEqual(retired);
    expect(await store.mark(keyId, untyped<Mark>({ kind: 'revoke', at: 8 }))).toBe(true);
    const revoked = { ...retired, revokedAt: 8, changedAt: 8, seal: null };
    expect(await store.findById(keyId)).toEqual(revoked);
  });

  test('of a withdrawal keeps every text unchanged, in order and once', async () => {
    const { store, record, keyId } = await inserted();
    for (const text of TEXTS) {
      expect(await store.mark(keyId, withdraw(text)), text).toBe(true);
      expect(await store.mark(keyId, withdraw(text)), text).toBe(false);
    }
    const withdrawn = TEXTS;
    expect(await store.findById(keyId)).toEqual({ ...record, withdrawn, changedAt: 7 });
    const by = { by: null, reason: null };
    const retire = { kind: 'retire', at: 9, retireAt: 9, ...by } as const;
    const others = [undefined, [], TEXTS.toReversed(), TEXTS.slice(1), [...TEXTS, 'x']];
    for (const other of others) {
      expect(await store.mark(keyId, { ...retire, withdrawn: other })).toBe(false);
    }
    expect(await store.mark(keyId, { ...retire, withdrawn })).toBe(true);
  });

  test('of a withdrawal is not written to an invalid list', async () => {
    const { store, keyId, hash } = await inserted();
    for (const odd of ['{}', '"[]"', '[', '[x]', '5', 'null', '']) {
      await suite.own.ask('HSET', hash, 'withdrawn', odd);
      expect(await store.mark(keyId, withdraw(OTHER)), odd).toBe(false);
      expect(await suite.own.ask('HGET', hash, 'withdrawn')).toBe(odd);
    }
    await suite.own.ask('HDEL', hash, 'withdrawn');
    expect(await store.mark(keyId, withdraw(OTHER))).toBe(false);
  });

  test('of a withdrawal is not lost among twenty at once', async () => {
    const { store, keyId } = await inserted();
    const entities = Array.from({ length: 20 }, () => crypto.randomUUID());
    const wrote = await Promise.all(entities.map((each) => store.mark(keyId, withdraw(each))));
    expect(wrote).not.toContain(false);
    const row = (await store.findById(keyId)) as KeyRecord;
    expect([...row.withdrawn].sort()).toEqual(entities.toSorted());
  });

  test('is written to a record whose id was edited, and to no other', async () => {
    for (const edited of [JSON.stringify(OTHER), '5', '1', '-1', 'none', '', null]) {
      const { store, keyId, hash } = await inserted();
      const field = edited === null ? ['HDEL', hash, 'keyId'] : ['HSET', hash, 'keyId', edited];
      await suite.own.ask(...field);
      expect(await store.mark(keyId, withdraw(OTHER)), String(edited)).toBe(true);
      expect(await store.mark(keyId, REVOKE), String(edited)).toBe(true);
      expect(await store.mark(keyId, REVOKE), String(edited)).toBe(false);
      expect(await suite.own.ask('HGET', hash, 'revokedAt')).toBe('6');
      expect(await suite.own.ask('HGET', hash, 'keyId')).toBe(edited);
    }
  });

  test('of a revocation is written again only under its seal, and keeps its time', async () => {
    const { store, record, keyId, hash } = await inserted({ seal: 'ab', changedAt: 3 });
    const again = { ...REVOKE, at: 7, seal: 'cd', replaces: 'ab' } as const;
    expect(await store.mark(keyId, again)).toBe(false);
    expect(await suite.own.ask('HSET', hash, 'revokedAt', '4')).toBe(0);
    for (const other of [undefined, null, 'cd', '']) {
      expect(await store.mark(keyId, { ...again, replaces: other })).toBe(false);
    }
    expect(await store.mark(keyId, again)).toBe(true);
    const ended = { revokedAt: 4, changedAt: 7, endedBy: 'ada', endReason: 'lost', seal: 'cd' };
    expect(await store.findById(keyId)).toEqual({ ...record, ...ended });
  });

  test('ends a key whose mark or seal this store cannot have written', async () => {
    for (const odd of ['"text"', 'null ', '5.0', '', 'none', null]) {
      for (const replaces of [undefined, 'ab']) {
        const { store, keyId, hash } = await inserted({ seal: 'ab' });
        if (odd === null) await suite.own.ask('HDEL', hash, 'revokedAt');
        else await suite.own.ask('HSET', hash, 'revokedAt', odd);
        expect(await store.mark(keyId, { ...REVOKE, replaces }), String(odd)).toBe(true);
        expect(await suite.own.ask('HGET', hash, 'revokedAt')).toBe('6');
      }
      const { store, keyId, hash } = await inserted({ revokedAt: 4 });
      if (odd === null) await suite.own.ask('HDEL', hash, 'seal');
      else await suite.own.ask('HSET', hash, 'seal', odd);
      expect(await store.mark(keyId, REVOKE), String(odd)).toBe(true);
      expect(await suite.own.ask('HMGET', hash, 'revokedAt', 'seal')).toEqual(['4', '"ab"']);
      expect(await store.mark(keyId, REVOKE), String(odd)).toBe(false);
    }
  });

  test('keeps a later time of change, unless it is not a time', async () => {
    const marks: readonly Mark[] = [withdraw(OTHER), SUSPEND, REVOKE];
    for (const mark of marks) {
      for (const [old, expected] of [
        ['5', String(mark.at)],
        ['12', '12'],
        ['9007199254740991', '9007199254740991'],
        ['-12', String(mark.at)],
        ['null', String(mark.at)],
        ['none', String(mark.at)],
        ['"99"', String(mark.at)],
      ] as const) {
        const { store, keyId, hash } = await inserted();
        await suite.own.ask('HSET', hash, 'changedAt', old);
        expect(await store.mark(keyId, mark), `${mark.kind} after ${old}`).toBe(true);
        expect(await suite.own.ask('HGET', hash, 'changedAt')).toBe(expected);
      }
    }
  });

  test('of an unknown kind is a TypeError, and writes nothing', async () => {
    const { store, record, keyId } = await inserted();
    for (const kind of ['end', '', undefined, 'REVOKE']) {
      const mark = async () => store.mark(keyId, untyped<Mark>({ kind, at: 5 }));
      await expect(mark).rejects.toThrow(TypeError);
      await expect(mark).rejects.toThrow('mark: kind: pass revoke, suspend');
    }
    expect(await store.findById(keyId)).toEqual(record);
    expect(await suite.own.ask('EXISTS', 'keyscope:changes')).toBe(0);
  });

  test('on a missing key writes nothing', async () => {
    const { store, record, hash } = await inserted();
    await suite.own.ask('DEL', hash);
    const keys = await suite.own.ask('DBSIZE');
    for (const mark of [SUSPEND, REVOKE, withdraw(OTHER), { kind: 'resume', at: 5 } as const]) {
      expect(await store.mark(NOWHERE, mark), mark.kind).toBe(false);
      expect(await store.mark(record.keyId, mark), mark.kind).toBe(false);
    }
    expect(await suite.own.ask('EXISTS', hash)).toBe(0);
    // Entries of marks and of a revocation, which lead nowhere.
    expect(await suite.own.ask('DBSIZE')).toBe(Number(keys) + 2);
    expect(await store.listChanged({ since: 0, limit: 9 })).toEqual([]);
  });
});

describeWithRedis('a mark that is interrupted', () => {
  const suite = useRedis();

  // Pointer, entry, for a revocation another entry, record. After these nothing breaks.
  const breaks = BREAKS.flatMap((how) => [1, 2, 3, 4, 5].map((n) => [n, how] as const));
  test.each(breaks)(
    'at command %i, which %s, is listed if it was written, and only then',
    async (n, how) => {
      const store = redisStore(suite.client('ioredis'));
      const { record } = unsealed({ accessibleEntities: [OWN, OTHER] });
      await store.insert(record);
      for (const mark of [withdraw(OTHER, 4), SUSPEND, REVOKE]) {
        const { client, arm } = breaking(suite.client('ioredis') as Redis, n, how);
        const broken = redisStore(client);
        await broken.findById(record.keyId);
        arm();
        const before = await store.findById(record.keyId);
        const wrote = await Promise.resolve(broken.mark(record.keyId, mark)).catch(() => null);
        const last = mark.kind === 'revoke' ? 4 : 3;
        const isTwice = how === 'is sent twice';
        const isWritten = n > last || isTwice || (n === last && how !== 'is not sent');
        // If a script is sent twice, the second one finds the mark of the first.
        const isFirst = n !== last || !isTwice;
        expect(wrote).toBe(n > last || isTwice ? isFirst : null);
        const row = (await store.findById(record.keyId)) as KeyRecord;
        if (isWritten) expect(row.changedAt).toBe(mark.at);
        else expect(row).toEqual(before);
        const { keyId, changedAt } = row;
        const changed = changedAt === null ? [] : [{ keyId, changedAt }];
        expect(await store.listChanged({ since: 0, limit: 9 })).toEqual(changed);
      }
    },
  );
});
