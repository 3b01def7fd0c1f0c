/**
 * The contenders: ways from a header to a caller who holds one scope. Each gets `count` keys, and
 * every key holds the same four scopes.
 */
import { createKeyring, type KeyStore, type Peppers, requireScopes } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import { type Caller, check, digest } from './by-hand.ts';
import {
  catalog,
  ENTITY,
  EXPIRES,
  type Headers,
  HeaderValues,
  idOf,
  NEEDED,
  newKeys,
  PEPPERS,
  PREFIX,
  SCOPES,
} from './keys.ts';

export interface Contender {
  readonly values: HeaderValues;
  /**
   * Lets the caller of each header in, one after another, and returns the last one's id; throws or
   * rejects a caller without the scope. A list, so that a contender pays for its own promises and
   * for none of the benchmark's.
   */
  enter(list: readonly Headers[], scope: string): string | Promise<string>;
  /** Whose key it is. */
  id(index: number): string;
}

export type Open = (count: number) => Contender | Promise<Contender>;

// ── By hand ──────────────────────────────────────────────────────────────────────────────────────

function callerOf(index: number): Caller {
  return {
    id: idOf(index),
    name: `integration ${index}`,
    entity: ENTITY,
    scopes: new Set<string>(SCOPES),
    expiresAt: EXPIRES,
    revokedAt: null,
  };
}

function byHand(count: number): Contender {
  const values = new HeaderValues(newKeys(count), count);
  const keys = new Map<string, Caller>();
  for (let i = 0; i < count; i++) keys.set(digest(values.key(i)), callerOf(i));
  function enter(list: readonly Headers[], scope: string): string {
    let id = '';
    for (const headers of list) id = check(keys, headers, scope).id;
    return id;
  }
  return { values, enter, id: idOf };
}

// ── Ours ─────────────────────────────────────────────────────────────────────────────────────────

/** Every key has been seen once, as in a service that has run for a while. */
async function seen(contender: Contender): Promise<Contender> {
  const { values } = contender;
  for (let i = 0; i < values.count; i++) await contender.enter([values.headers(i)], NEEDED);
  return contender;
}

async function ours(
  count: number,
  peppers: Peppers = 'none',
  wrap = (store: KeyStore) => store,
): Promise<Contender> {
  const store = wrap(memoryStore());
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers });
  const input = { name: 'integration', scopes: SCOPES, expiresAt: new Date(EXPIRES) };
  const ids: string[] = [];
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const { key, info } = await keyring.issue(input, { entityId: ENTITY, scopes: 'all' });
    ids.push(info.keyId);
    keys.push(key);
  }
  const values = new HeaderValues(keys, count);
  async function enter(list: readonly Headers[], scope: string): Promise<string> {
    let keyId = '';
    for (const headers of list) {
      const principal = await keyring.authenticate(headers);
      requireScopes<string>(principal, scope);
      keyId = principal.keyId;
    }
    return keyId;
  }
  return seen({ values, enter, id: (index) => ids[index] ?? '' });
}

function oursCached(count: number): Promise<Contender> {
  const cache = new LRUCache<string, object>({ max: count });
  return ours(count, 'none', (store) => cacheStore(store, { cache, maxStalenessMs: 30_000 }));
}

export const PLAIN = 'plain check by hand';
export const KEYSCOPE = 'keyscope';
export const PEPPERED = 'keyscope, pepper and seal';
export const CACHED = 'keyscope, cacheStore';

/** By name. */
export const OWN: Readonly<Record<string, Open>> = {
  [PLAIN]: byHand,
  [KEYSCOPE]: (count) => ours(count),
  [PEPPERED]: (count) => ours(count, PEPPERS),
  [CACHED]: oursCached,
};
