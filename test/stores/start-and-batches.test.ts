/** What the stores share, by itself: starts that fail or hang, and look-ups in batches. */
import type { KeyRecord } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inBatches } from '../../src/stores/look-up-batches.js';
import { toRecord } from '../../src/stores/rows.js';
import { schemaSql } from '../../src/stores/schema/index.js';
import { behind, startOnce } from '../../src/stores/start.js';
import { usageBatches } from '../../src/stores/usage-batches.js';

describe('startOnce', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A start whose attempts the test settles. */
  function attempts() {
    const made: { resolve(answer: string): void; reject(error: Error): void }[] = [];
    const ready = startOnce(
      () => new Promise<string>((resolve, reject) => made.push({ resolve, reject })),
    );
    return { made, ready };
  }

  it('starts once, for any number of uses, and never again', async () => {
    const { made, ready } = attempts();
    const uses = [ready(), ready()];
    made[0]?.resolve('up');
    expect(await Promise.all(uses)).toEqual(['up', 'up']);
    vi.advanceTimersByTime(86_400_000);
    expect(await ready()).toBe('up');
    expect(made).toHaveLength(1);
  });

  it('tries again after a failure', async () => {
    const { made, ready } = attempts();
    const first = ready();
    made[0]?.reject(new Error('down'));
    await expect(first).rejects.toThrow('down');
    const second = ready();
    made[1]?.resolve('up');
    expect(await second).toBe('up');
  });

  // On a half-open connection the first attempt is never answered; every use then waited for it for
  // ever.
  it('tries again beside an attempt that hangs, after 5 s', async () => {
    const { made, ready } = attempts();
    void ready();
    vi.advanceTimersByTime(4_999);
    void ready();
    expect(made).toHaveLength(1);
    vi.advanceTimersByTime(1);
    const second = ready();
    expect(made).toHaveLength(2);
    made[1]?.resolve('up');
    expect(await second).toBe('up');
    // The first one's late failure takes nothing back, nor does its late success start anything.
    made[0]?.reject(new Error('late'));
    await Promise.resolve();
    expect(await ready()).toBe('up');
    expect(made).toHaveLength(2);
  });

  it('takes a late success for one', async () => {
    const { made, ready } = attempts();
    const first = ready();
    vi.advanceTimersByTime(5_000);
    void ready();
    made[0]?.resolve('up');
    expect([await first, await ready()]).toEqual(['up', 'up']);
    vi.advanceTimersByTime(86_400_000);
    expect(await ready()).toBe('up');
    expect(made).toHaveLength(2);
  });
});

describe('behind', () => {
  // By the parameters of `summarize` the contract knows whether to ask for other times than now.
  it('has the parameters of the store that is behind', () => {
    const store = memoryStore();
    const late = behind(async () => {}, store);
    const lengths = (of: object) =>
      Object.entries(of).map(([name, method]) => [name, method.length]);
    expect(lengths(late)).toEqual(lengths(store));
    expect(late.summarize).toHaveLength(1);
  });
});

describe('inBatches', () => {
  const record = (digest: string) => ({ digest }) as KeyRecord;

  it('asks once a turn, for each digest once, and gives to each caller its own', async () => {
    const asked: (readonly string[])[] = [];
    const find = inBatches(async (digests) => {
      asked.push(digests);
      return digests.filter((digest) => digest !== 'none').map(record);
    });
    const lookUps = [['a'], ['b', 'a'], ['none'], ['a']].map(find);
    // From another event of the same turn.
    queueMicrotask(() => lookUps.push(find(['c'])));
    await Promise.resolve();
    const found = (await Promise.all(lookUps)).map((rows) =>
      rows.map(({ digest }) => digest).sort(),
    );
    expect(found).toEqual([['a'], ['a', 'b'], [], ['a'], ['c']]);
    expect(asked).toEqual([['a', 'b', 'none', 'c']]);
  });

  it('gives nobody a row that was not asked for', async () => {
    const find = inBatches(async () => [record('A'), record('a ')]);
    expect(await Promise.all([find(['a']), find(['A'])])).toEqual([[], [record('A')]]);
  });

  it('tells all of a batch that the store is broken, and none of the next', async () => {
    let down = true;
    const find = inBatches(async (digests) => {
      if (down) throw new Error('down');
      return digests.map(record);
    });
    const lost = await Promise.allSettled([find(['a']), find(['b'])]);
    expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    down = false;
    expect(await find(['a'])).toEqual([record('a')]);
  });

  it('splits what is more than 1,000 digests', async () => {
    const sizes: number[] = [];
    const find = inBatches(async (digests) => {
      sizes.push(digests.length);
      return digests.map(record);
    });
    const all = await Promise.all(Array.from({ length: 2_500 }, (_, i) => find([String(i)])));
    expect(sizes).toEqual([1_000, 1_000, 500]);
    expect(all.map(([row]) => row?.digest)).toEqual(
      Array.from({ length: 2_500 }, (_, i) => String(i)),
    );
  });
});

