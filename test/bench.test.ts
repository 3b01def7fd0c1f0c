/**
 * Where a mistake in the benchmark would falsify its figures: the rounds, the medians and ratios,
 * the aims, the charts.
 */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { together } from '../bench/apart.js';
import { chartOf } from '../bench/chart.js';
import {
  type Case,
  drawer,
  type Figure,
  measure,
  quantile,
  shuffled,
  summarize,
} from '../bench/harness.js';
import { HeaderValues } from '../bench/keys.js';
import { aim, rowOf, rowsOf, type Table } from '../bench/report.js';
import { frameworksOf } from '../bench/results-page.js';

describe('figures', () => {
  it('takes quantiles of what was measured, in whatever order', () => {
    expect(
      [0, 0.1, 0.5, 0.9, 1].map((part) => quantile([9, 1, 8, 2, 7, 3, 6, 4, 5, 10, 0], part)),
    ).toEqual([0, 1, 5, 9, 10]);
    expect(quantile([7], 0.9)).toBe(7);
    // As numbers: as text 10 stands before 9.
    expect(quantile([10, 9, 100], 0.5)).toBe(10);
    expect(quantile([], 0.5)).toBeNaN();
  });

  it('takes what a case needs when nothing disturbs it, and not the one lucky round', () => {
    const cases = [
      { name: 'base', over: 'base' },
      { name: 'other', over: 'base' },
      { name: 'alone', over: null },
    ];
    const rounds = {
      base: [1, 10, 10, 10, 10, 10, 10, 10, 10, 90, 90],
      other: [90, 30, 30, 30, 30, 30, 30, 30, 30, 90, 3],
      alone: [1, 2, 3],
    };
    const [base, other, alone] = summarize(cases, new Map(Object.entries(rounds)));
    expect(base).toEqual({ name: 'base', ns: 10, over: 'base', ratio: 1, spread: 8 });
    expect(other).toMatchObject({ ns: 30, ratio: 3 });
    expect(alone).toMatchObject({ ns: 1, ratio: null });
  });

  it('shows of three processes the one in the middle, and how far they lie apart', () => {
    const runOf = (ratio: number): Figure => ({ name: 'a', ns: 1, over: 'b', ratio, spread: 9 });
    expect(together([runOf(2), runOf(1.5), runOf(1.9)])).toEqual({
      ...runOf(1.9),
      spread: 0.5 / 1.9,
    });
    const alone = { name: 'a', ns: 7, over: null, ratio: null, spread: 9 };
    expect(together([alone])).toEqual({ ...alone, spread: 0 });
  });

  it('says faster where less time was taken, and nothing of the base', () => {
    const figure = { name: 'one', over: 'base', ns: 500, ratio: 0.25, spread: 0.1 };
    expect(rowOf(figure, 'ops/s', { name: 'a' })).toEqual({
      name: 'a',
      value: 2e6,
      spread: 0.1,
      ratio: 4,
    });
    expect(rowOf(figure, 'ns', { name: 'a' })).toEqual({
      name: 'a',
      value: 500,
      spread: 0.1,
      ratio: 4,
    });
    expect(rowOf({ ...figure, over: 'one' }, 'ns', { name: 'a' })).toEqual({
      name: 'a',
      value: 500,
      spread: 0.1,
    });
  });

  it('meets an aim from its bound on, and none that was not measured', () => {
    expect(aim('a', 0.75, '≥', 0.75, '×')).toEqual({
      what: 'a',
      wanted: '≥ 0.75 ×',
      measured: '0.75 ×',
      met: true,
    });
    expect(aim('a', 0.7499, '≥', 0.75, '×').met).toBe(false);
    expect(aim('a', 600, '≤', 600, 'bytes').met).toBe(true);
    expect(aim('a', 601, '≤', 600, 'bytes').met).toBe(false);
    const unmeasured = { measured: 'not measured', met: false };
    expect(aim('a', undefined, '≥', 1, '×')).toMatchObject(unmeasured);
    expect(aim('a', undefined, '≤', 1, '×')).toMatchObject(unmeasured);
  });
});

