/**
 * The service behind the adapter: a keyring that tests can break, and handlers that report who
 * called.
 */
import { type Catalog, defineScopes } from '../../core/catalog.js';
import type { EntityIds } from '../../core/entity.js';
import { definePolicy } from '../../core/policy.js';
import type { Principal } from '../../core/principal.js';
import type { KeyStore } from '../../core/store.js';
import { createKeyring } from '../../management/create-keyring.js';
import type { Keyring } from '../../management/keyring.js';
import { digestKey } from '../../notation/keys.js';
import { memoryStore } from '../../stores/memory/store.js';
import type { AdapterSetup } from './serve-adapter.js';

/** The entity that owns the keys, unless a test says otherwise. */
export const OWN = 'aaaaaaaa-0000-4000-8000-00000000000a';
/** An entity that every key can address. */
export const OTHER = 'bbbbbbbb-0000-4000-8000-00000000000b';
/** An entity that no key can address. */
export const FOREIGN = 'cccccccc-0000-4000-8000-00000000000c';

/** The text of a driver's error. */
export const DRIVER_TEXT = 'relation_of_keys_does_not_exist';

const PEPPER = { id: 'contract', secret: 'pepper-of-the-contract-which-no-answer-may-hold' };

type ReportsScope = 'reports:read' | 'reports:write';
type ReportsCatalog = Catalog<ReportsScope, never>;

/** The catalog of the service. */
export const catalog: ReportsCatalog = defineScopes({
  reports: { read: 'Read reports.', write: 'Write reports.' },
});

/** The keyring behind the adapter. */
export type ReportsKeyring = Keyring<ReportsCatalog, 'whoami' | 'readReports'>;

/** A call of a handler, with its arguments. */
export interface HandlerCall {
  readonly principal: Principal;
  readonly entityId: string;
}

/**
 * Functions that run before a look-up, an admission and the end of a handler. Tests replace them to
 * break or delay these.
 */
export interface Hooks {
  lookUp(digests: readonly string[]): Promise<void>;
  admit(): Promise<void>;
  handler(): void;
}

/** An issued key: its text and its id. */
export interface IssuedKey {
  readonly key: string;
  readonly keyId: string;
}

/** The service behind the adapter in one test. */
export interface AdapterService {
  readonly setup: AdapterSetup;
  /** The keyring itself. Calls to it are not recorded in `asked`. */
  readonly ring: ReportsKeyring;
  readonly hooks: Hooks;
  /** The handlers that ran. */
  readonly calls: HandlerCall[];
  /** The adapter's calls to the keyring. */
  readonly asked: string[];
  /** Texts that no answer may contain, each with a description. */
  readonly secrets: Map<string, string>;
  /** The keyring's clock, in milliseconds. */
  readonly clock: { now: number };
  /** Issues a key that lasts a second. */
  issue(scopes: readonly ReportsScope[], entityId?: string): Promise<IssuedKey>;
  /** Adds a key and its digest to the secrets, and returns the key. */
  watch(key: string): string;
}

/** The answer of a handler: which key called, and for which entity. */
export function handlerText(keyId: unknown, entityId: unknown): string {
  return `${String(keyId)} on ${String(entityId)}`;
}

/** Returns the key id of a value that an adapter passed on, which may not be a principal. */
export function keyIdOf(principal: unknown): unknown {
  const { keyId } = (principal ?? {}) as { readonly keyId?: unknown };
  return keyId;
}

/** Makes the service of one test. */
export function createService(entityIds: EntityIds = 'uuid'): AdapterService {
  const clock = { now: 1_000_000_000_000 };
  const hooks: Hooks = { lookUp: async () => {}, admit: async () => {}, handler: () => {} };
  const calls: HandlerCall[] = [];
  const asked: string[] = [];
  const secrets = new Map([
    [PEPPER.secret, 'the pepper'],
    [DRIVER_TEXT, "the text of a driver's error"],
  ]);
  const ring = createKeyring({
    prefix: 'acme',
    policy: definePolicy(catalog, { whoami: [], readReports: ['reports:read'] }),
    store: breakableStore(hooks),
    peppers: [PEPPER],
    entityIds,
    now: () => clock.now,
  });

  function watch(key: string): string {
    // Without the prefix of the key and the scheme of the digest, which are public.
    secrets.set(key.slice('acme_'.length), 'a key');
    secrets.set(digestKey(key, PEPPER).replace(/^.*\$/, ''), 'a digest');
    return key;
  }

  async function issue(scopes: readonly ReportsScope[], entityId = OWN): Promise<IssuedKey> {
    const expiresAt = new Date(clock.now + 1000);
    const input = { name: 'contract', scopes, expiresAt, accessibleEntities: [OTHER] };
    const authority = { entityId, entities: [OTHER], scopes: 'all' } as const;
    const { key, info } = await ring.issue(input, authority);
    return { key: watch(key), keyId: info.keyId };
  }

  function handle(principal: Principal, entityId: string): string {
    calls.push({ principal, entityId });
    hooks.handler();
    return handlerText(keyIdOf(principal), entityId);
  }

  const keyring = recordCalls(ring, asked, hooks);
  const setup = createSetup(keyring, handle);
  return { setup, ring, hooks, calls, asked, secrets, clock, issue, watch };
}

function createSetup(keyring: ReportsKeyring, handle: AdapterSetup['handle']): AdapterSetup {
  return {
    keyring,
    // Contains a quote and a backslash, which hand-written challenges get wrong.
    realm: 'the "reports" \\ of acme',
    resourceMetadata: 'https://acme.example/metadata',
    handle,
  };
}

function breakableStore(hooks: Hooks): KeyStore {
  const rows = memoryStore();
  return {
    ...rows,
    async findByDigest(digests) {
      await hooks.lookUp(digests);
      return rows.findByDigest(digests);
    },
  };
}

/** Wraps the keyring for the adapter, to record its calls. */
function recordCalls(ring: ReportsKeyring, asked: string[], hooks: Hooks): ReportsKeyring {
  return Object.freeze<ReportsKeyring>({
    ...ring,
    verify(key) {
      asked.push('verify');
      return ring.verify(key);
    },
    authenticate(request) {
      asked.push('authenticate');
      return ring.authenticate(request);
    },
    async admit(request, input) {
      // A wrong adapter may omit the second argument.
      const { operation } = (input ?? {}) as { readonly operation?: unknown };
      asked.push(`admit ${String(operation)}`);
      await hooks.admit();
      return ring.admit(request, input);
    },
  });
}
