/**
 * Fixtures of the keyring tests: fixed entities, a catalog and a policy, a stopped clock, small
 * wrappers around a store, and assertions on errors.
 */
import type {
  AccessErrorCode,
  Awaitable,
  Catalog,
  DenialReason,
  IssuedKey,
  IssueInput,
  KeyRecord,
  Keyring,
  KeyringEvent,
  KeyringOptions,
  KeyStore,
  OperationOf,
  Policy,
} from 'keyscope';
import {
  AccessError,
  createKeyring,
  definePolicy,
  defineScopes,
  type InputError,
  isAccessError,
  isInputError,
  isStoreError,
  StoreError,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { expect, vi } from 'vitest';

export const OWN = '0a0a0a0a-0000-4000-8000-00000000000a';
export const OTHER = '0b0b0b0b-0000-4000-8000-00000000000b';
export const THIRD = '0c0c0c0c-0000-4000-8000-00000000000c';
/** A well-formed key id that no key has. */
export const NOWHERE = '0d0d0d0d-0000-4000-8000-00000000000d';

export const START = 1_700_000_000_000;
export const HOUR = 3_600_000;

/** In an order that sorting would change, so that tests see catalog order. */
export const catalog = defineScopes(
  {
    threats: {
      read: 'List and read threats.',
      write: 'Update threats.',
      delete: 'Delete threats.',
    },
    decoys: { read: 'List and read decoys.', update: 'Update decoys.' },
    constructor: { read: 'A resource with the name of a property of Object.prototype.' },
    users: { read: 'List and read users.', write: 'Create users.', delete: 'Delete users.' },
  },
  { reserved: ['users:*', '*:delete'] },
);

/** Operations that need no scope, one, two, and one that `PLAIN` does not have. */
export const policy = definePolicy(catalog, {
  whoami: [],
  list: ['threats:read'],
  triage: ['threats:read', 'threats:write'],
  remove: ['threats:delete'],
});

export const PEPPER = { id: 'p1', secret: 'first-pepper-first-pepper-first-pepper!' } as const;
export const PEPPER_2 = { id: 'p2', secret: 'second-pepper-second-pepper-second-one!' } as const;

/** A clock that only a test moves. */
export function stoppedClock(start: number = START) {
  let time = start;
  return {
    now: (): number => time,
    set: (to: number): void => {
      time = to;
    },
    advance: (by: number): void => {
      time += by;
    },
  };
}

// ── Wrappers around a store ──────────────────────────────────────────────────────────────────────

/** The methods of a store that a keyring calls. */
export const METHODS = [
  'insert',
  'findByDigest',
  'findById',
  'list',
  'listLineage',
  'mark',
  'touch',
] as const;
export type Method = (typeof METHODS)[number];

/** Sits between the keyring and a store: sees the call, may make it, and decides the answer. */
export type Between = (method: Method, args: readonly unknown[], call: () => unknown) => unknown;

/** Wraps the store without the methods that only reports need. `args` excludes call options. */
export function wrap(store: KeyStore, between: Between): KeyStore {
  return {
    insert: (record, options) =>
      between('insert', [record], () => store.insert(record, options)) as Awaitable<void>,
    findByDigest: (digests, options) =>
      between('findByDigest', [digests], () => store.findByDigest(digests, options)) as Rows,
    findById: (keyId, options) =>
      between('findById', [keyId], () =>
        store.findById(keyId, options),
      ) as Awaitable<KeyRecord | null>,
    list: (query, options) => between('list', [query], () => store.list(query, options)) as Rows,
    listLineage: (root, options) =>
      between('listLineage', [root], () => store.listLineage(root, options)) as Rows,
    mark: (keyId, mark, options) =>
      between('mark', [keyId, mark], () => store.mark(keyId, mark, options)) as Awaitable<boolean>,
    touch: (entries, options) =>
      between('touch', [entries], () => store.touch(entries, options)) as Awaitable<void>,
  };
}

type Rows = Awaitable<readonly KeyRecord[]>;

/**
 * Answers with a promise, one turn of the event loop later, so that others run between any two
 * calls.
 */
export const delayed = (store: KeyStore): KeyStore =>
  wrap(store, async (_method, _args, call) => {
    await new Promise((resolve) => setImmediate(resolve));
    return call();
  });

/** The two ways in which a store may answer, for `it.each`. */
export const ANSWERING: readonly (readonly [string, (store: KeyStore) => KeyStore])[] = [
  ['at once', (store) => store],
  ['by promise', delayed],
];

/** Records the name of every call. */
export function recording(store: KeyStore): { readonly store: KeyStore; readonly calls: Method[] } {
  const calls: Method[] = [];
  const between: Between = (method, _args, call) => {
    calls.push(method);
    return call();
  };
  return { store: wrap(store, between), calls };
}

/** Answers look-ups by digest with the test's rows; passes everything else on. */
export const returning = (
  store: KeyStore,
  rows: (found: readonly KeyRecord[]) => unknown,
): KeyStore =>
  wrap(store, (method, _args, call) => {
    const answer = call();
    return method === 'findByDigest' ? rows(answer as readonly KeyRecord[]) : answer;
  });

const LISTS: ReadonlySet<Method> = new Set(['findByDigest', 'list', 'listLineage']);

/** Edits every row that is found, like someone who can write to the database. */
export function tampering(store: KeyStore, edit: (row: KeyRecord) => object): KeyStore {
  return wrap(store, (method, _args, call) => {
    const answer = call();
    if (LISTS.has(method)) return (answer as readonly KeyRecord[]).map(edit);
    return method === 'findById' && answer !== null ? edit(answer as KeyRecord) : answer;
  });
}

// ── Keyrings ─────────────────────────────────────────────────────────────────────────────────────

type Operation = OperationOf<typeof policy>;
type Common = Partial<Omit<KeyringOptions, 'policy' | 'catalog'>>;

/** The options of `setUp`. */
export interface RingOptions<C extends Catalog = typeof catalog, Op extends string = Operation>
  extends Common {
  /** Another policy. */
  readonly policy?: Policy<Op, C> | undefined;
  /** Makes a keyring with a catalog alone. */
  readonly catalog?: C | undefined;
}

/** Makes a keyring over a fresh store and a stopped clock, with the options of a test. */
export function setUp<C extends Catalog = typeof catalog, Op extends string = Operation>(
  options: RingOptions<C, Op> = {},
) {
  const clock = stoppedClock();
  const store = options.store ?? memoryStore();
  const events: KeyringEvent[] = [];
  // Writes every use by default.
  const usage = { granularityMs: 0 };
  const always = { prefix: 'acme', peppers: [PEPPER], now: clock.now, usage };
  const guarding = options.catalog === undefined && { policy };
  const listening = { onEvent: (event: KeyringEvent) => events.push(event) };
  const all: unknown = { ...listening, ...always, ...guarding, ...options, store };
  const keyring = createKeyring(all as KeyringOptions<C, Op>);
  return { keyring, store, clock, events };
}

/** A keyring over the catalog of these tests, with any policy. */
export type Ring = Keyring<typeof catalog>;

/** The minimal input of `issue`. */
export const PLAIN = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' } as const;
/** An authority that may do everything to the keys of its entity. */
export const AUTHORITY = { entityId: OWN, scopes: 'all' } as const;

export const issue = (keyring: Ring): Promise<IssuedKey> => keyring.issue(PLAIN, AUTHORITY);

/** The fields of a request body, unchecked, over the minimal input of `issue`. */
export const untypedInput = (over: object): IssueInput<never> => untyped({ ...PLAIN, ...over });

export const bearer = (credential: string): string => `Bearer ${credential}`;

/** Makes a key in a fresh store, and a second keyring that reads that store through `through`. */
export async function readThrough(
  through: (store: KeyStore) => KeyStore,
  options: RingOptions = {},
) {
  const store = memoryStore();
  const { keyring } = setUp({ ...options, store });
  const { key, info } = await issue(keyring);
  return { ...setUp({ ...options, store: through(store) }), key, info, store };
}

/** Finds the row of a key like an operator would. */
export async function rowOf(store: KeyStore, keyId: string): Promise<KeyRecord> {
  const row = await store.findById(keyId);
  if (row === null) throw new Error(`the store has no ${keyId}`);
  return row;
}

/** Returns as text everything that a store holds for the entities of these tests. */
export async function dump(store: KeyStore): Promise<string> {
  const lists = [OWN, OTHER, THIRD].map((entityId) =>
    store.list({ prefix: 'acme', entityId, after: null, limit: 1000 }),
  );
  return JSON.stringify(await Promise.all(lists));
}

// ── What was thrown ──────────────────────────────────────────────────────────────────────────────
// Helpers: if one fails, the report points at the line of the test.

/** Turns a guard, which throws synchronously, into an argument of `denied` and `thrown`. */
export const rejecting = (act: () => unknown) => async (): Promise<unknown> => act();

/**
 * Returns the error that `act` rejects with. A synchronous throw fails the test, because every
 * operation returns a promise.
 */
export const thrown = vi.defineHelper(async (act: () => Promise<unknown>): Promise<unknown> => {
  let promise: Promise<unknown>;
  try {
    promise = act();
  } catch (error) {
    throw new Error('threw synchronously', { cause: error });
  }
  return promise.then(
    () => {
      throw new Error('was not refused');
    },
    (error: unknown) => error,
  );
});

/** Asserts an `AccessError` by code and reason, and returns it. */
export const denied = vi.defineHelper(
  async (act: () => Promise<unknown>, code: AccessErrorCode, reason: DenialReason) => {
    const error = await thrown(act);
    if (!isAccessError(error)) throw error;
    expect({ code: error.code, reason: error.reason }).toEqual({ code, reason });
    expect(error).toBeInstanceOf(AccessError);
    return error;
  },
);

/** Asserts an `InputError` by its field and message, and returns it. */
export const inputError = vi.defineHelper(
  async (act: () => Promise<unknown>, field: string, message: RegExp): Promise<InputError> => {
    const error = await thrown(act);
    if (!isInputError(error)) throw error;
    expect(error.field).toBe(field);
    expect(error.message).toMatch(message);
    expect(error).toBeInstanceOf(TypeError);
    return error;
  },
);

/** Asserts a `StoreError`, and returns it. */
export const storeError = vi.defineHelper(
  async (act: () => Promise<unknown>): Promise<StoreError> => {
    const error = await thrown(act);
    if (!isStoreError(error)) throw error;
    expect(error).toBeInstanceOf(StoreError);
    return error;
  },
);

/**
 * Asserts a `TypeError` that keyscope wrote: it says what is wrong, and does not come from the
 * engine.
 */
export const typeError = vi.defineHelper(
  async (act: () => Promise<unknown>, message: RegExp): Promise<void> => {
    const error = await thrown(act);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as TypeError).message).toMatch(message);
  },
);

/** Asserts that `issue` refuses an input with a `TypeError` before it asks the store. */
export async function issueRefused(
  over: object,
  message: RegExp,
  under: { readonly authority: unknown } = { authority: AUTHORITY },
): Promise<void> {
  const { store, calls } = recording(memoryStore());
  const { keyring, events } = setUp({ store });
  await typeError(() => keyring.issue(untypedInput(over), untyped(under.authority)), message);
  expect({ calls, events }).toEqual({ calls: [], events: [] });
}

/** Returns the value without its type, as a caller in JavaScript can pass it. */
export const untyped = <T>(value: unknown): T => value as T;
