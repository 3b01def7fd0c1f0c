/**
 * The yardstick: API keys by hand, as a careful backend engineer writes them in a service of their
 * own. Digests and no keys are stored, expiry and revocation are looked at, the scope is required,
 * and a refusal is an `Error` with a status that a route or a framework's error handler turns into
 * an answer. Everything is synchronous and in a `Map`.
 *
 * Unlike keyscope it has no checksum, prefix for scanners, pepper, seal, reserved scopes,
 * entities, rotation, usage or other store, and it does not look for repeated or oversized
 * headers.
 */
import { hash } from 'node:crypto';
import type { Headers } from './keys.ts';

export interface Caller {
  readonly id: string;
  readonly name: string;
  readonly entity: string;
  readonly scopes: ReadonlySet<string>;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

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

export function check(
  keys: ReadonlyMap<string, Caller>,
  headers: Partial<Headers>,
  scope: string,
): Caller {
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