describe('rounds', () => {
  const ROUNDS = 10;
  const WARM_UP = 2;

  function logging(name: string, log: string[], more: Partial<Case> = {}): Case {
    return {
      name,
      over: null,
      batch: 1,
      check: () => {},
      prepare: () => undefined,
      run: () => undefined,
      renew: () => log.push(name),
      ...more,
    };
  }

  it('gives every case one turn in every round, in an order that changes', async () => {
    const log: string[] = [];
    const names = ['a', 'b', 'c'];
    const figures = await measure(
      names.map((name) => logging(name, log)),
      ROUNDS,
    );
    expect(figures.map(({ name }) => name)).toEqual(names);
    const rounds = Array.from({ length: ROUNDS + WARM_UP }, (_, i) => log.slice(3 * i, 3 * i + 3));
    expect(log).toHaveLength(3 * (ROUNDS + WARM_UP));
    for (const round of rounds) expect([...round].sort()).toEqual(names);
    expect(new Set(rounds.map((round) => round.join(''))).size).toBeGreaterThan(1);
  });

  it('makes an input anew for each call, and awaits what is a promise', async () => {
    const seen = new Set<object>();
    let calls = 0;
    let open = 0;
    let most = 0;
    const prepare = () => ({});
    async function run(input: unknown): Promise<void> {
      calls += 1;
      seen.add(input as object);
      open += 1;
      most = Math.max(most, open);
      await Promise.resolve();
      open -= 1;
    }
    await measure([logging('a', [], { calls: 8, prepare, run })], ROUNDS);
    expect(seen.size).toBe(calls);
    expect(calls).toBeGreaterThanOrEqual(8 * (ROUNDS + WARM_UP));
    expect(most).toBe(1);
  });

  it('divides the time of a turn by its operations, and counts no other', async () => {
    let time = 0;
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(performance, 'now').mockImplementation(() => time);
    // Milliseconds: a call takes 5, in the warm-up 50, and what is around it a second.
    let turns = 0;
    const timed: Partial<Case> = {
      renew() {
        turns += 1;
        time += 1000;
      },
      prepare() {
        time += 1000;
      },
      run() {
        time += turns > 2 * WARM_UP ? 5 : 50;
      },
    };
    const figures = await measure(
      [logging('a', [], timed), logging('b', [], { ...timed, calls: 4, batch: 5, over: 'a' })],
      ROUNDS,
    );
    expect(figures[0]).toEqual({ name: 'a', ns: 5e6, over: null, ratio: null, spread: 0 });
    expect(figures[1]).toEqual({ name: 'b', ns: 1e6, over: 'a', ratio: 0.2, spread: 0 });
  });

  it('times nothing that fails its check, and hides no error of a case', async () => {
    let ran = 0;
    const wrong = () => {
      throw new Error('lets everybody in');
    };
    const run = () => {
      ran += 1;
    };
    const counting = logging('a', [], { run });
    await expect(measure([counting, logging('b', [], { check: wrong })], ROUNDS)).rejects.toThrow(
      'lets everybody in',
    );
    expect(ran).toBe(0);
    await expect(measure([logging('c', [], { run: wrong })], ROUNDS)).rejects.toThrow(
      'lets everybody in',
    );
  });

  it('draws evenly, the same in every run', () => {
    const draw = drawer(1);
    const drawAgain = drawer(1);
    const draws = Array.from({ length: 6000 }, () => draw(6));
    expect(draws).toEqual(Array.from({ length: 6000 }, () => drawAgain(6)));
    for (let side = 0; side < 6; side++) {
      const count = draws.filter((drawn) => drawn === side).length;
      expect(Math.abs(count - 1000)).toBeLessThan(150);
    }
    expect(shuffled([1, 2, 3, 4, 5], draw).sort()).toEqual([1, 2, 3, 4, 5]);
  });

  it('hands over the header of the key that was asked for', () => {
    const values = new HeaderValues(['key_a', 'key_b'], 2);
    expect([values.headers(0), values.headers(1)]).toEqual([
      { authorization: 'Bearer key_a' },
      { authorization: 'Bearer key_b' },
    ]);
    expect([values.key(0), values.key(1), values.count]).toEqual(['key_a', 'key_b', 2]);
    expect(() => new HeaderValues(['key_a', 'key_bb'], 2)).toThrow('several lengths');
  });
});

