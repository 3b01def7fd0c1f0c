/**
 * What is measured: the ways from a header to a caller who holds one scope. Each is filled with
 * `count` keys of its own, every one of which holds the same four scopes.
 */
import type { Keyring, KeyStore } from 'keyscope';
import { createKeyring, requireScopes } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import { type Caller, check, digest } from './by-hand.ts';
import type { Contender, Open } from './contender.ts';
import { ContractFloor } from './contract-floor.ts';
import {
  catalog,
  ENTITY,
  EXPIRES,
  fill,
  type Headers,
  HeaderValues,
  idOf,
  NEEDED,
  newKeys,
  PEPPERS,
  PREFIX,
  recordOf,
  SCOPES,
} from './keys.ts';
import { betterAuth } from './peers/better-auth.ts';
import { jose } from './peers/jose.ts';
import { prefixedApiKey } from './peers/prefixed-api-key.ts';

/** Every key has been seen once, as in a service that has run for a while. */
async function seen(contender: Contender): Promise<Contender> {
  const { values } = contender;
  for (let i = 0; i < values.count; i++) await contender.enter([values.headers(i)], NEEDED);
  return contender;
}

// ── By hand ──────────────────────────────────────────────────────────────────────────────────────

export function callerOf(index: number): Caller {
  return {
    id: idOf(index),
    name: `integration ${index}`,
    entity: ENTITY,
    scopes: new Set<string>(SCOPES),
    expiresAt: EXPIRES,
    revokedAt: null,
  };
}

interface ByHand extends Contender {
  enter(list: readonly Headers[], scope: string): string;
}

function byHand(count: number): ByHand {
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

/** The same behind an `await`, as in a handler whose look-up may be a database's one day. */
function byHandAwaited(count: number): Contender {
  const { values, enter: enterNow, id } = byHand(count);
  const one = async (headers: Headers, scope: string) => enterNow([headers], scope);
  async function enter(list: readonly Headers[], scope: string): Promise<string> {
    let last = '';
    for (const headers of list) last = await one(headers, scope);
    return last;
  }
  return { values, enter, id };
}

/** What the contract itself costs. */
async function contractFloor(count: number): Promise<Contender> {
  const values = new HeaderValues(newKeys(count), count);
  const records = Array.from({ length: count }, (_, index) => recordOf(index, values.key(index)));
  const floor = new ContractFloor(PREFIX, records);
  async function enter(list: readonly Headers[], scope: string): Promise<string> {
    let keyId = '';
    for (const { authorization } of list) {
      const principal = await floor.authenticate(authorization);
      floor.requireScopes(principal, [scope]);
      keyId = principal.keyId;
    }
    return keyId;
  }
  return seen({ values, enter, id: idOf });
}

// ── Ours ─────────────────────────────────────────────────────────────────────────────────────────

function contenderOf(
  keyring: Keyring<typeof catalog>,
  values: HeaderValues,
  id: (index: number) => string,
): Contender {
  async function enter(list: readonly Headers[], scope: string): Promise<string> {
    let keyId = '';
    for (const headers of list) {
      const principal = await keyring.authenticate(headers);
      requireScopes(principal, scope);
      keyId = principal.keyId;
    }
    return keyId;
  }
  return { values, enter, id };
}

function ours(count: number, wrap = (store: KeyStore) => store): Promise<Contender> {
  const filled = fill(count);
  const store = wrap(filled.store);
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers: 'none' });
  return seen(contenderOf(keyring, filled.values, idOf));
}

async function oursPeppered(count: number): Promise<Contender> {
  const store = memoryStore();
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers: PEPPERS });
  const input = { name: 'integration', scopes: SCOPES, expiresAt: new Date(EXPIRES) };
  const ids: string[] = [];
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const { key, info } = await keyring.issue(input, { entityUuid: ENTITY, scopes: 'all' });
    ids.push(info.keyId);
    keys.push(key);
  }
  const values = new HeaderValues(keys, count);
  return seen(contenderOf(keyring, values, (index) => ids[index] ?? ''));
}

function oursCached(count: number): Promise<Contender> {
  const cache = new LRUCache<string, object>({ max: count });
  return ours(count, (store) => cacheStore(store, { cache, maxStalenessMs: 30_000 }));
}

/** By name. What is ours says so. */
export const CONTENDERS: Readonly<Record<string, Open>> = {
  'plain check': byHand,
  'plain check, awaited': byHandAwaited,
  'contract floor': contractFloor,
  keyscope: (count) => ours(count),
  'keyscope, pepper and seal': oursPeppered,
  'keyscope, cacheStore': oursCached,
  'prefixed-api-key and a Map': prefixedApiKey,
  'better-auth, memory adapter': (count) => betterAuth(count, 'database'),
  'better-auth, secondary storage': (count) => betterAuth(count, 'secondary-storage'),
  'jose, JWT with HS256': (count) => jose(count, 'HS256'),
  'jose, JWT with RS256': (count) => jose(count, 'RS256'),
};
