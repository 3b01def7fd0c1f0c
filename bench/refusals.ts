/**
 * What it costs to say no: `node bench/refusals.ts`. Each kind of refusal beside a key that is
 * admitted, and beside the plain check's refusal, which throws an `Error` with a status, as a route
 * does. Every refusal is caught and its status or code is read.
 */
import assert from 'node:assert/strict';
import type { KeyRecord, KeyStore, Principal } from 'keyscope';
import { createKeyring, isAccessError, requireEntity, requireScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { measureApart, type Pairs } from './apart.ts';
import { type Caller, check, digest, HttpError } from './by-hand.ts';
import { callerOf } from './contenders.ts';
import { type Case, drawer, type Figure, keep } from './harness.ts';
import {
  catalog,
  ENTITY,
  type Headers,
  HeaderValues,
  LACKING,
  NEEDED,
  newKeys,
  PREFIX,
  recordOf,
} from './keys.ts';
import { aim, publish, quick, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 50;
const KEYS = 1000;
const CALLS = 160;
const LIST = 16;
const PAST = 1_700_000_000_000;
const ADMITTED = 'admitted';
const OURS = 'keyscope';
const BY_HAND = 'by hand';
const NOT_ITS_ENTITY = 'ffffffff-0000-4000-8000-00000000000f';

type Request = Partial<Headers>;

/** A kind of refusal. What is not said is as in a request that is admitted. */
interface Kind {
  readonly reason: string;
  /** What the plain check answers; it knows no suspension and no entity. */
  readonly status?: 401 | 403;
  /** How often such a request asks the store. */
  readonly lookUps: 0 | 1;
  /** Turns a good key into what is sent. */
  readonly send?: (key: string) => string;
  /** Sends nothing. */
  readonly isMissing?: true;
  /** The key was not stored. */
  readonly isUnknown?: true;
  readonly stored?: Partial<KeyRecord>;
  readonly scope?: string;
  readonly entityUuid?: string;
}

const KINDS: Readonly<Record<string, Kind>> = {
  'no credential': { reason: 'no_header', status: 401, lookUps: 0, isMissing: true },
  'garbage, as long as a key': {
    reason: 'malformed_key',
    status: 401,
    lookUps: 0,
    send: (key) => key.replace(/.(?=.{9}$)/, '-'),
  },
  'garbage, too short': {
    reason: 'malformed_key',
    status: 401,
    lookUps: 0,
    send: (key) => key.slice(0, 16),
  },
  'wrong checksum': {
    reason: 'wrong_checksum',
    status: 401,
    lookUps: 0,
    send: (key) => key.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
  },
  'unknown key': { reason: 'unknown_key', status: 401, lookUps: 1, isUnknown: true },
  'revoked key': { reason: 'revoked', status: 401, lookUps: 1, stored: { revokedAt: PAST } },
  'suspended key': { reason: 'suspended', lookUps: 1, stored: { suspendedAt: PAST } },
  'expired key': { reason: 'expired', status: 401, lookUps: 1, stored: { expiresAt: PAST } },
  'scope not granted': { reason: 'scope_missing', status: 403, lookUps: 1, scope: LACKING },
  'entity not addressed': {
    reason: 'entity_not_accessible',
    lookUps: 1,
    entityUuid: NOT_ITS_ENTITY,
  },
};

// ── Both sides ───────────────────────────────────────────────────────────────────────────────────

interface Asked {
  readonly scope?: string | undefined;
  readonly entityUuid?: string | undefined;
}

function requireBoth(principal: Principal, { scope = NEEDED, entityUuid = ENTITY }: Asked): void {
  requireScopes(principal, scope);
  requireEntity(principal, entityUuid);
}

function keyringOver(store: KeyStore) {
  return createKeyring({ prefix: PREFIX, catalog, store, peppers: 'none' });
}

type Keyring = ReturnType<typeof keyringOver>;

async function enterOurs(
  keyring: Keyring,
  list: readonly Request[],
  asked: Asked,
): Promise<unknown> {
  let last: unknown;
  for (const headers of list) {
    try {
      const principal = await keyring.authenticate(headers);
      requireBoth(principal, asked);
      last = principal.keyId;
    } catch (error) {
      last = isAccessError(error) && error.code;
    }
  }
  return last;
}

function enterByHand(
  callers: Map<string, Caller>,
  list: readonly Request[],
  scope: string,
): unknown {
  let last: unknown;
  for (const headers of list) {
    try {
      last = check(callers, headers, scope).id;
    } catch (error) {
      last = error instanceof HttpError && error.status;
    }
  }
  return last;
}

// ── Cases ────────────────────────────────────────────────────────────────────────────────────────

function casesOf(name: string, kind: Kind): readonly Case[] {
  const { stored = {}, send = (key) => key, isMissing = false, isUnknown = false } = kind;
  const good = new HeaderValues(newKeys(KEYS), KEYS);
  const bad = new HeaderValues(newKeys(KEYS), KEYS);
  const sent = new HeaderValues(
    Array.from({ length: KEYS }, (_, index) => send(bad.key(index))),
    KEYS,
  );
  const callers = new Map<string, Caller>();
  const store = memoryStore();
  for (let index = 0; index < KEYS; index++) {
    callers.set(digest(good.key(index)), callerOf(index));
    void store.insert(recordOf(index, good.key(index)));
    if (isUnknown) continue;
    const { revokedAt = null, expiresAt = null } = stored;
    callers.set(digest(bad.key(index)), { ...callerOf(KEYS + index), revokedAt, expiresAt });
    void store.insert({ ...recordOf(KEYS + index, bad.key(index)), ...stored });
  }
  const keyring = keyringOver(store);
  const draw = drawer(2);
  const goodList = () => Array.from({ length: LIST }, () => good.headers(draw(KEYS)));
  const badRequest = (index: number): Request => (isMissing ? {} : sent.headers(index));
  const badList = () => Array.from({ length: LIST }, () => badRequest(draw(KEYS)));

  async function checkOurs(): Promise<void> {
    let asked = 0;
    const watched = keyringOver({
      ...store,
      findByDigest(digests) {
        asked += 1;
        return store.findByDigest(digests);
      },
    });
    for (const index of [7, KEYS - 1]) {
      const enter = async () => requireBoth(await watched.authenticate(badRequest(index)), kind);
      await assert.rejects(enter, { reason: kind.reason });
    }
    assert.equal(asked, 2 * kind.lookUps, `${name}: look-ups`);
  }

  const common = { calls: CALLS, batch: LIST, over: ADMITTED };
  const { status, scope = NEEDED } = kind;
  const byHand: Case<readonly Request[]> = {
    ...common,
    name: BY_HAND,
    check: () => assert.throws(() => check(callers, badRequest(7), scope), { status }),
    prepare: badList,
    run: (list) => keep(enterByHand(callers, list, scope)),
  };
  const ours: Case<readonly Request[]>[] = [
    {
      ...common,
      name: ADMITTED,
      check: async () => requireBoth(await keyring.authenticate(good.headers(7)), {}),
      prepare: goodList,
      run: (list) => enterOurs(keyring, list, {}),
    },
    {
      ...common,
      name: OURS,
      check: checkOurs,
      prepare: badList,
      run: (list) => enterOurs(keyring, list, kind),
    },
  ];
  return (status === undefined ? ours : [...ours, byHand]) as readonly Case[];
}

const pairs: Pairs = Object.fromEntries(
  Object.entries(KINDS).map(([name, kind]) => [name, () => casesOf(name, kind)]),
);

const figures = await measureApart(import.meta.url, pairs, ROUNDS);
if (figures !== null) {
  const timeOf = (name: string) =>
    figures.get(name)?.find((figure: Figure) => figure.name === OURS)?.ratio ?? undefined;
  publish({
    name: 'refusals',
    title: 'Refusals',
    about:
      'From a header to an error that has been caught, beside a key that is admitted. ' +
      'By hand a key that is no key is refused by the regular expression; a checksum is nothing ' +
      'that the plain check has, so there a wrong one costs a hash and a look-up.',
    unit: 'ops/s',
    base: 'an admitted key',
    rows: Array.from(figures, ([group, all]) =>
      all.map((figure) =>
        rowOf(figure, 'ops/s', { name: figure.name, group, ours: figure.name !== BY_HAND }),
      ),
    ).flat(),
    aims: Object.entries(KINDS).map(([name, { lookUps }]) =>
      aim(`${name}, time of an admitted key`, timeOf(name), '≤', lookUps === 0 ? 0.8 : 1.5, '×'),
    ),
  });
}