describe('pages', () => {
  const sample: Table = {
    name: 'sample',
    title: 'One & two',
    about: 'Nothing.',
    unit: 'ops/s',
    base: 'the plain check',
    rows: [
      { name: 'plain', group: '1 key', value: 4000, spread: 0.5 },
      { name: 'ours <b>', group: '1 key', value: 3000, ratio: 0.75, ours: true },
      { name: 'slow', group: '2 keys', value: 1000, ratio: 0.25 },
    ],
    aims: [],
  };

  it('draws bars from zero, as long as their figures', () => {
    const bars = [...chartOf(sample).matchAll(/<rect x="(\d+)" y="([\d.]+)" width="([\d.]+)"/g)];
    const numbersOf = (group: number) => bars.map((bar) => Number(bar[group]));
    const lefts = numbersOf(1);
    const tops = numbersOf(2);
    const [plain = 0, ours = 0, slow = 0] = numbersOf(3);
    expect(new Set(lefts).size).toBe(1);
    expect(tops).toEqual(tops.toSorted((one, other) => one - other));
    expect(ours / plain).toBeCloseTo(0.75, 2);
    expect(slow / plain).toBeCloseTo(0.25, 2);
  });

  it('says in words what it shows, in an image that loads nothing', () => {
    const chart = chartOf(sample);
    expect(chart).toContain('<title id="sample-title">One &amp; two</title>');
    expect(chart).toMatch(/<desc id="sample-desc">.*more is better/);
    expect(chart).toMatch(/<desc .*1 key: plain 4,000 ops\/s; 1 key: ours &lt;b&gt; 3,000 ops\/s/);
    expect(chart).toContain('aria-labelledby="sample-title sample-desc"');
    expect(chart).not.toMatch(/script|href|url\(|@import|<b>/);
    expect(chartOf({ ...sample, unit: 'ns' })).toContain('less is better');
  });

  it('writes a table for each group', () => {
    expect(rowsOf(sample)).toBe(`1 key

| case         | ops/s | of the plain check | spread |
| ------------ | ----: | -----------------: | -----: |
| plain        | 4,000 |                    |   50 % |
| **ours <b>** | 3,000 |             0.75 × |        |

2 keys

| case | ops/s | of the plain check | spread |
| ---- | ----: | -----------------: | -----: |
| slow | 1,000 |             0.25 × |        |`);
  });

  it('shows a framework in a line, by requests and not by processor time', () => {
    const rows = ['A', 'A, a second of processor time', 'B'].flatMap((group, i) => [
      { name: 'keyscope', group, value: 900 + i, ratio: 0.9 - i / 10 },
      { name: 'bare', group, value: 2000 + i },
      { name: 'plain check', group, value: 1000 + i },
      { name: 'a peer', group, value: 1, ratio: 0.001 },
    ]);
    const machine = {
      date: '2026-01-02',
      cpu: 'C',
      cores: 2,
      memory: '1 GiB',
      node: 'v24',
      os: 'L',
    };
    expect(
      frameworksOf({ ...sample, rows, machine }),
    ).toBe(`| requests/s |  bare | plain check | keyscope | of the plain check |
| ---------- | ----: | ----------: | -------: | -----------------: |
| A          | 2,000 |       1,000 |      900 |              0.9 × |
| B          | 2,000 |       1,000 |      902 |              0.7 × |

Measured 2026-01-02; C, 2 cores, 1 GiB; Node v24, L.`);
  });
});
