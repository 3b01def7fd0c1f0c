/**
 * The yardstick: API keys by hand, as a careful backend engineer writes them in a service of their
 * own. Digests and no keys are stored, expiry and revocation are looked at, the scope is required,
 * and a refusal is an `Error` with a status that a route or a framework's error handler turns into
 * an answer. Everything is synchronous and in a `Map`.
 *
 * What it does without, beside keyscope: a checksum, a prefix for scanners, a pepper, a seal,
 * reserved scopes, entities, rotation, usage, any other store, and repeated or oversized headers.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import type { Headers } from './keys.ts';

export interface Caller {
  readonly id: string;
  readonly name: string;
  readonly entity: string;
  readonly scopes: ReadonlySet<string>;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

export type Keys = Map<string, Caller>;

export class HttpError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const BEARER = /^Bearer +([\w-]{20,100})$/i;

export function digest(key: string): string {
  return hash('sha256', key, 'hex');
}

export function check(keys: Keys, headers: Partial<Headers>, scope: string): Caller {
  const key = BEARER.exec(headers.authorization ?? '')?.[1];
  if (key === undefined) throw new HttpError(401, 'Unauthorized');
  const caller = keys.get(digest(key));
  if (caller === undefined || caller.revokedAt !== null) throw new HttpError(401, 'Unauthorized');
  if (caller.expiresAt !== null && caller.expiresAt <= Date.now()) {
    throw new HttpError(401, 'Unauthorized');
  }
  if (!caller.scopes.has(scope)) throw new HttpError(403, 'Forbidden');
  return caller;
}

export interface Wish {
  readonly name: string;
  readonly entity: string;
  readonly scopes: readonly string[];
  readonly expiresAt: number | null;
}

export interface Issued {
  readonly key: string;
  readonly caller: Caller;
}

/** Makes a key of 192 bits, keeps its digest, and returns it: nobody can ask for it again. */
export function issue(keys: Keys, known: ReadonlySet<string>, wish: Wish): Issued {
  const { name, entity, expiresAt } = wish;
  if (name === '' || name.length > 100) throw new HttpError(400, 'name: 1 to 100 characters');
  if (expiresAt !== null && expiresAt <= Date.now()) {
    throw new HttpError(400, 'expiresAt: in the past');
  }
  for (const scope of wish.scopes) {
    if (!known.has(scope)) throw new HttpError(400, `unknown scope: ${scope}`);
  }
  const key = `key_${randomBytes(24).toString('base64url')}`;
  const caller: Caller = {
    id: randomUUID(),
    name,
    entity,
    scopes: new Set(wish.scopes),
    expiresAt,
    revokedAt: null,
  };
  keys.set(digest(key), caller);
  return { key, caller };
}
