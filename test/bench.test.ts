/**
 * The parts of the benchmark whose bugs would falsify its figures: rounds, ratios, bounds and
 * pages.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Case, drawer, figureOf, measure, quantile, shuffled } from '../bench/harness.js';
import { HeaderValues } from '../bench/keys.js';
import { pages, sentencesOf, shortfallsOf, summaryOf } from '../bench/page.js';
import { atMost, type Kept, type Row, textOf, unbounded } from '../bench/report.js';
import { newLog, watch } from '../bench/stores/watch.js';

describe('figures', () => {
  it('include quantiles that do not depend on the order of the measurements', () => {
    expect(
      [0, 0.1, 0.5, 0.9, 1].map((part) => quantile([9, 1, 8, 2, 7, 3, 6, 4, 5, 10, 0], part)),
    ).toEqual([0, 1, 5, 9, 10]);
    // Sorted as numbers: as text, 10 comes before 9.
    expect(quantile([10, 9, 100], 0.5)).toBe(10);
    expect(quantile([], 0.5)).toBeNaN();
  });

  it('show the undisturbed time of a case without trusting a single lucky round', () => {
    expect(figureOf([90, 30, 30, 30, 30, 30, 30, 30, 30, 90, 3])).toEqual({ ns: 30, spread: 2 });
  });

  it('meet a bound that they equal, and no bound if they were not measured', () => {
    expect(atMost(600, 600, 'ms')).toEqual({ measured: '600 ms', wanted: '≤ 600 ms', met: true });
    expect(atMost(601, 600, 'ms').met).toBe(false);
    expect(atMost(Number.NaN, 1, '×')).toMatchObject({ measured: 'not measured', met: false });
  });
});

describe('rounds', () => {
  const ROUNDS = 10;
  const WARM_UP = 2;

  function caseOf(name: string, more: Partial<Case<unknown>> = {}): Case<unknown> {
    return { name, check: () => {}, prepare: () => ({}), run: () => undefined, ...more };
  }

  it('give every case one turn each, in a changing order', async () => {
    const log: string[] = [];
    const names = ['a', 'b', 'c'];
    function logging(name: string): Case<unknown> {
      // Only the first call of a turn, because inputs are made before it.
      let isFresh = true;
      function prepare(): object {
        isFresh = true;
        return {};
      }
      function run(): void {
        if (isFresh) log.push(name);
        isFresh = false;
      }
      return caseOf(name, { prepare, run });
    }
    const figures = await measure(names.map(logging), ROUNDS);
    expect([...figures.keys()]).toEqual(names);
    const turns = log.slice(-3 * (ROUNDS + WARM_UP));
    const rounds = Array.from({ length: ROUNDS + WARM_UP }, (_, i) =>
      turns.slice(3 * i, 3 * i + 3),
    );
    for (const round of rounds) expect([...round].sort()).toEqual(names);
    expect(new Set(rounds.map((round) => round.join(''))).size).toBeGreaterThan(1);
  });

  it('make a new input for each call, and await a promise before the next', async () => {
    const seen = new Set<unknown>();
    let calls = 0;
    let open = 0;
    let most = 0;
    async function run(input: unknown): Promise<void> {
      calls += 1;
      seen.add(input);
      open += 1;
      most = Math.max(most, open);
      await Promise.resolve();
      open -= 1;
    }
    await measure([caseOf('a', { run })], ROUNDS);
    expect(seen.size).toBe(calls);
    expect(most).toBe(1);
  });

  it('divide the time of the calls by their operations and count no other time', async () => {
    let time = 0;
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(performance, 'now').mockImplementation(() => time);
    const prepare = () => {
      time += 1000;
    };
    const run = () => {
      time += 5;
    };
    const figures = await measure(
      [caseOf('a', { prepare, run }), caseOf('b', { prepare, run, batch: 5 })],
      ROUNDS,
    );
    expect(figures.get('a')).toEqual({ ns: 5e6, spread: 0 });
    expect(figures.get('b')).toEqual({ ns: 1e6, spread: 0 });
  });

  it('time nothing if a check fails, and show the error of a case', async () => {
    let ran = 0;
    const wrong = () => {
      throw new Error('lets everybody in');
    };
    const run = () => {
      ran += 1;
    };
    const failing = measure([caseOf('a', { run }), caseOf('b', { check: wrong })], ROUNDS);
    await expect(failing).rejects.toThrow('lets everybody in');
    expect(ran).toBe(0);
    const throwing = measure([caseOf('c', { run: wrong })], ROUNDS);
    await expect(throwing).rejects.toThrow('lets everybody in');
  });

  it('draw evenly, and the same in every run', () => {
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

  it('send the header of the requested key', () => {
    const values = new HeaderValues(['key_a', 'key_b'], 2);
    expect([values.headers(0), values.headers(1)]).toEqual([
      { authorization: 'Bearer key_a' },
      { authorization: 'Bearer key_b' },
    ]);
    expect([values.key(0), values.key(1), values.count]).toEqual(['key_a', 'key_b', 2]);
    expect(() => new HeaderValues(['key_a', 'key_bb'], 2)).toThrow('several lengths');
  });
});

describe('watch', () => {
  it('records each statement until its answer, also on a borrowed connection', async () => {
    const log = newLog();
    const connection = {
      query: async (sql: string) => {
        await new Promise((resolve) => void setTimeout(resolve, 20));
        return sql;
      },
    };
    const pool = watch({ getConnection: async () => connection, run: () => 7 }, log);
    expect(pool.run()).toBe(7);
    expect(await (await pool.getConnection()).query('SELECT 1')).toBe('SELECT 1');
    expect(log.sent).toEqual([[], ['SELECT 1']]);
    expect(Math.max(...log.times)).toBeGreaterThan(15);
  });
});

describe('pages', () => {
  const rows: readonly Row[] = [
    { name: 'free', cells: [1234.5, 'text'] },
    { name: 'good', cells: [1, ''], verdict: atMost(1, 2, '×'), inSummary: 'a good figure' },
    { name: 'bad', cells: [3, ''], verdict: atMost(3, 2, '×'), inSummary: 'a bad figure' },
    { name: 'plain', cells: [5, ''], verdict: unbounded(5, 'ms'), inSummary: 'a plain figure' },
  ];
  const machine = { date: '', cpu: '', cores: 2, memory: '', node: '', os: '' };
  const part: Kept = { name: 'p', title: 'P', about: '', tables: [{ head: [], rows }], machine };

  it('show what falls short first, each figure next to its bound', () => {
    expect(textOf({ head: ['case', 'ms', 'more'], rows })).toBe(
      `| case  |    ms | more | bound |            |
| ----- | ----: | ---: | ----: | ---------: |
| bad   |     3 |      | ≤ 2 × | **missed** |
| good  |     1 |      | ≤ 2 × |        met |
| free  | 1,230 | text |       |            |
| plain |     5 |      |       |            |`,
    );
  });

  it('count the bounds and name those that are not met', () => {
    const text = shortfallsOf([part]);
    expect(text).toMatch(/^1 of 2 bounds are met\. These are not:/);
    expect(text).toContain('| p    |  bad |      3 × | ≤ 2 × |');
    expect(text).not.toContain('good');
  });

  it('begin with the rows that a reader would look for, missed bounds first', () => {
    const lines = summaryOf([part]).split('\n').slice(2);
    expect(lines.map((line) => line.split('|')[1]?.trim())).toEqual([
      'a bad figure',
      'a good figure',
      'a plain figure',
    ]);
  });

  it('quote in the README how long verifying and admitting take, to two digits', () => {
    const quoted: readonly Row[] = [
      { name: 'keyscope, pepper and seal', cells: [2.364, 0.6613] },
      { name: 'prefixed-api-key and a Map', cells: [2.05] },
      { name: 'jose, JWT with RS256', cells: [102] },
      { name: 'better-auth in memory', cells: [126] },
      { name: 'an admitted key', cells: [3214] },
    ];
    const text = sentencesOf([part, { ...part, tables: [{ head: [], rows: quoted }] }]);
    const figures = ['2.4 µs with a pepper', 'request 3.2 µs', 'hand\n0.66 µs', '100 µs', '130 µs'];
    for (const figure of figures) expect(text).toContain(figure);
    expect(() => sentencesOf([part])).toThrow('no figure in the row keyscope, pepper and seal');
  });

  it('are written from the figures that were kept', () => {
    for (const { file, text } of pages()) expect(readFileSync(file, 'utf8')).toBe(text);
  });
});
