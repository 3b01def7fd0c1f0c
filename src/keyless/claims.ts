/** Compares the claims of a token with those that a key trusts: exactly, as texts. */
import type { Trust } from '../core/trust.js';

/** Checks whether a token has every claim of a trust, with one of its values. */
export function hasTrustedClaims(trust: Trust, payload: object): boolean {
  return Object.entries(trust.claims).every(([name, wanted]) => {
    const value = claimIn(payload, name);
    const values = typeof wanted === 'string' ? [wanted] : wanted;
    return typeof value === 'string' && values.includes(value);
  });
}

/** Finds a claim by its name, or by a JSON Pointer (RFC 6901) if the name begins with `/`. */
function claimIn(payload: object, name: string): unknown {
  const path = name.startsWith('/') ? name.slice(1).split('/').map(unescapeToken) : [name];
  let value: unknown = payload;
  for (const member of path) {
    // Never into a list: an index says nothing about who is meant.
    const isInside = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isInside || !Object.hasOwn(value as object, member)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[member];
  }
  return value;
}

/** In this order, so that `~01` becomes `~1` (RFC 6901 §4). */
function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}
