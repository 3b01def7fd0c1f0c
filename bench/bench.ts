/**
 * What keyscope costs, beside the least that the same work can cost: `npm run bench`, with `-- --quick` for a
 * run without the million keys. Prints figures and aims; asserts no time, because machines differ.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import { Hono } from 'hono';
import type { Keyring, Principal } from 'keyscope';
import { createKeyring, definePolicy, digestBackend, hasScopes, isAccessError, requireScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { createGuard, type Guarded } from '../examples/hono/adapter.ts';
import { lookUp } from './floor.ts';
import type { Case, Figure } from './harness.ts';
import { drawer, measure, table } from './harness.ts';
import { catalog, ENTITY, fill, idOf, KeyTexts, PREFIX, SCOPES } from './keys.ts';
import { importTimes, loadedBy } from './loading.ts';

const quick = process.argv.includes('--quick');
const ROUNDS = quick ? 30 : 150;
// A million verified keys want some 1.5 GB.
const MILLION = !quick && getHeapStatistics().heap_size_limit > 3e9;
const PEPPERS = [{ id: 'bench', secret: 'for the bench alone, and not random at all' }] as const;
const draw = drawer(2);

const policy = definePolicy(catalog, {
  whoami: [],
  listThreats: ['threats:read'],
  triage: ['threats:write', 'threats:read'],
});
const thousands = (n: number): string => n.toLocaleString('en-US');

type Ring = Keyring<typeof catalog>;
interface Filled {
  readonly keyring: Ring;
  readonly keys: KeyTexts;
  /** Key ids by index. */
  readonly id: (index: number) => string;
}

/** A round's worth of strings that nobody has hashed yet, of keys in random order. */
function batchOf(keys: KeyTexts, batch: number): { readonly texts: string[]; readonly prepare: () => void } {
  const texts: string[] = new Array(batch).fill('');
  const prepare = () => {
    for (let i = 0; i < batch; i++) texts[i] = keys.text(draw(keys.count));
  };
  return { texts, prepare };
}

// ── Cases ─────────────────────────────────────────────────────────────────────────────────────────────

let sink = 0;

function floorCase({ keys }: Filled, awaited = false): Case {
  const byDigest = new Map<string, { readonly index: number }>();
  for (let i = 0; i < keys.count; i++) byDigest.set(hash('sha256', keys.text(i), 'hex'), { index: i });
  const { texts, prepare } = batchOf(keys, 2000);
  const name = `floor: hash + Map.get + checksum, ${thousands(keys.count)} keys`;
  const run = () => {
    for (const text of texts) sink += lookUp(byDigest, text)?.index ?? 0;
  };
  const runAwaited = async () => {
    for (const text of texts) sink += (await Promise.resolve(lookUp(byDigest, text)))?.index ?? 0;
  };
  return {
    name: awaited ? 'floor, its answer awaited' : name,
    over: awaited ? FLOOR : null,
    batch: texts.length,
    check: () => assert.equal(lookUp(byDigest, keys.text(7))?.index, 7),
    prepare,
    run: awaited ? runAwaited : run,
  };
}

const FLOOR = 'floor: hash + Map.get + checksum, 1,000 keys';

/** `verify`, of keys that have been verified before unless `texts` says which. */
function verifyCase(name: string, { keyring, keys, id }: Filled, over: string, once?: () => number): Case {
  const { texts, prepare } = batchOf(keys, once ? 500 : 2000);
  const prepareOnce = () => {
    for (let i = 0; i < texts.length; i++) texts[i] = keys.text(once?.() ?? 0);
  };
  return {
    name,
    over,
    batch: texts.length,
    check: async () => {
      assert.equal((await keyring.verify(keys.text(7))).keyId, id(7));
      const wrong = keys.text(8).replace(/.$/, (c) => (c === '0' ? '1' : '0'));
      assert(isAccessError(await keyring.verify(wrong).catch((error: unknown) => error)));
    },
    prepare: once ? prepareOnce : prepare,
    run: async () => {
      for (const text of texts) sink += (await keyring.verify(text)).scopes.length;
    },
  };
}

