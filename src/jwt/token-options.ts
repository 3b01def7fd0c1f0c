/** Reads the options that issuers and verifiers share. */
import { assert, assertFunction, readInteger, readStrings } from '../core/input.js';
import { type Clock, systemClock } from '../core/outage.js';
import { ALGORITHM_INSTEAD, isTokenAlgorithm, type TokenAlgorithm } from './algorithms.js';
import { isName } from './claims.js';

const DEFAULT_TTL_SECONDS = 900;
const MAX_TTL_SECONDS = 86_400;

/** Reads the name of an issuer or an audience, which may be any text except an empty one. */
export function readIdentifier(value: unknown, what: 'issuer' | 'audience'): string {
  assert(typeof value === 'string' && value !== '', `${what}: pass a text that is not empty`);
  return value;
}

/** Reads the name of a signing key. */
export function readKeyName(value: unknown): string {
  assert(isName(value), 'kid: pass a text of 1 to 128 characters');
  return value;
}

/** Reads the maximum lifetime of a token, in seconds. */
export function readTtl(value: unknown, what: 'ttlSeconds' | 'maxTtlSeconds'): number {
  return readInteger(value === undefined ? DEFAULT_TTL_SECONDS : value, 1, MAX_TTL_SECONDS, what);
}

/** Reads a clock. Not checked: what it returns. */
export function readClockOption(now: unknown): Clock {
  assertFunction(now, 'now');
  return (now as Clock | undefined) ?? systemClock;
}

/** Reads the accepted algorithms. */
export function readAlgorithms(given: unknown): TokenAlgorithm[] {
  const rule = { holds: isTokenAlgorithm, instead: ALGORITHM_INSTEAD };
  const algorithms = readStrings(given, 'algorithms', rule);
  assert(algorithms.length > 0, 'algorithms: pass at least one');
  return algorithms as TokenAlgorithm[];
}
