/** Puts the operations together: configuration in, one frozen object out. */
import { type Admission, type AdmitInput, admitToken, authenticateBy, createAdmit } from './admit.js';
import type { RequestLike } from './authorization.js';
import type { Catalog, PatternOf } from './catalog.js';
import type { Authority, Clock, Context, EventListener, Verify } from './context.js';
import { expect, fields, whole } from './input.js';
import { type IssueInput, issue } from './issue.js';
import { keyFormat } from './key.js';
import type { Advice, AdviseInput, ListInput, ListPage, PepperUse } from './list.js';
import { advise, get, list, pepperReport } from './list.js';
import { guardStore, readClock } from './outage.js';
import type { Principal } from './principal.js';
import type { IssuedKey, KeyInfo } from './record.js';
import { revoke } from './revoke.js';
import { type RotateInput, rotate } from './rotate.js';
import { type Peppers, platformRandom, prepareSchemes, type RandomBytes, UNPEPPERED } from './secret.js';
import type { KeyStore } from './store.js';
import type { TokenVerifier } from './tokens.js';
import { createUsage } from './usage.js';
import { createVerifier } from './verify.js';

/** How a service keeps its keys. */
export interface KeyringOptions<C extends Catalog = Catalog> {
  /** 1 to 20 lower-case letters, digits and inner `_`: what makes a leaked key recognisable. */
  readonly prefix: string;
  readonly catalog: C;
  readonly store: KeyStore;
  /** The first digests new keys, all are tried on verify. `'none'`: whoever writes the database makes keys. */
  readonly peppers: Peppers;
  /** Takes short-lived tokens at the same door. */
  readonly tokens?: TokenVerifier | undefined;
  /** Looks the key behind a token up on each use, so that its end ends the token. Default: true. */
  readonly checkParent?: boolean | undefined;
  /** How long an asynchronous store may take, in milliseconds. Default: 2,000. */
  readonly storeTimeoutMs?: number | undefined;
  /**
   * Takes keys made without a pepper beside peppered ones, until a date: for a service that gains its first
   * pepper while such keys are out. Until then whoever can write the database can insert a key of their own
   * choosing, because nothing seals its row. Rotate those keys, then take this out.
   */
  readonly insecureAcceptUnpeppered?: { readonly until: Date } | undefined;
  /** Milliseconds since the epoch; for tests. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** Bytes for keys and ids; for tests. Default: the platform's secure source. */
  readonly random?: RandomBytes | undefined;
  /** Told of keys made, revoked and rotated, and of every admit; whatever it throws is dropped. */
  readonly onEvent?: EventListener | undefined;
}

/** A service's keys. Made by {@link createKeyring}; frozen; no method needs `this`. */
export interface Keyring<C extends Catalog = Catalog> {
  /**
   * Makes a key. `result.key` is the plaintext, and nothing brings it back.
   *
   * The first argument may come from a request; the second is the caller's own authority and never does.
   * After a `StoreError` it is unknown whether the record was written; nobody has its key: issue again.
   *
   * @throws TypeError on malformed input or unknown fields; nothing was written.
   * @throws AccessError `ceiling_exceeded` with `excess`.
   * @throws StoreError.
   */
  issue(input: IssueInput<PatternOf<C>>, authority: Authority): Promise<IssuedKey>;
  /**
   * Ends a key at once and for good. Idempotent; after a `StoreError`, call it again.
   *
   * @throws AccessError `not_found`.
   * @throws StoreError.
   */
  revoke(keyId: string, authority: Authority): Promise<void>;
  /**
   * Replaces a key by one with the same name, scopes, entities, justification and metadata.
   *
   * The predecessor lives on for `overlapMs`, and no longer than its own expiry. After a `StoreError` the
   * predecessor may be retired while nobody has the successor: `list` shows both; revoke the successor, issue.
   *
   * @throws AccessError `not_found`; `invalid_token` where the predecessor would not authenticate, with the
   *   reason; `ceiling_exceeded` with `excess`; `conflict` where somebody else ended it first.
   * @throws TypeError on malformed input; nothing was written.
   * @throws StoreError.
   */
  rotate(keyId: string, input: RotateInput, authority: Authority): Promise<IssuedKey>;
  /**
   * One page of an entity's keys, ended ones included, newest first. Not checked: their seals.
   *
   * @throws TypeError on a cursor that is not `next` of a page before.
   * @throws StoreError.
   */
  list(input: ListInput | undefined, authority: Authority): Promise<ListPage>;
  /**
   * One key, or `null` where this entity has none with this id. Not checked: its seal.
   *
   * @throws StoreError.
   * @throws TypeError on a malformed authority.
   */
  get(keyId: string, authority: Authority): Promise<KeyInfo | null>;
  /**
   * Names the granted scopes that an integration does not call: not exercised by `admit` for `unusedForMs`, or never
   * in a key at least that old. Scopes never change: issue a key with fewer, move over, revoke this one.
   *
   * Writes the usage noted in this process first. Not checked: the seal; what other processes have not written yet
   * (some seconds), and scopes that handlers require beside the policy.
   *
   * @throws AccessError `not_found`.
   * @throws TypeError on malformed input.
   * @throws StoreError.
   * @example
   * const { unusedScopes } = await keyring.advise(keyId, { unusedForMs: 90 * 86_400_000 }, { entityUuid });
   */
  advise(keyId: string, input: AdviseInput, authority: Authority): Promise<Advice>;
  /**
   * How many live keys of all entities stand under each pepper, and when one of them was last used: taking a pepper
   * out of the configuration ends the keys made under it. For operators; reads the whole table where the store has
   * no better way. Writes the usage noted in this process first.
   *
   * @throws StoreError.
   * @example
   * const old = (await keyring.pepperReport()).find(({ pepper }) => pepper === '2024');
   * if (old === undefined || old.live === 0) console.log('the pepper 2024 can be taken out');
   */
  pepperReport(): Promise<readonly PepperUse[]>;
  /**
   * Verifies a key: a pure read, no write ever. Not checked: scopes and entities.
   *
   * @throws AccessError `invalid_token`, whatever the reason.
   * @throws StoreError. Never synchronously.
   */
  verify(key: unknown): Promise<Principal>;
  /**
   * Verifies the bearer credential of a request: a fetch `Request` or `Headers`, anything with Node's
   * `rawHeaders`, a plain header object, a string, a list of `Authorization` values, or nothing.
   *
   * @throws AccessError `missing_credentials`, `invalid_request`, `invalid_token`.
   * @throws StoreError.
   */
  authenticate(request?: RequestLike): Promise<Principal>;
  /**
   * Guards one operation: authenticates, authorizes by the policy, emits the event, records the usage.
   *
   * @throws AccessError as `authenticate` and `policy.authorize` do.
   * @throws StoreError.
   * @throws TypeError on an operation that the policy does not have.
   */
  admit<Operation extends string>(request: RequestLike, input: AdmitInput<Operation>): Promise<Admission>;
  /**
   * Writes the usage noted so far: on shutdown, or in a Worker's `waitUntil`.
   *
   * @throws StoreError; what was noted is kept for the next attempt.
   */
  flush(): Promise<void>;
}

