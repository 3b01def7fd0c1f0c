/**
 * Fixtures of the management tests: every call that takes an authority, assertions on refusals, and
 * a store in which something else happens at a chosen moment.
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

/** A management call on a key, under an authority whose type is unchecked. */
export type ManagementCall = (
  keyring: Ring,
  authority: unknown,
  keyId?: unknown,
) => Promise<unknown>;

/** The calls that take a key id and an authority, and nothing else. */
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

/** Every call that takes an authority, with the minimum of its other arguments. */
export const CALLS: Readonly<Record<string, ManagementCall>> = {
  issue: (keyring, authority) => keyring.issue(PLAIN, untyped(authority)),
  rotate: (keyring, authority, keyId = NOWHERE) =>
    keyring.rotate(untyped(keyId), { overlapMs: 0 }, untyped(authority)),
  list: (keyring, authority) => keyring.list({}, untyped(authority)),
  ...Object.fromEntries(CALLS_ON_A_KEY.map((name) => [name, onKey(name)])),
};

/** For `it.each`. */
export const EACH_CALL: readonly (readonly [string, ManagementCall])[] = Object.entries(CALLS);

// ── Refusals ────────────────────────────────────────────────────────────────────────────────────

/** Makes a keyring, and records all calls of its store and its listener. */
export function watched() {
  const { store, calls } = recording(memoryStore());
  const { keyring, events } = setUp({ store });
  return { keyring, told: { calls, events } };
}

const NOTHING = { calls: [], events: [] };

/** Asserts that a call is refused as malformed before it reaches the store or the listener. */
async function refusedUntold(act: (keyring: Ring) => Promise<unknown>): Promise<TypeError> {
  const { keyring, told } = watched();
  const error = await thrown(() => act(keyring));
  expect(error).toBeInstanceOf(TypeError);
  expect(told).toEqual(NOTHING);
  return error as TypeError;
}

/** Asserts a plain `TypeError`: a mistake of the service, which no request can make. */
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

/** Makes {@link AUTHORITY} with more fields. */
export const authorityWith = (more: object): object => ({ ...AUTHORITY, ...more });

/** Returns the refusals among events. */
export function refusalsIn(events: readonly KeyringEvent[]) {
  return events.filter((event) => event.type === 'management.denied');
}

// ── What is left ────────────────────────────────────────────────────────────────────────────────

/** Returns the rows of an entity's keys with the prefix of these tests, newest first. */
export function keysOf(store: KeyStore, entityId: string = OWN) {
  return store.list({ prefix: 'acme', entityId, after: null, limit: 1000 });
}

/** Returns the rows that rotations of this key made, in any state. */
export async function successorsOf(store: KeyStore, keyId: string): Promise<KeyRecord[]> {
  const rows = await keysOf(store);
  return rows.filter(({ rotatedFrom }) => rotatedFrom === keyId);
}

// ── Meanwhile ───────────────────────────────────────────────────────────────────────────────────

/** The moment of an interruption: before or after a call of the store takes effect. */
export interface Moment {
  readonly when: 'before' | 'after';
  readonly method: Method;
  /** The number of the call of that method, from 1. Default: the first. */
  readonly nth?: number;
}

/** Makes a store in which `act` happens once, at a moment. */
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
