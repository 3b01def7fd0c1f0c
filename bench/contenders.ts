/**
 * What is measured: the ways from a header to a caller who holds one scope. Each is filled with
 * `count` keys of its own, every one of which holds the same four scopes.
 */

import type { Keyring, KeyStore } from 'keyscope';
import { createKeyring, requireScopes } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import { lookUp } from './floor.ts';
import {
  catalog,
  ENTITY,
  EXPIRES,
  fill,
  type Headers,
  HeaderValues,
  idOf,
  newKeys,
  PEPPERS,
  PREFIX,
  SCOPES,
} from './keys.ts';
import { betterAuth } from './peers/better-auth.ts';
import { jose } from './peers/jose.ts';
import { prefixedApiKey } from './peers/prefixed-api-key.ts';
import { type Caller, check, digest } from './plain.ts';

export interface Door {
  readonly values: HeaderValues;
  /**
   * Lets each of a list in who holds the scope, one after another, and answers the last one's id;
   * throws or rejects where it does not. A list, so that a door is charged for its own promises and
   * for none of the benchmark's.
   */
  enter(list: readonly Headers[], scope: string): string | Promise<string>;
  /** Whose key it is. */
  id(index: number): string;
}

export type Open = (count: number) => Door | Promise<Door>;

/** Every key has been seen once, as in a service that has run for a while. */
export async function seen(door: Door): Promise<Door> {
  for (let i = 0; i < door.values.count; i++)
    await door.enter([door.values.headers(i)], SCOPES[0] as string);
  return door;
}

// ── By hand ───────────────────────────────────────────────────────────────────────────────────────────

export function callerOf(index: number): Caller {
  const scopes = new Set<string>(SCOPES);
  return {
    id: idOf(index),
    name: `integration ${index}`,
    entity: ENTITY,
    scopes,
    expiresAt: EXPIRES,
    revokedAt: null,
  };
}

function plain(count: number): Door {
  const values = new HeaderValues(newKeys(count), count);
  const keys = new Map<string, Caller>();
  for (let i = 0; i < count; i++) keys.set(digest(values.key(i)), callerOf(i));
  const enter = (list: readonly Headers[], scope: string) => {
    let id = '';
    for (const headers of list) id = check(keys, headers, scope).id;
    return id;
  };
  return { values, enter, id: idOf };
}

/** The same behind an `await`, as in a handler whose look-up may be a database's one day. */
function plainAwaited(count: number): Door {
  const { values, enter: enterNow, id } = plain(count);
  const one = async (headers: Headers, scope: string) => enterNow([headers], scope);
  const enter = async (list: readonly Headers[], scope: string) => {
    let last = '';
    for (const headers of list) last = await one(headers, scope);
    return last;
  };
  return { values, enter, id };
}

function floor(count: number): Door {
  const values = new HeaderValues(newKeys(count), count);
  const ids = new Map(Array.from({ length: count }, (_, i) => [digest(values.key(i)), idOf(i)]));
  const enter = (list: readonly Headers[]) => {
    let id = '';
    for (const { authorization } of list) id = lookUp(ids, authorization.slice(7)) ?? id;
    return id;
  };
  return { values, enter, id: idOf };
}

// ── Ours ──────────────────────────────────────────────────────────────────────────────────────────────

export function doorOf(
  keyring: Keyring<typeof catalog>,
  values: HeaderValues,
  id: (index: number) => string,
): Door {
  const enter = async (list: readonly Headers[], scope: string) => {
    let id = '';
    for (const headers of list) {
      const principal = await keyring.authenticate(headers);
      requireScopes(principal, scope);
      id = principal.keyId;
    }
    return id;
  };
  return { values, enter, id };
}

function ours(count: number, wrap = (store: KeyStore) => store): Promise<Door> {
  const { store, values } = fill(count);
  return seen(
    doorOf(
      createKeyring({ prefix: PREFIX, catalog, store: wrap(store), peppers: 'none' }),
      values,
      idOf,
    ),
  );
}

async function oursPeppered(count: number): Promise<Door> {
  const keyring = createKeyring({
    prefix: PREFIX,
    catalog,
    store: memoryStore(),
    peppers: PEPPERS,
  });
  const input = { name: 'integration', scopes: SCOPES, expiresAt: new Date(EXPIRES) } as const;
  const ids: string[] = [];
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const { key, info } = await keyring.issue(input, { entityUuid: ENTITY });
    ids.push(info.keyId);
    keys.push(key);
  }
  return seen(doorOf(keyring, new HeaderValues(keys, count), (index) => ids[index] ?? ''));
}

const cached = (count: number) => (store: KeyStore) =>
  cacheStore(store, {
    cache: new LRUCache<string, object>({ max: count }),
    maxStalenessMs: 30_000,
  });

/** By name. What is ours says so. */
export const DOORS: Readonly<Record<string, Open>> = {
  'plain check': plain,
  'plain check, awaited': plainAwaited,
  'bare floor': floor,
  keyscope: (count) => ours(count),
  'keyscope, pepper and seal': oursPeppered,
  'keyscope, cacheStore': (count) => ours(count, cached(count)),
  'prefixed-api-key and a Map': prefixedApiKey,
  'better-auth, memory adapter': (count) => betterAuth(count, 'database'),
  'better-auth, secondary storage': (count) => betterAuth(count, 'secondary-storage'),
  'jose, JWT with HS256': (count) => jose(count, 'HS256'),
  'jose, JWT with RS256': (count) => jose(count, 'RS256'),
};