function authenticateCase(
  name: string,
  { keyring, keys, id }: Filled,
  wrap: (value: string) => Headers | Record<string, string>,
): Case {
  const { texts, prepare } = batchOf(keys, 1000);
  const requests: (Headers | Record<string, string>)[] = [];
  return {
    name,
    over: FLOOR,
    batch: texts.length,
    check: async () => assert.equal((await keyring.authenticate(wrap(`Bearer ${keys.text(7)}`))).keyId, id(7)),
    prepare: () => {
      prepare();
      // As a parser makes it: one flat string, no concatenation left to be done inside the timing.
      const flat = (text: string) => Buffer.from(`Bearer ${text}`).toString('latin1');
      requests.splice(0, requests.length, ...texts.map((text) => wrap(flat(text))));
    },
    run: async () => {
      for (const request of requests) sink += (await keyring.authenticate(request)).scopes.length;
    },
  };
}

function admitCase({ keyring, keys, id }: Filled): Case {
  const { texts, prepare } = batchOf(keys, 1000);
  const input = { policy, operation: 'listThreats' } as const;
  const admit = (text: string) => keyring.admit(`Bearer ${text}`, input);
  return {
    name: 'admit: authenticate, authorize, usage, event',
    over: FLOOR,
    batch: texts.length,
    check: async () => assert.equal((await admit(keys.text(7))).principal.keyId, id(7)),
    prepare,
    run: async () => {
      for (const text of texts) sink += (await admit(text)).entityUuid.length;
    },
  };
}

function issueCase(name: string, peppers: 'none' | typeof PEPPERS): Case {
  let keyring: Ring;
  const input = { name: 'integration', scopes: SCOPES, expiresAt: 'never' } as const;
  const renew = () => {
    keyring = createKeyring({ prefix: PREFIX, catalog, store: memoryStore(), peppers });
  };
  return {
    name,
    over: null,
    batch: 100,
    check: async () => {
      renew();
      const { key, info } = await keyring.issue(input, { entityUuid: ENTITY });
      assert.equal((await keyring.verify(key)).keyId, info.keyId);
    },
    // Into an empty store each time: the figure is that of a key and not of a growing table.
    prepare: renew,
    run: async () => {
      for (let i = 0; i < 100; i++) sink += (await keyring.issue(input, { entityUuid: ENTITY })).info.scopes.length;
    },
  };
}

/** Checks over several principals and scopes, held and not held in turn, so that no answer can be folded away. */
function scopeCases(principals: readonly Principal[]): readonly Case[] {
  const asked = catalog.all;
  const sets = principals.map((principal) => new Set(principal.scopes));
  const expected = sets.map((set) => asked.filter((scope) => set.has(scope)).length).reduce((a, b) => a + b, 0);
  const repeat = 1500;
  const make = (name: string, over: string | null, count: () => number): Case => ({
    name,
    over,
    batch: repeat * principals.length * asked.length,
    check: () => assert.equal(count(), expected),
    prepare: () => {},
    run: () => {
      for (let i = 0; i < repeat; i++) sink += count();
    },
  });
  const held = principals.map((principal) => ({
    principal,
    set: new Set(principal.scopes),
    scopes: [...principal.scopes],
  }));
  const perPrincipal = SCOPES.length;
  const only = (name: string, over: string, check: (one: (typeof held)[number], scope: string) => void): Case => ({
    name,
    over,
    batch: repeat * held.length * perPrincipal,
    check: () => {
      for (const one of held) for (const scope of one.scopes) check(one, scope);
      assert.throws(() => requireScopes(principals[0] as Principal, 'reports:read'), isAccessError);
    },
    prepare: () => {},
    run: () => {
      for (let i = 0; i < repeat; i++) for (const one of held) for (const scope of one.scopes) check(one, scope);
    },
  });
  const SET = 'Set.has, held and not held';
  const SET_HELD = 'Set.has, held';
  return [
    make(SET, null, () => {
      let n = 0;
      for (const set of sets) for (const scope of asked) if (set.has(scope)) n += 1;
      return n;
    }),
    make('hasScopes, held and not held', SET, () => {
      let n = 0;
      for (const principal of principals) for (const scope of asked) if (hasScopes(principal, scope)) n += 1;
      return n;
    }),
    only(SET_HELD, SET_HELD, ({ set }, scope) => {
      if (!set.has(scope)) throw new Error('missing');
    }),
    only('requireScopes, held', SET_HELD, ({ principal }, scope) => requireScopes(principal, scope)),
    only('policy.authorize, its one scope held', SET_HELD, ({ principal }) => {
      sink += policy.authorize(principal, 'listThreats').length;
    }),
  ];
}