// biome-ignore format: one line
const OPTIONS = ['prefix', 'catalog', 'store', 'peppers', 'tokens', 'checkParent', 'storeTimeoutMs',
  'insecureAcceptUnpeppered', 'now', 'random', 'onEvent'] as const;

/**
 * Makes a keyring. Options are checked and copied here: a bad configuration fails at start-up.
 *
 * Not checked: whether the store can be reached.
 *
 * @throws TypeError that says what to write instead.
 * @example
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' });
 */
export function createKeyring<C extends Catalog>(options: KeyringOptions<C>): Keyring<C> {
  const given = fields(options, OPTIONS, 'createKeyring') as KeyringOptions<C>;
  const { catalog, peppers, tokens, checkParent = true, storeTimeoutMs = 2000 } = given;
  const { now = Date.now, random = platformRandom, onEvent } = given;
  for (const part of [now, random, onEvent === undefined ? now : onEvent, tokens === undefined ? now : tokens?.verify])
    expect(typeof part === 'function', 'now, random, onEvent and tokens.verify: pass functions or leave them out');
  expect(typeof catalog?.expand === 'function', 'catalog: pass what defineScopes returned');
  expect(typeof checkParent === 'boolean', 'checkParent: pass true or false');
  const [schemes, until, clock] = [prepareSchemes(peppers), readUntil(given), () => readClock(now)];
  const withUnpeppered = [...schemes, UNPEPPERED];
  const context = Object.freeze<Context>({
    format: keyFormat(given.prefix),
    catalog,
    known: new Set(catalog.all),
    schemes,
    accepted: () => (until !== null && clock() < until ? withUnpeppered : schemes),
    store: guardStore(given.store, whole(storeTimeoutMs, 1, 600_000, 'storeTimeoutMs')),
    clock,
    random,
    // A broken audit sink is its owner's to watch; it neither opens nor closes a door. What is thrown within an async
    // function is a rejection too.
    emit: onEvent && ((event) => void (async () => onEvent(Object.freeze(event)))().catch(() => {})),
  });
  const { verify, admit } = createVerifier(context);
  const check = checkParent ? admit : null;
  const onJwt: Verify = tokens ? async (jwt) => admitToken(context, check, await tokens.verify(jwt as string)) : verify;
  const authenticate: Verify = (request) => authenticateBy(verify, onJwt, request);
  const usage = createUsage(context);
  return Object.freeze<Keyring<C>>({
    issue: (input, authority) => issue(context, input, authority),
    revoke: (keyId, authority) => revoke(context, keyId, authority),
    rotate: (keyId, input, authority) => rotate(context, admit, keyId, input, authority),
    list: (input, authority) => list(context, input, authority),
    get: (keyId, authority) => get(context, keyId, authority),
    advise: (keyId, input, by) => usage.flush().then(() => advise(context, keyId, input, by)),
    pepperReport: () => usage.flush().then(() => pepperReport(context)),
    verify: async (key) => verify(key),
    authenticate: async (request) => authenticate(request),
    admit: createAdmit(context, authenticate, usage),
    flush: usage.flush,
  });
}

function readUntil({ insecureAcceptUnpeppered: accept, peppers }: KeyringOptions): number | null {
  if (accept === undefined) return null;
  const { until } = fields(accept, ['until'], 'insecureAcceptUnpeppered');
  const time = until instanceof Date && peppers !== 'none' ? new Date(until).getTime() : Number.NaN;
  expect(!Number.isNaN(time), 'insecureAcceptUnpeppered: pass { until: Date }, beside peppers');
  return time;
}
