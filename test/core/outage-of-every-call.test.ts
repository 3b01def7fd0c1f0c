/**
 * Any call of the store fails: in every operation, in every way, before it took effect and after.
 * Nothing passes, nothing is half written, and the same keyring goes on once the store answers
 * again.
 */
import { DatabaseSync } from 'node:sqlite';
import type { KeyRecord, KeyStore, Principal } from 'keyscope';
import { toResponse } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { sqliteStore } from 'keyscope/stores/sqlite';
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
  OWN,
  PLAIN,
  policy,
  rowOf,
  START,
  setUp,
  thrown,
  wrap,
} from '../support/keyring.ts';

// Shorter than the interval at which usage is written, by the fake timers.
const TIMEOUT_MS = 4_000;
const OVERLAP = { overlapMs: HOUR };

/** A key that was made, and used once, before anything broke. */
type Known = { readonly key: string; readonly keyId: string };
type Run = (keyring: Ring, known: Known) => Promise<unknown>;

const READS: Readonly<Record<string, Run>> = {
  list: (keyring) => keyring.list({}, AUTHORITY),
  get: (keyring, { keyId }) => keyring.get(keyId, AUTHORITY),
  verify: (keyring, { key }) => keyring.verify(key),
  'authenticate a key': (keyring, { key }) => keyring.authenticate(bearer(key)),
  'authenticate a token': (keyring) => keyring.authenticate('Bearer a.b.c'),
  'admit a key': (keyring, { key }) => keyring.admit(bearer(key), { policy, operation: 'list' }),
  'admit a token': (keyring) => keyring.admit('Bearer a.b.c', { policy, operation: 'list' }),
};

const WRITES: Readonly<Record<string, Run>> = {
  issue,
  revoke: (keyring, { keyId }) => keyring.revoke(keyId, AUTHORITY),
  rotate: (keyring, { keyId }) => keyring.rotate(keyId, OVERLAP, AUTHORITY),
  'rotate at once': (keyring, { keyId }) => keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY),
  // Somebody else retires the predecessor right before this one does.
  'rotate and lose': (keyring, { keyId }) => keyring.rotate(keyId, OVERLAP, AUTHORITY),
  flush: (keyring) => keyring.flush(),
  // Both write what is known of the use first.
  advise: (keyring, { keyId }) => keyring.advise(keyId, { unusedForMs: 0 }, AUTHORITY),
  pepperReport: (keyring) => keyring.pepperReport(),
};

const OPERATIONS: Readonly<Record<string, Run>> = { ...READS, ...WRITES };

/** What no method may answer. Nothing is read after `touch`. */
const NONSENSE: Readonly<Partial<Record<Method, unknown>>> = {
  insert: false,
  findByDigest: [null],
  findById: {},
  list: null,
  markEnded: 'true',
  summarize: [{ scheme: 'h1.p1', live: '1', lastUsedAt: null }],
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
  sqlite: () => sqliteStore(new DatabaseSync(':memory:')),
};

const rowsOf = (store: KeyStore) => store.list({ entityUuid: OWN, after: null, limit: 99 });

/** A keyring over a store behind `between`, which acts once `arm` is called. */
async function scene(name: string, inner: KeyStore, between: Between) {
  let armed = false;
  const store = wrap(inner, (method, args, call) => {
    if (!armed) return call();
    const ending = args[1] as object | undefined;
    const isRetired = method === 'markEnded' && ending !== undefined && 'retireAt' in ending;
    const hasRival = name === 'rotate and lose' && isRetired;
    const callAfterRival = async (): Promise<unknown> => {
      await inner.markEnded(String(args[0]), { retireAt: START + 2 * HOUR });
      return call();
    };
    return between(method, args, hasRival ? callAfterRival : call);
  });
  let claims: Principal | undefined;
  const tokens = { verify: async () => claims as Principal };
  const { keyring, events, clock } = setUp({ store, tokens, storeTimeoutMs: TIMEOUT_MS });
  const { key, info } = await issue(keyring);
  claims = testPrincipal({
    catalog,
    scopes: PLAIN.scopes,
    entityUuid: OWN,
    keyId: info.keyId,
    via: 'jwt',
  });
  await keyring.admit(bearer(key), { policy, operation: 'list' });
  events.length = 0;
  const arm = (on: boolean) => {
    armed = on;
  };
  return { keyring, inner, events, clock, known: { key, keyId: info.keyId }, arm };
}

type Scene = Awaited<ReturnType<typeof scene>>;

/** The calls that an operation makes where nothing fails. */
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
  /** Which call fails, from 1. */
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

/** Runs the operation into the fault, and returns what it rejects with. */
async function runInto(
  name: string,
  inner: KeyStore,
  { position, when, how }: Case,
): Promise<{ reached: Scene; error: unknown }> {
  let count = 0;
  let faultReached = () => {};
  const fault = new Promise<void>((resolve) => {
    faultReached = resolve;
  });
  const reached = await scene(name, inner, (method, _args, call) => {
    count += 1;
    if (count !== position) return call();
    const fail = () => {
      queueMicrotask(faultReached);
      return FAULTS[how]?.(method);
    };
    if (when === 'before') return fail();
    const answer = call();
    return answer instanceof Promise ? answer.then(fail) : fail();
  });
  reached.arm(true);
  const outcome = thrown(async () => OPERATIONS[name]?.(reached.keyring, reached.known));
  if (how === 'never answers') {
    await fault;
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
  }
  const error = await outcome;
  reached.arm(false);
  return { reached, error };
}

