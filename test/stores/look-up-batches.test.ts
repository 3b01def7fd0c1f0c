import type { KeyRecord } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { batchLookUps } from '../../src/stores/look-up-batches.js';

describe('batchLookUps', () => {
  const record = (digest: string) => ({ digest }) as KeyRecord;

  it('asks once a turn, for each digest once, and gives to each caller its own', async () => {
    const asked: (readonly string[])[] = [];
    const find = batchLookUps(async (digests) => {
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
    const find = batchLookUps(async () => [record('A'), record('a ')]);
    expect(await Promise.all([find(['a']), find(['A'])])).toEqual([[], [record('A')]]);
  });

  it('tells all of a batch that the store is broken, and none of the next', async () => {
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

  it('splits what is more than 1,000 digests', async () => {
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
