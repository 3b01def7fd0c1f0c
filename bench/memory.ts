/**
 * Memory: `node bench/memory.ts`. What a key takes in the heap, and what a verification leaves to
 * be collected. It runs itself again with room for young objects that no collection cuts short
 * while allocations are counted, and with a collector that can be called.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createKeyring, definePolicy } from 'keyscope';
import type { Contender } from './contender.ts';
import { CONTENDERS } from './contenders.ts';
import { drawer, quantile } from './harness.ts';
import { catalog, fill, NEEDED, PREFIX } from './keys.ts';
import { missing } from './peers/load.ts';
import { aim, publish, quick, type Row } from './report.ts';

const HELD = 'Heap that a key takes, of 100,000; after it was verified once';
const GARBAGE = 'Allocated by one verification, 1,000 keys';
const KEYS = quick ? 10_000 : 100_000;
/** Half a million verifications in all. */
const ROUNDS = quick ? 10 : 25;
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
 * Bytes that one call allocates: what it is asked with is made before, and nothing is collected
 * meanwhile.
 */
async function allocated<Asked>(
  calls: number,
  prepare: () => Asked,
  run: (list: readonly Asked[]) => unknown,
): Promise<readonly number[]> {
  const rounds: number[] = [];
  for (let round = -5; round < ROUNDS; round++) {
    const list = Array.from({ length: calls }, prepare);
    gc?.();
    const before = process.memoryUsage().heapUsed;
    const answer = run(list);
    if (answer instanceof Promise) await answer;
    const bytes = (process.memoryUsage().heapUsed - before) / calls;
    if (round >= 0) rounds.push(bytes);
  }
  return rounds;
}

function garbageRow(name: string, rounds: readonly number[]): Row {
  const value = quantile(rounds, 0.5);
  const spread = (quantile(rounds, 0.9) - quantile(rounds, 0.1)) / value;
  return { name, group: GARBAGE, value, spread, ours: name.startsWith('keyscope') };
}

async function ofVerification(name: string, contender: Contender): Promise<Row> {
  const { values, enter } = contender;
  const draw = drawer(4);
  // Slow contenders leave more behind, too much for as many calls.
  const calls = /better-auth|jose/.test(name) ? CALLS / 40 : CALLS;
  const prepare = () => values.headers(draw(values.count));
  return garbageRow(name, await allocated(calls, prepare, (list) => enter(list, NEEDED)));
}

const ADMIT = 'keyscope, admit from header lines';

async function ofAdmission(): Promise<Row> {
  const { store, values } = fill(1_000);
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers: 'none' });
  const policy = definePolicy(catalog, { listThreats: [NEEDED] });
  const draw = drawer(4);
  const socket = new Socket();
  const prepare = () => {
    const request = new IncomingMessage(socket);
    const { authorization } = values.headers(draw(values.count));
    request.rawHeaders = ['Host', 'api.acme.example', 'Authorization', authorization];
    return request;
  };
  const rounds = await allocated(CALLS, prepare, async (list) => {
    for (const request of list) await keyring.admit(request, { policy, operation: 'listThreats' });
  });
  return garbageRow(ADMIT, rounds);
}

async function main(): Promise<void> {
  const rows: Row[] = [];
  for (const name of HOLDING) {
    rows.push({ name, group: HELD, value: await held(name), ours: name !== 'plain check' });
  }
  for (const [name, open] of Object.entries(CONTENDERS)) {
    const contender = await Promise.resolve(open(1_000)).catch(missing);
    if (contender === null) continue;
    rows.push(await ofVerification(name, contender));
  }
  rows.push(await ofAdmission());
  const of = (group: string, name: string) =>
    rows.find((row) => row.group === group && row.name === name)?.value;
  publish({
    name: 'memory',
    title: 'Memory',
    about:
      'Heap after a full collection, with keys and without, and what is allocated from a header ' +
      'to a caller who holds a scope, over half a million calls; less is better. jose hashes ' +
      'outside of the heap.',
    unit: 'bytes',
    rows,
    aims: [
      aim('allocated by authenticate, SHA-256', of(GARBAGE, 'keyscope'), '≤', 1_500, 'bytes'),
      aim('allocated by admit, SHA-256', of(GARBAGE, ADMIT), '≤', 2_200, 'bytes'),
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
