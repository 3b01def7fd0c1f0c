/**
 * What it costs to say no: `node bench/refusals.ts`. Beside the plain check, which throws an
 * `Error` with a status, as a route does. Each refusal is caught and its status or code is read.
 */
import assert from 'node:assert/strict';
import type { KeyStore } from 'keyscope';
import { createKeyring, isAccessError, requireScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { type Caller, check, digest, HttpError } from './by-hand.ts';
import { callerOf } from './contenders.ts';
import { type Case, drawer, keep, measure } from './harness.ts';
import {
  catalog,
  type Headers,
  HeaderValues,
  LACKING,
  NEEDED,
  newKeys,
  PREFIX,
  recordOf,
} from './keys.ts';
import { aim, publish, quick, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 150;
const KEYS = 1000;
const CALLS = 64;
const LIST = 16;

interface Kind {
  readonly name: string;
  readonly values: HeaderValues;
  readonly scope: string;
  readonly status: number;
  readonly reason: string;
  /** How often a key of this kind asks the store. */
  readonly lookUps: 0 | 1;
}

const values = new HeaderValues(newKeys(KEYS), KEYS);
const revoked = new HeaderValues(newKeys(KEYS), KEYS);

/** Headers with keys that nobody issued, each changed in some way. */
function changed(change: (key: string) => string): HeaderValues {
  const keys = Array.from(newKeys(KEYS), change);
  return new HeaderValues(keys, KEYS);
}

function withWrongChecksum(key: string): string {
  return key.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
}

const KINDS: readonly Kind[] = [
  {
    name: 'malformed: too short',
    values: changed((key) => key.slice(0, 16)),
    scope: NEEDED,
    status: 401,
    reason: 'malformed_key',
    lookUps: 0,
  },
  {
    name: 'wrong checksum',
    values: changed(withWrongChecksum),
    scope: NEEDED,
    status: 401,
    reason: 'wrong_checksum',
    lookUps: 0,
  },
  {
    name: 'unknown key',
    values: new HeaderValues(newKeys(KEYS), KEYS),
    scope: NEEDED,
    status: 401,
    reason: 'unknown_key',
    lookUps: 1,
  },
  {
    name: 'revoked key',
    values: revoked,
    scope: NEEDED,
    status: 401,
    reason: 'revoked',
    lookUps: 1,
  },
  {
    name: 'scope not granted',
    values,
    scope: LACKING,
    status: 403,
    reason: 'scope_missing',
    lookUps: 1,
  },
];

// ── Both sides ───────────────────────────────────────────────────────────────────────────────────

const callers = new Map<string, Caller>();
const store = memoryStore();
let asked = 0;
const counted: KeyStore = {
  ...store,
  findByDigest(digests) {
    asked += 1;
    return store.findByDigest(digests);
  },
};
for (let i = 0; i < KEYS; i++) {
  callers.set(digest(values.key(i)), callerOf(i));
  callers.set(digest(revoked.key(i)), { ...callerOf(KEYS + i), revokedAt: 1_700_000_000_000 });
  void store.insert(recordOf(i, values.key(i)));
  void store.insert({ ...recordOf(KEYS + i, revoked.key(i)), revokedAt: 1_700_000_000_000 });
}
const options = { prefix: PREFIX, catalog, peppers: 'none' } as const;
const keyring = createKeyring({ ...options, store });
const watched = createKeyring({ ...options, store: counted });

function plainly(list: readonly Headers[], scope: string): void {
  for (const headers of list) {
    try {
      check(callers, headers, scope);
    } catch (error) {
      keep(error instanceof HttpError && error.status);
    }
  }
}

async function ours(list: readonly Headers[], scope: string): Promise<void> {
  for (const headers of list) {
    try {
      requireScopes(await keyring.authenticate(headers), scope);
    } catch (error) {
      keep(isAccessError(error) && error.code);
    }
  }
}

// ── Cases ────────────────────────────────────────────────────────────────────────────────────────

async function checkOurs({ values, scope, reason, lookUps }: Kind): Promise<void> {
  const before = asked;
  for (const index of [7, KEYS - 1]) {
    const enter = async () =>
      requireScopes(await watched.authenticate(values.headers(index)), scope);
    await assert.rejects(enter, { reason });
  }
  assert.equal(asked - before, 2 * lookUps, `${reason}: look-ups`);
}

function casesOf(kind: Kind): readonly Case<readonly Headers[]>[] {
  const { name, values, scope, status } = kind;
  const draw = drawer(2);
  const common = {
    calls: CALLS,
    batch: LIST,
    over: `${name}, by hand`,
    prepare: () => Array.from({ length: LIST }, () => values.headers(draw(KEYS))),
  };
  return [
    {
      ...common,
      name: `${name}, by hand`,
      check: () => assert.throws(() => check(callers, values.headers(7), scope), { status }),
      run: (list) => plainly(list, scope),
    },
    {
      ...common,
      name: `${name}, keyscope`,
      check: () => checkOurs(kind),
      run: (list) => ours(list, scope),
    },
  ];
}

const figures = await measure(KINDS.flatMap(casesOf), ROUNDS);
const speedOf = (name: string) =>
  1 / (figures.find((figure) => figure.name === `${name}, keyscope`)?.ratio ?? Number.NaN);
publish({
  name: 'refusals',
  title: 'Refusals',
  about:
    'From a header to an error that has been caught. By hand a key that is no key is refused by ' +
    'the regular expression; a checksum is nothing that the plain check has, so there a wrong ' +
    'one costs a hash and a look-up, as an unknown key does.',
  unit: 'ops/s',
  base: 'by hand',
  rows: figures.map((figure) => {
    const [group = '', name = ''] = figure.name.split(/, (?=[^,]*$)/);
    return rowOf(figure, 'ops/s', { name, group, ours: name === 'keyscope' });
  }),
  aims: ['malformed: too short', 'wrong checksum'].map((name) =>
    aim(`${name}, of the same by hand`, speedOf(name), '≥', 0.6, '×'),
  ),
});