/** 503, and no word that would make a client throw its key away. */
function expectOutage({ events }: Scene, error: unknown): void {
  const { status, headers, body } = toResponse(error, { realm: 'x' });
  expect([status, headers['Retry-After'], headers['WWW-Authenticate']]).toEqual([
    503,
    '1',
    undefined,
  ]);
  expect(String(error)).toMatch(/^StoreError: /);
  expect(body).not.toMatch(/invalid_token|lost/);
  // No listener is told of what did not happen, and none that a key was bad.
  expect(
    events.filter((event) => event.type !== 'access.denied' || event.code !== 'store_error'),
  ).toEqual([]);
}

/**
 * The key that was there works, or has ended as the operation would have ended it and no other way.
 */
async function expectKnown(
  name: string,
  { keyring, inner, known, clock }: Scene,
  failed: Case,
  made?: KeyRecord,
) {
  const { revokedAt, retireAt } = await rowOf(inner, known.keyId);
  const ended = failed.method === 'markEnded' && failed.when === 'after';
  expect(revokedAt).toBe(name === 'revoke' && ended ? START : null);
  if (revokedAt !== null) {
    await denied(() => keyring.verify(known.key), 'invalid_token', 'revoked');
    return;
  }
  if (!name.startsWith('rotate')) expect(retireAt).toBeNull();
  if (retireAt === null || name === 'rotate and lose') {
    await keyring.verify(known.key);
    return;
  }
  // Retired: then its successor is there to be seen, and it has the time that it was given.
  expect(retireAt).toBe(name === 'rotate' ? START + HOUR : START);
  const { keys } = await keyring.list({}, AUTHORITY);
  expect(keys.map(({ keyId, rotatedFrom }) => [keyId, rotatedFrom])).toContainEqual([
    made?.keyId,
    known.keyId,
  ]);
  clock.set(retireAt - 1);
  await keyring.verify(known.key);
  clock.set(retireAt);
  await denied(() => keyring.verify(known.key), 'invalid_token', 'retired');
  clock.set(START);
}

/**
 * A row that the operation left behind is whole: sealed, and with everything that its key would
 * have had.
 */
async function expectWhole(
  name: string,
  { keyring, inner, known }: Scene,
  made: KeyRecord,
): Promise<void> {
  const old = await rowOf(inner, known.keyId);
  const same = [
    'name',
    'entityUuid',
    'accessibleEntities',
    'scopes',
    'justification',
    'metadata',
    'expiresAt',
  ] as const;
  for (const field of same) expect(made[field]).toEqual(old[field]);
  expect(made.rotatedFrom).toBe(name === 'issue' ? null : known.keyId);
  expect([made.retireAt, made.lastUsedAt, made.scopesUsed]).toEqual([null, null, {}]);
  if (made.revokedAt !== null) return;
  // Only a genuine seal is rotated. What comes of it is the first plaintext that anybody has of
  // this row.
  const { key } = await keyring.rotate(made.keyId, { overlapMs: 0 }, AUTHORITY);
  await keyring.verify(key);
  // The documented remedy ends what nobody can use.
  await keyring.revoke(made.keyId, AUTHORITY);
}

/**
 * Once more, on the same keyring: what was asked for is done, or refused as it is where somebody
 * else has done it.
 */
async function expectRecovery(name: string, { keyring, inner, known }: Scene): Promise<void> {
  const again = () => OPERATIONS[name]?.(keyring, known) ?? Promise.reject(new Error(name));
  const { retireAt } = await rowOf(inner, known.keyId);
  if (!name.startsWith('rotate')) await again();
  else if (retireAt === null) await keyring.verify(((await again()) as { key: string }).key);
  else if (retireAt > START) await denied(again, 'conflict', 'already_ended');
  else await denied(again, 'invalid_token', 'retired');
  if (name === 'revoke') await denied(() => keyring.verify(known.key), 'invalid_token', 'revoked');
  await keyring.flush();
  expect((await rowOf(inner, known.keyId)).lastUsedAt).toBe(START);
  await keyring.verify((await issue(keyring)).key);
}

afterEach(() => {
  vi.useRealTimers();
});

/** Runs one case, and checks everything that holds after it. */
async function expectHarmless(name: string, inner: KeyStore, failed: Case): Promise<void> {
  const { reached, error } = await runInto(name, inner, failed);
  expectOutage(reached, error);
  const others = (await rowsOf(inner)).filter(({ keyId }) => keyId !== reached.known.keyId);
  const [made, ...more] = others;
  expect(more).toEqual([]);
  if (name in READS) expect(made).toBeUndefined();
  await expectKnown(name, reached, failed, made);
  if (made !== undefined) await expectWhole(name, reached, made);
  await expectRecovery(name, reached);
}

describe.each(Object.keys(STORES))('if any call of a store fails (%s)', (kind) => {
  const fresh = () => STORES[kind]?.() as KeyStore;

  it.each(Object.keys(OPERATIONS))(
    '%s: the answer is an outage, and nothing is half done',
    async (name) => {
      const calls = await callsOf(name, fresh());
      let cases = 0;
      for (const failed of casesOf(calls)) {
        // However busy the machine is, no time-out passes unless a case moves the time. Only
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
  // An operation that no longer makes a call would leave it out unseen.
  it.each<readonly [string, readonly Method[]]>([
    ['issue', ['insert']],
    ['revoke', ['findById', 'markEnded']],
    ['rotate', ['findById', 'insert', 'markEnded']],
    ['rotate and lose', ['findById', 'insert', 'markEnded', 'markEnded']],
    ['list', ['list']],
    ['get', ['findById']],
    ['advise', ['touch', 'findById']],
    ['pepperReport', ['touch', 'summarize']],
    ['verify', ['findByDigest']],
    ['authenticate a token', ['findById']],
    ['admit a key', ['findByDigest']],
    ['flush', ['touch']],
  ])('are complete for %s: %j', async (name, expected) => {
    expect(await callsOf(name, memoryStore())).toEqual(expected);
  });
});
