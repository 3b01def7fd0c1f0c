/**
 * Each call to the store fails: in every operation, in every way, before it took effect and after.
 * No request gets through, nothing is half written, and the same keyring continues once the store
 * answers again.
 */
import type { IssuedKey, KeyRecord, KeyStore, Mark, Principal } from 'keyscope';
import { toResponse } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { testPrincipal } from 'keyscope/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Between, Method, Ring } from '../support/keyring.ts';
import {
  AUTHORITY,
  bearer,
  catalog,
  delayed,
  denied,
  HOUR,
  issue,
  OTHER,
  OWN,
  PLAIN,
  rowOf,
  START,
  setUp,
  thrown,
  wrap,
} from '../support/keyring.ts';
import { WIDE } from '../support/outages.ts';

// Shorter than the interval for writing usage, by the fake timers.
const TIMEOUT_MS = 4_000;
const OVERLAP = { overlapMs: HOUR };
const ADDRESSED = { entityId: OTHER };

/** A key that was made and used once before anything broke. */
type Known = { readonly key: string; readonly keyId: string };
type Run = (keyring: Ring, known: Known) => Promise<unknown>;

const READS: Readonly<Record<string, Run>> = {
  list: (keyring) => keyring.list({}, AUTHORITY),
  'list addressing': (keyring) => keyring.list({ addressing: true }, ADDRESSED),
  get: (keyring, { keyId }) => keyring.get(keyId, AUTHORITY),
  identify: (keyring, { key }) => keyring.identify(key),
  verify: (keyring, { key }) => keyring.verify(key),
  'authenticate a key': (keyring, { key }) => keyring.authenticate(bearer(key)),
  'authenticate a token': (keyring) => keyring.authenticate('Bearer a.b.c'),
  'admit a key': (keyring, { key }) => keyring.admit(bearer(key), { operation: 'list' }),
  'admit a token': (keyring) => keyring.admit('Bearer a.b.c', { operation: 'list' }),
};

const rotate: Run = (keyring, { keyId }) => keyring.rotate(keyId, OVERLAP, WIDE);

const WRITES: Readonly<Record<string, Run>> = {
  issue,
  revoke: (keyring, { keyId }) => keyring.revoke(keyId, AUTHORITY),
  // For a key that has a predecessor in its overlap.
  revokeLineage: (keyring, { keyId }) => keyring.revokeLineage(keyId, AUTHORITY),
  suspend: (keyring, { keyId }) => keyring.suspend(keyId, AUTHORITY),
  resume: (keyring, { keyId }) => keyring.resume(keyId, AUTHORITY),
  withdraw: (keyring, { keyId }) => keyring.withdraw(keyId, ADDRESSED),
  // For a key that is already suspended, withdrawn and revoked.
  'suspend again': (keyring, { keyId }) => keyring.suspend(keyId, AUTHORITY),
  'withdraw again': (keyring, { keyId }) => keyring.withdraw(keyId, ADDRESSED),
  'revoke again': (keyring, { keyId }) => keyring.revoke(keyId, AUTHORITY),
  rotate,
  'rotate at once': (keyring, { keyId }) => keyring.rotate(keyId, { overlapMs: 0 }, WIDE),
  // Another caller marks the predecessor right before this one does.
  'rotate and lose': rotate,
  'rotate and lose to a suspension': rotate,
  'rotate and lose to a withdrawal': rotate,
  flush: (keyring) => keyring.flush(),
};

const OPERATIONS: Readonly<Record<string, Run>> = { ...READS, ...WRITES };

const NOBODY = { by: null, reason: null } as const;
const SUSPENSION: Mark = { kind: 'suspend', at: START, ...NOBODY };
const WITHDRAWAL: Mark = { kind: 'withdraw', at: START, entityId: OTHER };

/** The mark of another caller, written right before an operation retires its key. */
const RIVALS: Readonly<Record<string, Mark>> = {
  'rotate and lose': { kind: 'retire', at: START, retireAt: START + 2 * HOUR, ...NOBODY },
  'rotate and lose to a suspension': SUSPENSION,
  'rotate and lose to a withdrawal': WITHDRAWAL,
};

/** The state of the key before the operation begins. */
const BEFORE: Readonly<Record<string, (keyring: Ring, known: Known) => Promise<unknown>>> = {
  resume: (keyring, { keyId }) => keyring.suspend(keyId, AUTHORITY),
  'suspend again': (keyring, { keyId }) => keyring.suspend(keyId, AUTHORITY),
  'withdraw again': (keyring, { keyId }) => keyring.withdraw(keyId, ADDRESSED),
  'revoke again': (keyring, { keyId }) => keyring.revoke(keyId, AUTHORITY),
};

