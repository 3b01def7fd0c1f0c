/**
 * Shared fixtures of the management tests: every call that takes an authority, assertions that an
 * authority is rejected, and a store in which something else happens at a chosen moment.
 */
import type { KeyRecord, KeyringEvent, KeyStore } from 'keyscope';
import { isInputError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { expect } from 'vitest';
import {
  AUTHORITY,
  type Method,
  NOWHERE,
  OWN,
  PLAIN,
  type Ring,
  recording,
  setUp,
  thrown,
  untyped,
  wrap,
} from './keyring.ts';

// ── Every call ──────────────────────────────────────────────────────────────────────────────────

/** A management call on a key, with an authority of unchecked type. */
export type ManagementCall = (
  keyring: Ring,
  authority: unknown,
  keyId?: unknown,
) => Promise<unknown>;

/** The calls that take only a key id and an authority. */
export const CALLS_ON_A_KEY = [
  'revoke',
  'revokeLineage',
  'suspend',
  'resume',
  'withdraw',
  'get',
] as const;

function onKey(name: (typeof CALLS_ON_A_KEY)[number]): ManagementCall {
  return (keyring, authority, keyId = NOWHERE) => keyring[name](untyped(keyId), untyped(authority));
}

/** Every call that takes an authority, with its minimal other arguments. */
export const CALLS: Readonly<Record<string, ManagementCall>> = {
  issue: (keyring, authority) => keyring.issue(PLAIN, untyped(authority)),
  rotate: (keyring, authority, keyId = NOWHERE) =>
    keyring.rotate(untyped(keyId), { overlapMs: 0 }, untyped(authority)),
  list: (keyring, authority) => keyring.list({}, untyped(authority)),
  ...Object.fromEntries(CALLS_ON_A_KEY.map((name) => [name, onKey(name)])),
};

/** The same calls for `it.each`. */
export const EACH_CALL: readonly (readonly [string, ManagementCall])[] = Object.entries(CALLS);

// ── Refusals ────────────────────────────────────────────────────────────────────────────────────

/** A keyring that records all calls to its store and its listener. */
export function watched() {
  const { store, calls } = recording(memoryStore());
  const { keyring, events } = setUp({ store });
  return { keyring, told: { calls, events } };
}

const NOTHING = { calls: [], events: [] };

/** Asserts that a call is rejected as malformed before it reaches the store or the listener. */
async function refusedUntold(act: (keyring: Ring) => Promise<unknown>): Promise<TypeError> {
  const { keyring, told } = watched();
  const error = await thrown(() => act(keyring));
  expect(error).toBeInstanceOf(TypeError);
  expect(told).toEqual(NOTHING);
  return error as TypeError;
}

/** Asserts a plain `TypeError`: a bug in the service that no request can cause. */
export async function refusedAsBug(
  act: (keyring: Ring) => Promise<unknown>,
  message: RegExp,
): Promise<void> {
  const error = await refusedUntold(act);
  expect(error.message).toMatch(message);
  expect({ isInput: isInputError(error), name: error.name }).toEqual({
    isInput: false,
    name: 'TypeError',
  });
}

/** Asserts an `InputError` with its field: a mistake that a request can make. */
export async function refusedAsInput(
  act: (keyring: Ring) => Promise<unknown>,
  field: string,
  message: RegExp,
): Promise<void> {
  const error = await refusedUntold(act);
  expect(error.message).toMatch(message);
  expect({ isInput: isInputError(error), field: untyped<{ field?: string }>(error).field }).toEqual(
    { isInput: true, field },
  );
}

/** {@link AUTHORITY} with more fields. */
export const authorityWith = (more: object): object => ({ ...AUTHORITY, ...more });

/** The refusals among events. */
export function refusalsIn(events: readonly KeyringEvent[]) {
  return events.filter((event) => event.type === 'management.denied');
}

// ── Rows in the store ───────────────────────────────────────────────────────────────────────────

/** The rows of an entity's keys with these tests' prefix, newest first. */
export function keysOf(store: KeyStore, entityUuid: string = OWN) {
  return store.list({ prefix: 'acme', entityUuid, after: null, limit: 1000 });
}

/** The rows that rotations of this key created, in whatever state. */
export async function successorsOf(store: KeyStore, keyId: string): Promise<KeyRecord[]> {
  const rows = await keysOf(store);
  return rows.filter(({ rotatedFrom }) => rotatedFrom === keyId);
}

// ── Concurrent events ───────────────────────────────────────────────────────────────────────────

/** When the other thing happens: before a store call takes effect, or after it. */
export interface Moment {
  readonly when: 'before' | 'after';
  readonly method: Method;
  /** Which call of that method, counted from 1. Default: the first. */
  readonly nth?: number;
}

/** A store in which `act` runs once, at a chosen moment. */
export function meanwhile(store: KeyStore, moment: Moment, act: () => Promise<unknown>): KeyStore {
  const { when, method: awaited, nth = 1 } = moment;
  let count = 0;
  return wrap(store, async (method, _args, call) => {
    if (method === awaited) count += 1;
    const isNow = method === awaited && count === nth;
    if (isNow && when === 'before') await act();
    const answer = await call();
    if (isNow && when === 'after') await act();
    return answer;
  });
}
