/**
 * Memory: `node bench/memory.ts`. What a key takes in the heap, and what a verification leaves to
 * be collected. It runs itself again with room for young objects that no collection cuts short
 * while allocations are counted, and with a collector that can be called.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Contender } from './contender.ts';
import { CONTENDERS } from './contenders.ts';
import { drawer, quantile } from './harness.ts';
import { NEEDED } from './keys.ts';
import { missing } from './peers/load.ts';
import { aim, publish, quick, type Row } from './report.ts';

const HELD = 'Heap that a key takes, of 100,000; after it was verified once';
const GARBAGE = 'Allocated by one verification, 1,000 keys';
const KEYS = quick ? 10_000 : 100_000;
/** 10⁶ verifications in all. */
const ROUNDS = quick ? 10 : 50;
const CALLS = 20_000;

const HOLDING = [
  'plain check',
  'keyscope',
  'keyscope, pepper and seal',
  'keyscope, cacheStore',
] as const;

const { gc } = globalThis;

function heapUsed(): number {
  for (let i = 0; i < 3; i++) gc?.();
  return process.memoryUsage().heapUsed;
}

async function enterAll({ values, enter }: Contender): Promise<void> {
  for (let i = 0; i < values.count; i++) await enter([values.headers(i)], NEEDED);
}

/** Bytes of heap a key; the headers' own bytes lie outside of it. */
async function held(name: string): Promise<number> {
  // What the first one compiles and keeps is no key's.
  await enterAll((await CONTENDERS[name]?.(100)) as Contender);
  const before = heapUsed();
  const contender = (await CONTENDERS[name]?.(KEYS)) as Contender;
  await enterAll(contender);
  const bytes = (heapUsed() - before) / KEYS;
  assert.equal(
    await contender.enter([contender.values.headers(KEYS - 1)], NEEDED),
    contender.id(KEYS - 1),
  );
  return bytes;
}

/**
 * Bytes that one call allocates: the headers are made before, and nothing is collected meanwhile.
 */
async function allocated(contender: Contender, calls: number): Promise<readonly number[]> {
  const draw = drawer(4);
  const rounds: number[] = [];
  for (let round = -5; round < ROUNDS; round++) {
    const list = Array.from({ length: calls }, () =>
      contender.values.headers(draw(contender.values.count)),
    );
    gc?.();
    const before = process.memoryUsage().heapUsed;
    const entered = contender.enter(list, NEEDED);
    if (typeof entered !== 'string') await entered;
    const bytes = (process.memoryUsage().heapUsed - before) / calls;
    if (round >= 0) rounds.push(bytes);
  }
  return rounds;
}

async function main(): Promise<void> {
  const rows: Row[] = [];
  for (const name of HOLDING) {
    rows.push({ name, group: HELD, value: await held(name), ours: name !== 'plain check' });
  }
  for (const [name, open] of Object.entries(CONTENDERS)) {
    const contender = await Promise.resolve(open(1_000)).catch(missing);
    if (contender === null) continue;
    // Slow contenders leave more behind, too much for as many calls.
    const rounds = await allocated(contender, /better-auth|jose/.test(name) ? CALLS / 40 : CALLS);
    const value = quantile(rounds, 0.5);
    const spread = (quantile(rounds, 0.9) - quantile(rounds, 0.1)) / value;
    rows.push({ name, group: GARBAGE, value, spread, ours: name.startsWith('keyscope') });
  }
  const of = (group: string, name: string) =>
    rows.find((row) => row.group === group && row.name === name)?.value;
  publish({
    name: 'memory',
    title: 'Memory',
    about:
      'Heap after a full collection, with keys and without, and what is allocated from a header ' +
      'to a caller who holds a scope, over a million calls; less is better. jose hashes outside ' +
      'of the heap.',
    unit: 'bytes',
    rows,
    aims: [
      aim('allocated per verification, SHA-256', of(GARBAGE, 'keyscope'), '≤', 600, 'bytes'),
      aim('heap of a key that was verified', of(HELD, 'keyscope'), '≤', 1024, 'bytes'),
    ],
  });
}

if (gc) await main();
else {
  const flags = [
    '--expose-gc',
    '--min-semi-space-size=128',
    '--max-semi-space-size=128',
    '--max-old-space-size=8192',
  ];
  const { status } = spawnSync(
    process.execPath,
    [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)],
    { stdio: 'inherit' },
  );
  process.exitCode = status ?? 1;
}