/** An answer that no method may give. The answer of `touch` is not read. */
const NONSENSE: Readonly<Partial<Record<Method, unknown>>> = {
  insert: false,
  findByDigest: [null],
  findById: {},
  list: null,
  listLineage: [undefined],
  mark: 'true',
};

const FAULTS: Readonly<Record<string, (method: Method) => unknown>> = {
  throws: () => {
    throw new Error('lost');
  },
  rejects: () => Promise.reject(new Error('lost')),
  'never answers': () => new Promise(() => {}),
  'answers nonsense': (method) => NONSENSE[method],
};

const STORES: Readonly<Record<string, () => KeyStore>> = {
  memory: memoryStore,
  'memory, by promise': () => delayed(memoryStore()),
};

const LISTING = { prefix: 'acme', entityId: OWN, after: null, limit: 99 };
const rowsOf = (store: KeyStore) => store.list(LISTING);

/** A keyring over a store behind `between`, which acts after `arm` was called. */
async function scene(name: string, inner: KeyStore, between: Between) {
  let armed = false;
  const rival = RIVALS[name];
  const store = wrap(inner, (method, args, call) => {
    if (!armed) return call();
    const mark = args[1] as Mark | undefined;
    const hasRival = method === 'mark' && mark?.kind === 'retire' && rival !== undefined;
    const callAfterRival = async (): Promise<unknown> => {
      await inner.mark(String(args[0]), rival as Mark);
      return call();
    };
    return between(method, args, hasRival ? callAfterRival : call);
  });
  let claims: Principal | undefined;
  const tokens = { verify: async () => claims as Principal };
  const { keyring, events, clock } = setUp({ store, tokens, storeTimeoutMs: TIMEOUT_MS });
  const input = { ...PLAIN, accessibleEntities: [OTHER] };
  const first = await keyring.issue(input, WIDE);
  const hasPredecessor = name === 'revokeLineage';
  const { key, info } = hasPredecessor
    ? await keyring.rotate(first.info.keyId, OVERLAP, WIDE)
    : first;
  const known = { key, keyId: info.keyId };
  const { keyId } = known;
  claims = testPrincipal({ catalog, scopes: PLAIN.scopes, entityId: OWN, keyId, via: 'jwt' });
  await keyring.admit(bearer(key), { operation: 'list' });
  await BEFORE[name]?.(keyring, known);
  events.length = 0;
  const arm = (on: boolean) => {
    armed = on;
  };
  const keys: readonly IssuedKey[] = hasPredecessor ? [first, { key, info }] : [first];
  return { keyring, inner, events, clock, known, keys, arm };
}

type Scene = Awaited<ReturnType<typeof scene>>;

/** The calls that an operation makes if nothing fails. */
async function callsOf(name: string, inner: KeyStore): Promise<readonly Method[]> {
  const calls: Method[] = [];
  const { keyring, known, arm } = await scene(name, inner, (method, _args, call) => {
    calls.push(method);
    return call();
  });
  arm(true);
  await OPERATIONS[name]?.(keyring, known).catch(() => {});
  return calls;
}

interface Case {
  /** The number of the failing call, from 1. */
  readonly position: number;
  readonly method: Method;
  readonly when: 'before' | 'after';
  readonly how: string;
}

function* casesOf(calls: readonly Method[]): Generator<Case> {
  for (const [index, method] of calls.entries()) {
    for (const how of Object.keys(FAULTS)) {
      if (how === 'answers nonsense' && !(method in NONSENSE)) continue;
      for (const when of ['before', 'after'] as const)
        yield { position: index + 1, method, when, how };
    }
  }
}

/** The result of a run with a fault. */
interface Reached extends Scene {
  readonly error: unknown;
  /** The keys whose marks took effect, and those of them that the keyring knows about. */
  readonly marked: readonly string[];
  readonly told: readonly string[];
}

/** Runs the operation with the fault. */
async function runInto(
  name: string,
  inner: KeyStore,
  { position, when, how }: Case,
): Promise<Reached> {
  let count = 0;
  let faultReached = () => {};
  const fault = new Promise<void>((resolve) => {
    faultReached = resolve;
  });
  const marked: string[] = [];
  const told: string[] = [];
  const reached = await scene(name, inner, (method, args, call) => {
    count += 1;
    const isFault = count === position;
    const note = (answer: unknown): unknown => {
      if (method !== 'mark' || answer !== true) return answer;
      marked.push(String(args[0]));
      if (!isFault) told.push(String(args[0]));
      return answer;
    };
    const fail = () => {
      queueMicrotask(faultReached);
      return FAULTS[how]?.(method);
    };
    if (isFault && when === 'before') return fail();
    const answer = call();
    if (answer instanceof Promise)
      return answer.then(note).then((told) => (isFault ? fail() : told));
    note(answer);
    return isFault ? fail() : answer;
  });
  reached.arm(true);
  const outcome = thrown(async () => OPERATIONS[name]?.(reached.keyring, reached.known));
  if (how === 'never answers') {
    await fault;
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
  }
  const error = await outcome;
  reached.arm(false);
  return { ...reached, error, marked, told };
}

