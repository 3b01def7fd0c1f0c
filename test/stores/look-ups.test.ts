import type { KeyRecord } from 'keyscope';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSlots } from '../../src/core/slots.js';
import { batchLookUps, createLookUps, readLookUpOptions } from '../../src/stores/look-ups.js';
import { longestTurnOf } from '../support/turns.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Answers queries on demand. */
function openQueries() {
  const asked: (readonly string[])[] = [];
  const open: { answer(): void; fail(): void }[] = [];
  const find = (digests: readonly string[]) =>
    new Promise<readonly KeyRecord[]>((resolve, reject) => {
      asked.push(digests);
      open.push({
        answer: () => resolve(digests.map((digest) => ({ digest }) as KeyRecord)),
        fail: () => reject(new Error('down')),
      });
    });
  return { asked, open, find };
}

describe('maxLookUpQueries', () => {
  const read = (maxLookUpQueries: unknown) =>
    readLookUpOptions({ maxLookUpQueries }, 'aStore').maxQueries;

  it('is 4 by default, and at most 1,000', () => {
    expect(read(undefined)).toBe(4);
    expect([1, 1_000].map(read)).toEqual([1, 1_000]);
  });

  it.each([0, 1_001, 1.5, '4', null, Number.NaN])('is never %s', (count) => {
    const instead = 'aStore: maxLookUpQueries: pass a whole number from 1 to 1000';
    expect(() => read(count)).toThrow(new TypeError(instead));
  });
});