/** The guard of `examples/hono` on a route that answers two bytes, and the same route without it. */
function honoCases({ keyring, keys }: Filled): readonly Case[] {
  const guard = createGuard({ keyring, policy, realm: 'bench' });
  const guarded = new Hono<Guarded>().get('/threats', guard('listThreats'), (c) => c.text('ok'));
  const bare = new Hono().get('/threats', (c) => c.text('ok'));
  const BARE = 'Hono app.fetch, bare route';
  const make = (
    name: string,
    over: string | null,
    app: { fetch(request: Request): Response | Promise<Response> },
  ): Case => {
    const { texts, prepare } = batchOf(keys, 200);
    const requests: Request[] = [];
    const request = (text: string) =>
      new Request('http://localhost/threats', { headers: { authorization: `Bearer ${text}` } });
    return {
      name,
      over,
      batch: texts.length,
      check: async () => {
        const answer = await app.fetch(request(keys.text(7)));
        assert.deepEqual([answer.status, await answer.text()], [200, 'ok']);
        if (over !== null) assert.equal((await app.fetch(new Request('http://localhost/threats'))).status, 401);
      },
      prepare: () => {
        prepare();
        requests.splice(0, requests.length, ...texts.map(request));
      },
      run: async () => {
        for (const each of requests) sink += (await app.fetch(each)).status;
      },
    };
  };
  return [make(BARE, null, bare), make('Hono app.fetch, guarded', BARE, guarded)];
}

// ── Set-up and report ─────────────────────────────────────────────────────────────────────────────────

/** Keys without a pepper; the first `warm` of them have been verified once. */
async function filled(count: number, warm = count): Promise<Filled> {
  const { store, keys } = fill(count);
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers: 'none' });
  for (let i = 0; i < warm; i++) await keyring.verify(keys.text(i));
  return { keyring, keys, id: idOf };
}

async function pepperedKeys(count: number): Promise<Filled> {
  const keyring = createKeyring({ prefix: PREFIX, catalog, store: memoryStore(), peppers: PEPPERS });
  const keys = new KeyTexts(count);
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const { key, info } = await keyring.issue(
      { name: 'n', scopes: SCOPES, expiresAt: 'never' },
      { entityUuid: ENTITY },
    );
    keys.set(i, key);
    ids.push(info.keyId);
    await keyring.verify(key);
  }
  return { keyring, keys, id: (index) => ids[index] ?? '' };
}