/** 503, without a word that would make a client discard its key. */
function expectOutage({ events, error, told }: Reached): void {
  const { status, headers, body } = toResponse(error, { realm: 'x' });
  expect([status, headers['Retry-After'], headers['WWW-Authenticate']]).toEqual([
    503,
    '1',
    undefined,
  ]);
  expect(String(error)).toMatch(/^StoreError: /);
  expect(body).not.toMatch(/invalid_token|lost/);
  // No event reports an act that did not happen, or a bad key.
  const byKey = (type: string): boolean => type === 'key.revoked' || type === 'key.withdrawn';
  const marked = events.filter(({ type }) => byKey(type)).map(({ keyId }) => String(keyId));
  const others = events.filter(({ type }) => !byKey(type));
  for (const event of others) {
    expect(event).toMatchObject({ type: 'access.denied', code: 'store_error' });
  }
  // A lineage is marked key by key, and each key that was surely marked has an event.
  expect(marked.every((keyId) => told.includes(keyId))).toBe(true);
}

/** The refusal of a key in the state of {@link BEFORE}, or in its final state. */
const REASONS: Readonly<Record<string, readonly [before: string, after: string]>> = {
  revoke: ['', 'revoked'],
  revokeLineage: ['', 'revoked'],
  suspend: ['', 'suspended'],
  resume: ['suspended', ''],
  'suspend again': ['suspended', 'suspended'],
  'revoke again': ['revoked', 'revoked'],
  'rotate and lose to a suspension': ['', ''],
};

/** Each key works, or has ended in the way of the operation and no other. */
async function expectKeys(name: string, reached: Reached, made?: KeyRecord): Promise<void> {
  const { keyring, inner, known, keys, marked, clock } = reached;
  const [before, after] = REASONS[name] ?? ['', ''];
  for (const { key, info } of keys) {
    const row = await rowOf(inner, info.keyId);
    const becameSo = marked.includes(info.keyId) ? after : before;
    const isSuspended = RIVALS[name]?.kind === 'suspend' && row.suspendedAt !== null;
    const reason = isSuspended ? 'suspended' : becameSo;
    if (reason !== '') {
      await denied(() => keyring.verify(key), 'invalid_token', reason as 'revoked');
      continue;
    }
    const isWithdrawn = row.withdrawn.length > 0;
    if (isWithdrawn) expect(name).toContain('withdraw');
    const isRetired = name.startsWith('rotate') && row.retireAt !== null;
    if (isRetired && name !== 'rotate and lose') {
      // Then its successor is visible, and the key has its overlap.
      expect(row.retireAt).toBe(name === 'rotate' ? START + HOUR : START);
      expect(made).toMatchObject({ rotatedFrom: known.keyId, rootKeyId: row.rootKeyId });
      clock.set((row.retireAt ?? 0) - 1);
    }
    const { accessibleEntities } = await keyring.verify(key);
    expect(accessibleEntities).toEqual(isWithdrawn ? [OWN] : [OWN, OTHER]);
    if (!isRetired) expect(row.retireAt === null || name === 'revokeLineage').toBe(true);
    else if (name !== 'rotate and lose') {
      clock.set(row.retireAt ?? 0);
      await denied(() => keyring.verify(key), 'invalid_token', 'retired');
    }
    clock.set(START);
  }
}

/**
 * A row that the operation left behind is complete: sealed, with everything that its key would have
 * had.
 */
async function expectWhole(name: string, reached: Reached, made: KeyRecord): Promise<void> {
  const { keyring, inner, known } = reached;
  const old = await rowOf(inner, known.keyId);
  const same = [
    'format',
    'prefix',
    'name',
    'entityId',
    'scopes',
    'justification',
    'metadata',
    'expiresAt',
  ] as const;
  for (const field of same) expect(made[field]).toEqual(old[field]);
  const isIssued = name === 'issue';
  expect(made.accessibleEntities).toEqual(isIssued ? [OWN] : [OWN, OTHER]);
  expect(made.rotatedFrom).toBe(isIssued ? null : known.keyId);
  expect(made.rootKeyId).toBe(isIssued ? made.keyId : old.rootKeyId);
  expect([made.retireAt, made.suspendedAt, made.withdrawn]).toEqual([null, null, []]);
  expect([made.lastUsedAt, made.scopesUsed]).toEqual([null, {}]);
  if (made.revokedAt !== null) return;
  // Only a row with a genuine seal can be rotated. This makes the first plaintext that anyone has
  // for it.
  const { key } = await keyring.rotate(made.keyId, { overlapMs: 0 }, WIDE);
  await keyring.verify(key);
  // The documented remedy ends the key that nobody can use.
  await keyring.revoke(made.keyId, AUTHORITY);
}