describe('batchLookUps', () => {
  const record = (digest: string) => ({ digest }) as KeyRecord;

  it('sends one query a turn with each digest once, and gives each caller its rows', async () => {
    const asked: (readonly string[])[] = [];
    const find = batchLookUps(async (digests) => {
      asked.push(digests);
      return digests.filter((digest) => digest !== 'none').map(record);
    });
    const lookUps = [['a'], ['b', 'a'], ['none'], ['a']].map((digests) => find(digests));
    // From another event of the same turn.
    queueMicrotask(() => lookUps.push(find(['c'])));
    await Promise.resolve();
    const found = (await Promise.all(lookUps)).map((rows) =>
      rows.map(({ digest }) => digest).sort(),
    );
    expect(found).toEqual([['a'], ['a', 'b'], [], ['a'], ['c']]);
    expect(asked).toEqual([['a', 'b', 'none', 'c']]);
  });

  // With two equal peppers, a caller got its row twice, which the core takes for a broken store.
  it('gives each caller a row only once, even if it names a digest twice', async () => {
    const asked: (readonly string[])[] = [];
    const find = batchLookUps(async (digests) => {
      asked.push(digests);
      return digests.map(record);
    });
    const lookUps = [find(['a', 'a']), find(['b', 'a', 'b']), find(['a'])];
    const a = record('a');
    expect(await Promise.all(lookUps)).toEqual([[a], [record('b'), a], [a]]);
    expect(asked).toEqual([['a', 'b']]);
  });

  it('gives no caller a row that it did not ask for', async () => {
    const find = batchLookUps(async () => [record('A'), record('a ')]);
    expect(await Promise.all([find(['a']), find(['A'])])).toEqual([[], [record('A')]]);
  });

  it('rejects every caller of a batch if the store fails, and no caller of the next', async () => {
    let down = true;
    const find = batchLookUps(async (digests) => {
      if (down) throw new Error('down');
      return digests.map(record);
    });
    const lost = await Promise.allSettled([find(['a']), find(['b'])]);
    expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    down = false;
    expect(await find(['a'])).toEqual([record('a')]);
  });

  it('splits more than 1,000 digests', async () => {
    const sizes: number[] = [];
    const find = batchLookUps(async (digests) => {
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

describe('look-ups while other queries are in flight', () => {
  // At 800 look-ups a second and a database 20 ms away, only 37 % were answered: each turn sent its
  // own query, and ten connections could not keep up.
  it('wait, and share a query once another is answered or has failed', async () => {
    const { asked, open, find } = openQueries();
    const lookUp = batchLookUps(find, undefined, createSlots(2));
    const answers: Promise<unknown>[] = [];
    for (const digest of ['a', 'b', 'c', 'd', 'd']) {
      answers.push(lookUp([digest]).catch(String));
      await nextTurn();
    }
    expect(asked).toEqual([['a'], ['b']]);
    open[1]?.fail();
    await nextTurn();
    expect(asked).toEqual([['a'], ['b'], ['c', 'd']]);
    for (const query of open) query.answer();
    const d = [{ digest: 'd' }];
    expect(await Promise.all(answers)).toEqual([
      [{ digest: 'a' }],
      'Error: down',
      [{ digest: 'c' }],
      d,
      d,
    ]);
  });

  it('share their slots with look-ups of another kind, first come, first served', async () => {
    const ids = openQueries();
    const digests = openQueries();
    const slots = createSlots(1);
    const findIds = batchLookUps(ids.find, undefined, slots);
    const findDigests = batchLookUps(digests.find, undefined, slots);
    for (const turn of [1, 2]) {
      void findIds([`id ${turn}`]);
      await nextTurn();
      void findDigests([`digest ${turn}`]);
      await nextTurn();
    }
    expect(digests.asked).toEqual([]);
    ids.open[0]?.answer();
    await nextTurn();
    expect(digests.asked).toEqual([['digest 1', 'digest 2']]);
    expect(ids.asked).toEqual([['id 1']]);
    digests.open[0]?.answer();
    await nextTurn();
    expect(ids.asked).toEqual([['id 1'], ['id 2']]);
  });

  // Comparing each row with the digests of every caller blocked the event loop for 19 s.
  it('leave the event loop to others, even 16,000 at once', async () => {
    const find = async (digests: readonly string[]) => {
      await nextTurn();
      return digests.map((digest) => ({ digest }) as KeyRecord);
    };
    const lookUp = batchLookUps(find);
    const rows: (readonly KeyRecord[])[] = [];
    const longest = await longestTurnOf(async () => {
      const all = Array.from({ length: 16_000 }, (_, i) => lookUp([`h1.p1$${i}`]));
      rows.push(...(await Promise.all(all)));
    });
    expect(rows.every(([row], i) => row?.digest === `h1.p1$${i}`)).toBe(true);
    // About 20 ms on an idle machine.
    expect(longest).toBeLessThan(2_000);
  });
});

describe('a look-up', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is not sent if its caller has given up', async () => {
    const { asked, open, find } = openQueries();
    const lookUp = batchLookUps(find, undefined, createSlots(1));
    const first = lookUp(['first']);
    await nextTurn();
    const gone = new AbortController();
    const waiting = new AbortController();
    const lost = lookUp(['gone'], { signal: gone.signal });
    const kept = lookUp(['kept'], { signal: waiting.signal });
    const told = expect(lost).rejects.toThrow('given up');
    gone.abort(new Error('given up'));
    vi.advanceTimersByTime(101);
    open[0]?.answer();
    await first;
    await told;
    expect(asked).toEqual([['first'], ['kept']]);
    open[1]?.answer();
    expect(await kept).toEqual([{ digest: 'kept' }]);
  });

  it('leaves its slot to others if every caller of its query has given up', async () => {
    const { asked, open, find } = openQueries();
    const lookUp = batchLookUps(find, undefined, createSlots(1));
    const first = lookUp(['first']);
    await nextTurn();
    const lost = lookUp(['gone'], { signal: AbortSignal.abort(new Error('given up')) });
    const told = expect(lost).rejects.toThrow('given up');
    vi.advanceTimersByTime(101);
    open[0]?.answer();
    await first;
    await told;
    await nextTurn();
    void lookUp(['next']);
    await nextTurn();
    expect(asked).toEqual([['first'], ['next']]);
  });

  // A signal costs more to make than a digest costs to look up.
  it("does not touch its caller's signal if it is sent soon", async () => {
    const { asked, open, find } = openQueries();
    const lookUp = batchLookUps(find, undefined, createSlots(1));
    const options = {
      get signal(): AbortSignal {
        throw new Error('asked');
      },
    };
    void lookUp(['first'], options);
    await nextTurn();
    void lookUp(['second'], options);
    vi.advanceTimersByTime(100);
    open[0]?.answer();
    await nextTurn();
    expect(asked).toEqual([['first'], ['second']]);
  });

  it('blocks the others for only a second if its query hangs', async () => {
    const { asked, open, find } = openQueries();
    const { findByDigest: lookUp } = createLookUps({ digests: find, ids: find }, 1);
    const hanging = lookUp(['hanging']);
    await nextTurn();
    const next = lookUp(['next']);
    vi.advanceTimersByTime(999);
    await nextTurn();
    expect(asked).toEqual([['hanging']]);
    vi.advanceTimersByTime(1);
    await nextTurn();
    expect(asked).toEqual([['hanging'], ['next']]);
    // A late answer to the hanging query frees no second slot.
    open[0]?.answer();
    await hanging;
    void lookUp(['third']);
    await nextTurn();
    expect(asked).toHaveLength(2);
    open[1]?.answer();
    await next;
    await nextTurn();
    expect(asked).toEqual([['hanging'], ['next'], ['third']]);
  });
});