function heapUsed(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Bytes of heap a key, as stored and once it was verified; the keys' own bytes lie outside the heap. */
async function heapPerKey(count: number): Promise<{ readonly stored: number; readonly verified: number }> {
  const before = heapUsed();
  const { keyring, keys } = await filled(count, 0);
  const stored = (heapUsed() - before) / count;
  for (let i = 0; i < count; i++) await keyring.verify(keys.text(i));
  const verified = (heapUsed() - before) / count;
  assert.equal((await keyring.verify(keys.text(count - 1))).keyId, idOf(count - 1));
  return { stored, verified };
}

/** Each number below `end` from `start` on, in random order; from the beginning again when all were drawn. */
function eachOnce(start: number, end: number): () => number {
  const order = Uint32Array.from({ length: end - start }, (_, i) => start + i);
  for (let i = order.length - 1; i > 0; i--) {
    const j = draw(i + 1);
    [order[i], order[j]] = [order[j] ?? start, order[i] ?? start];
  }
  let at = 0;
  return () => order[at++ % order.length] ?? start;
}

const VERIFY = 'verify, SHA-256, 1,000 keys';

async function allCases(): Promise<readonly Case[]> {
  const small = await filled(1000);
  // One in eight keys of the largest store stays unused until it is drawn, once.
  const largest = MILLION ? 1_000_000 : 100_000;
  const fresh = Math.floor(largest * 0.875);
  const middle = MILLION ? await filled(100_000) : null;
  const large = await filled(largest, fresh);
  const larger = [...(middle ? [middle] : []), large];
  const principals = await Promise.all(Array.from({ length: 16 }, (_, i) => small.keyring.verify(small.keys.text(i))));
  const floors = larger.map((each) => floorCase(each));
  return [
    floorCase(small),
    floorCase(small, true),
    ...floors,
    verifyCase(VERIFY, small, FLOOR),
    ...larger.map((each, i) =>
      verifyCase(`verify, SHA-256, ${thousands(each.keys.count)} keys`, each, floors[i]?.name ?? FLOOR),
    ),
    verifyCase(`verify, SHA-256, first use of a key in ${thousands(largest)}`, large, FLOOR, eachOnce(fresh, largest)),
    verifyCase('verify, pepper and seal, 1,000 keys', await pepperedKeys(1000), FLOOR),
    authenticateCase('authenticate, plain headers', small, (authorization) => ({ authorization })),
    authenticateCase('authenticate, fetch Headers', small, (authorization) => new Headers({ authorization })),
    admitCase(small),
    issueCase("issue, peppers 'none'", 'none'),
    issueCase('issue, pepper and seal', PEPPERS),
    ...scopeCases(principals),
    ...honoCases(small),
  ];
}

const row = ({ name, ns, ratio, over, spread }: Figure): readonly string[] => [
  name,
  ns < 100 ? ns.toFixed(1) : thousands(Math.round(ns)),
  ratio === null || over === name ? '' : `${ratio.toFixed(2)} ×`,
  over === null || over === name ? '' : over.replace(/: .*keys$/, (m) => m.replace(/.*, /, ', ')),
  `${Math.round(spread * 100)} %`,
];

async function main(): Promise<void> {
  const heap = await heapPerKey(100_000);
  const loaded = loadedBy('keyscope');
  const times = importTimes('keyscope', quick ? 5 : 15);
  const figures = await measure(await allCases(), ROUNDS);
  const named = (name: string) => figures.find((figure) => figure.name === name);
  const ratio = (name: string) => named(name)?.ratio ?? Number.NaN;
  const growth = (few: string, many: string) => (named(many)?.ns ?? Number.NaN) / (named(few)?.ns ?? Number.NaN);
  const flat = growth(VERIFY, 'verify, SHA-256, 1,000,000 keys');
  const own = growth(FLOOR, FLOOR.replace('1,000', '1,000,000'));

  console.log(`Node ${process.version}, ${digestBackend} hash, ${ROUNDS} rounds, medians\n`);
  console.log(table(['case', 'ns/op', 'ratio', 'to', 'spread'], figures.map(row)));
  const aim = (what: string, value: number, most: number, unit: string) => {
    const verdict = Number.isNaN(value) ? 'not measured' : value <= most ? 'met' : 'short';
    const shown = Number.isNaN(value) ? '' : `${value.toFixed(unit === 'B' ? 0 : 2)} ${unit}`;
    return [what, shown, `≤ ${most} ${unit}`, verdict];
  };
  const aims = [
    aim('verify with SHA-256, to the floor', ratio(VERIFY), 2, '×'),
    aim('verify with 1,000,000 keys, to 1,000', flat, 1.5, '×'),
    aim('hasScopes, to Set.has', ratio('hasScopes, held and not held'), 2, '×'),
    aim('requireScopes, to Set.has', ratio('requireScopes, held'), 2, '×'),
    aim('heap of a stored key', heap.stored, 1024, 'B'),
    aim('heap of a key that was verified', heap.verified, 1024, 'B'),
  ];
  console.log(`\n${table(['aim', 'measured', 'at most', ''], aims)}`);
  // A `Map` of that size no longer fits the processor's caches; whoever looks up pays for it.
  if (!Number.isNaN(own))
    console.log(`\nThe floor itself with 1,000,000 keys takes ${own.toFixed(2)} × its time with 1,000.`);
  console.log(`\nimport 'keyscope' loads ${loaded.own} modules of its own and ${loaded.others.join(', ')};`);
  console.log(
    `neither zod nor jose. It takes ${times.ms.toFixed(1)} ms; an empty module ${times.empty.toFixed(1)} ms.`,
  );
  assert(Number.isFinite(sink));
}

await main();