describe('usageBatches', () => {
  const any = () => true;
  const entry = (keyId: string, lastUsedAt = 1, scopesUsed: Record<string, number> = {}) => {
    return { keyId, lastUsedAt, scopesUsed };
  };
  const keysOf = (json: string) =>
    (JSON.parse(json) as { keyId: string }[]).map(({ keyId }) => keyId);

  it('has each key once, with the later of its times, in the order of ids, and nothing that is none', () => {
    const entries = [
      entry('b', 5, { x: 5, y: 1 }),
      entry('no'),
      entry('a', 2),
      entry('b', 4, { y: 3, x: 4 }),
    ];
    const [json = '', ...more] = usageBatches(entries, (keyId) => keyId !== 'no');
    expect(JSON.parse(json)).toEqual([entry('a', 2), entry('b', 5, { x: 5, y: 3 })]);
    expect(more).toEqual([]);
    expect(usageBatches([], any)).toEqual([]);
    expect(usageBatches([entry('no')], () => false)).toEqual([]);
  });

  it('has the shape that a statement reads', () => {
    expect(
      usageBatches([entry('a', 2), entry('b', 3)], any, ({ keyId, lastUsedAt }) => [
        keyId,
        lastUsedAt,
      ]),
    ).toEqual(['[["a",2],["b",3]]']);
  });

  it('has at most 1,000 keys', () => {
    const ids = Array.from({ length: 2_001 }, (_, i) => String(i).padStart(5, '0'));
    const batches = usageBatches(
      ids.map((id) => entry(id)),
      any,
    ).map(keysOf);
    expect(batches.map(({ length }) => length)).toEqual([1_000, 1_000, 1]);
    expect(batches.flat()).toEqual(ids);
  });

  // With 256 long scopes each, 1,000 keys were 38 MB in one statement: more than a packet may have,
  // at every attempt.
  it('has at most a million characters, and one key at the least', () => {
    const scopesUsed = Object.fromEntries(
      Array.from({ length: 256 }, (_, i) => [`${'r'.repeat(125)}:${i}`, 1e12]),
    );
    const ids = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(5, '0'));
    const batches = usageBatches(
      ids.map((id) => entry(id, 1, scopesUsed)),
      any,
    );
    const lengths = batches.map(({ length }) => length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1_000_002);
    expect(Math.min(...lengths.slice(0, -1))).toBeGreaterThan(900_000);
    expect(batches.flatMap(keysOf)).toEqual(ids);
    const huge = [entry('a', 1, { ['x'.repeat(2_000_000)]: 1 }), entry('b')];
    expect(usageBatches(huge, any).map(keysOf)).toEqual([['a'], ['b']]);
  });
});

describe('schemaSql', () => {
  it('is text for each dialect, and says which there are', () => {
    for (const dialect of ['postgres', 'mysql', 'sqlite'] as const) {
      expect(schemaSql(dialect)).toMatch(
        /^CREATE TABLE[^;]+keyscope_schema[\s\S]+INSERT INTO keyscope_schema[^;]+;\n$/,
      );
    }
    for (const other of ['d1', 'constructor']) {
      expect(() => schemaSql(other as 'sqlite')).toThrow(/pass 'postgres', 'mysql' or 'sqlite'/);
    }
  });
});

describe('toRecord', () => {
  it('reads times that a driver gave as text or bigint, and leaves what is none', () => {
    const row = {
      created_at: '1700000000000',
      expires_at: 5n,
      revoked_at: null,
      retire_at: '9'.repeat(19),
      scopes: '[',
    };
    const { createdAt, expiresAt, revokedAt, retireAt, scopes } = toRecord(row);
    expect([createdAt, expiresAt, revokedAt, retireAt, scopes]).toEqual([
      1_700_000_000_000,
      5,
      null,
      '9'.repeat(19),
      '[',
    ]);
  });
});