/**
 * Repeats the operation on the same keyring. It succeeds, or is refused as if another caller had
 * already done it.
 */
async function expectRecovery(name: string, { keyring, inner, known, keys }: Reached) {
  const again = () => OPERATIONS[name]?.(keyring, known) ?? Promise.reject(new Error(name));
  const { retireAt, suspendedAt } = await rowOf(inner, known.keyId);
  if (!name.startsWith('rotate')) await again();
  else if (suspendedAt !== null) await denied(again, 'conflict', 'suspended');
  else if (retireAt === null) await keyring.verify(((await again()) as { key: string }).key);
  else if (retireAt > START) await denied(again, 'conflict', 'already_ended');
  else await denied(again, 'conflict', 'retired');
  const [, after] = REASONS[name] ?? ['', ''];
  if (after !== '') {
    for (const { key } of keys)
      await denied(() => keyring.verify(key), 'invalid_token', after as 'revoked');
  }
  if (name === 'resume') await keyring.verify(known.key);
  if (name === 'withdraw') {
    expect((await keyring.verify(known.key)).accessibleEntities).toEqual([OWN]);
  }
  await keyring.flush();
  expect((await rowOf(inner, known.keyId)).lastUsedAt).toBe(START);
  await keyring.verify((await issue(keyring)).key);
}

afterEach(() => {
  vi.useRealTimers();
});

/** Runs one case and checks all its consequences. */
async function expectHarmless(name: string, inner: KeyStore, failed: Case): Promise<void> {
  const reached = await runInto(name, inner, failed);
  expectOutage(reached);
  const there = reached.keys.map(({ info }) => info.keyId);
  const others = (await rowsOf(inner)).filter(({ keyId }) => !there.includes(keyId));
  const [made, ...more] = others;
  expect(more).toEqual([]);
  if (!['issue', 'rotate'].some((act) => name.startsWith(act))) expect(made).toBeUndefined();
  await expectKeys(name, reached, made);
  if (made !== undefined) await expectWhole(name, reached, made);
  // Usage is one write at a time: after one that is never answered, no other follows.
  if (name === 'flush' && failed.how === 'never answers') return;
  await expectRecovery(name, reached);
}

describe.each(Object.keys(STORES))('if any call of a store fails (%s)', (kind) => {
  const fresh = () => STORES[kind]?.() as KeyStore;

  it.each(Object.keys(OPERATIONS))(
    '%s answers with an outage and leaves nothing half done',
    async (name) => {
      const calls = await callsOf(name, fresh());
      let cases = 0;
      for (const failed of casesOf(calls)) {
        // On a busy machine too, a time-out passes only if a case moves the time. Only
        // `setImmediate` stays real, because the store that answers by promise needs it.
        vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
        try {
          await expectHarmless(name, fresh(), failed);
        } catch (cause) {
          const { position, method, how, when } = failed;
          throw new Error(`${name}, call ${position}, ${method} ${how} ${when}`, { cause });
        } finally {
          vi.useRealTimers();
        }
        cases += 1;
      }
      expect(cases).toBeGreaterThan(0);
    },
  );
});

describe('the calls that fail above', () => {
  // Otherwise, an operation that stopped making a call would go unnoticed.
  it.each<readonly [string, readonly Method[]]>([
    ['issue', ['insert']],
    ['revoke', ['findById', 'mark']],
    ['revoke again', ['findById']],
    ['revokeLineage', ['findById', 'findById', 'mark', 'mark', 'listLineage']],
    ['suspend', ['findById', 'mark']],
    ['suspend again', ['findById', 'mark', 'findById']],
    ['resume', ['findById', 'mark']],
    ['withdraw', ['findById', 'mark', 'listLineage']],
    ['withdraw again', ['findById', 'mark', 'findById', 'listLineage']],
    ['rotate', ['findById', 'insert', 'mark']],
    ['rotate and lose', ['findById', 'insert', 'mark', 'mark']],
    ['rotate and lose to a suspension', ['findById', 'insert', 'mark', 'mark']],
    ['rotate and lose to a withdrawal', ['findById', 'insert', 'mark', 'mark']],
    ['list', ['list']],
    ['list addressing', ['list']],
    ['get', ['findById']],
    ['identify', ['findByDigest']],
    ['verify', ['findByDigest']],
    ['authenticate a token', ['findById']],
    ['admit a key', ['findByDigest']],
    ['flush', ['touch']],
  ])('are complete for %s: %j', async (name, expected) => {
    expect(await callsOf(name, memoryStore())).toEqual(expected);
  });
});
