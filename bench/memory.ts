/**
 * The heap that a key takes, and the garbage that a request leaves: `node bench/memory.ts`. It
 * starts itself again with a collector that can be called, and with room for young objects that no
 * collection cuts short while allocations are counted.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createKeyring, definePolicy } from 'keyscope';
import { type Contender, OWN } from './contenders.ts';
import { drawer, quantile } from './harness.ts';
import { catalog, fill, type Headers, NEEDED, PREFIX } from './keys.ts';
import { publish, quick, type Row } from './report.ts';

const HELD_KEYS = quick ? 10_000 : 100_000;
const ROUNDS = quick ? 10 : 25;
const CALLS = 20_000;
const KEYS = 1_000;
const ADMIT = 'allocated, keyscope, admit';
const { gc } = globalThis;

function heapUsed(): number {
  for (let i = 0; i < 3; i++) gc?.();
  return process.memoryUsage().heapUsed;
}

async function enterAll({ values, enter }: Contender): Promise<void> {
  for (let i = 0; i < values.count; i++) await enter([values.headers(i)], NEEDED);
}

async function openOwn(name: string, count: number): Promise<Contender> {
  const open = OWN[name];
  if (open === undefined) throw new Error(`no contender of the name ${name}`);
  return open(count);
}

/** Bytes of heap for a key that was verified once; the headers' own bytes lie outside of it. */
async function held(name: string): Promise<number> {
  // Code that is compiled for the first keys does not count.
  await enterAll(await openOwn(name, 100));
  const before = heapUsed();
  const contender = await openOwn(name, HELD_KEYS);
  await enterAll(contender);
  const bytes = (heapUsed() - before) / HELD_KEYS;
  const last = HELD_KEYS - 1;
  assert.equal(await contender.enter([contender.values.headers(last)], NEEDED), contender.id(last));
  return bytes;
}

/** Bytes that one call allocates. Its arguments are made before. */
async function allocated<Asked>(
  prepare: () => Asked,
  run: (list: readonly Asked[]) => unknown,
): Promise<number> {
  const rounds: number[] = [];
  for (let round = -5; round < ROUNDS; round++) {
    const list = Array.from({ length: CALLS }, prepare);
    gc?.();
    const before = process.memoryUsage().heapUsed;
    const answer = run(list);
    if (answer instanceof Promise) await answer;
    if (round >= 0) rounds.push((process.memoryUsage().heapUsed - before) / CALLS);
  }
  return quantile(rounds, 0.5);
}

async function byVerification(name: string): Promise<number> {
  const { values, enter } = await openOwn(name, KEYS);
  const draw = drawer(4);
  return allocated(
    () => values.headers(draw(KEYS)),
    (list: readonly Headers[]) => enter(list, NEEDED),
  );
}

async function byAdmission(): Promise<number> {
  const { store, values } = fill(KEYS);
  const policy = definePolicy(catalog, { listThreats: [NEEDED] });
  const keyring = createKeyring({ prefix: PREFIX, policy, store, peppers: 'none' });
  const draw = drawer(4);
  const socket = new Socket();
  function prepare(): IncomingMessage {
    const request = new IncomingMessage(socket);
    const { authorization } = values.headers(draw(KEYS));
    request.rawHeaders = ['Host', 'api.acme.example', 'Authorization', authorization];
    return request;
  }
  const admitted = await keyring.admit(prepare(), { operation: 'listThreats' });
  assert.ok(admitted.entityId);
  return allocated(prepare, async (list) => {
    for (const request of list) await keyring.admit(request, { operation: 'listThreats' });
  });
}

function rowOf(name: string, bytes: number): Row {
  return { name, cells: [Math.round(bytes).toLocaleString('en-US')] };
}

async function main(): Promise<void> {
  const inHeap: Row[] = [];
  for (const name of Object.keys(OWN)) inHeap.push(rowOf(`heap, ${name}`, await held(name)));
  const garbage: Row[] = [rowOf(ADMIT, await byAdmission())];
  for (const name of Object.keys(OWN)) {
    garbage.push(rowOf(`allocated, ${name}`, await byVerification(name)));
  }
  publish({
    name: 'memory',
    title: 'Memory',
    about:
      `Bytes allocated from a header to a caller who holds a scope, with ` +
      `${KEYS.toLocaleString('en-US')} keys; and the heap that a key takes after it was verified ` +
      `once, of ${HELD_KEYS.toLocaleString('en-US')} in memory.`,
    tables: [
      { head: ['by one request', 'bytes'], rows: garbage },
      { head: ['of one key', 'bytes'], rows: inHeap },
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
  const args = [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
}
