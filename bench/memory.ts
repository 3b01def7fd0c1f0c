/**
 * Memory: `node bench/memory.ts`. What a key takes in the heap, and what a verification leaves to
 * be collected. It runs itself again with room for young objects that no collection cuts short
 * while allocations are counted, and with a collector that can be called.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { DOORS, type Door } from './doors.ts';
import { drawer, quantile } from './harness.ts';
import { NEEDED } from './keys.ts';
import { missing } from './peers/load.ts';
import { aim, publish, quick, type Row } from './report.ts';

const HELD = 'Heap that a key takes, of 100,000; after it was verified once';
const GARBAGE = 'Allocated by one verification, 1,000 keys';
const KEYS = quick ? 10_000 : 100_000;
/** 10⁶ verifications in all. */
const [ROUNDS, CALLS] = quick ? [10, 20_000] : [50, 20_000];

const { gc } = globalThis;

function heapUsed(): number {
  for (let i = 0; i < 3; i++) gc?.();
  return process.memoryUsage().heapUsed;
}

async function enterAll({ values, enter }: Door): Promise<void> {
  for (let i = 0; i < values.count; i++) await enter([values.headers(i)], NEEDED);
}

/** Bytes of heap a key; the headers' own bytes lie outside of it. */
async function held(name: string): Promise<number> {
  // What the first one compiles and keeps is no key's.
  await enterAll((await DOORS[name]?.(100)) as Door);
  const before = heapUsed();
  const door = (await DOORS[name]?.(KEYS)) as Door;
  await enterAll(door);
  const bytes = (heapUsed() - before) / KEYS;
  assert.equal(await door.enter([door.values.headers(KEYS - 1)], NEEDED), door.id(KEYS - 1));
  return bytes;
}

/**
 * Bytes that one call allocates: the headers are made before, and nothing is collected meanwhile.
 */
async function allocated(door: Door, calls: number): Promise<readonly number[]> {
  const draw = drawer(4);
  const rounds: number[] = [];
  for (let round = -5; round < ROUNDS; round++) {
    const list = Array.from({ length: calls }, () => door.values.headers(draw(door.values.count)));
    gc?.();
    const before = process.memoryUsage().heapUsed;
    const entered = door.enter(list, NEEDED);
    if (typeof entered !== 'string') await entered;
    const bytes = (process.memoryUsage().heapUsed - before) / calls;
    if (round >= 0) rounds.push(bytes);
  }
  return rounds;
}

async function main(): Promise<void> {
  const rows: Row[] = [];
  for (const name of [
    'plain check',
    'keyscope',
    'keyscope, pepper and seal',
    'keyscope, cacheStore',
  ])
    rows.push({ name, group: HELD, value: await held(name), ours: name !== 'plain check' });
  for (const [name, open] of Object.entries(DOORS)) {
    const door = await Promise.resolve(open(1_000)).catch(missing);
    if (door === null) continue;
    // Slow doors leave more behind, too much for as many calls.
    const rounds = await allocated(door, /better-auth|jose/.test(name) ? CALLS / 40 : CALLS);
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
      'Heap after a full collection, with keys and without, and what is allocated from a header to a caller who holds a scope, ' +
      'over a million calls; less is better. jose hashes outside of the heap.',
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
