/**
 * The rules for every target: errors are the package's own and reveal nothing of the input, and no
 * call is slow.
 */
import assert from 'node:assert/strict';
import { isAccessError, toResponse } from 'keyscope';
import { textsOf } from './mutate.ts';

export interface Target {
  readonly seeds: readonly unknown[];
  /** Texts that mutations insert. */
  readonly words: readonly string[];
  /** Throws if a property does not hold. */
  check(input: unknown): unknown;
}

// ── Time ────────────────────────────────────────────────────────────────────────────────────────

/**
 * The time of the library's slowest call since this was last reset to 0, in milliseconds. Excludes
 * the judge's own work.
 */
export const slowest = { ms: 0 };

/** This thread's CPU time in milliseconds, because on a busy machine the clock says little. */
function spent(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

type Act = (...args: unknown[]) => unknown;

/**
 * Wraps functions so that they are timed until they have answered. Other values stay as they are.
 */
export function timed<T extends object>(functions: T): T {
  const watched = Object.entries(functions).map(([name, act]: [string, unknown]) => {
    return [name, typeof act === 'function' ? timedFunction(act as Act) : act];
  });
  return Object.fromEntries(watched) as T;
}

function timedFunction(act: Act): Act {
  return (...args) => {
    const from = spent();
    const note = () => {
      slowest.ms = Math.max(slowest.ms, spent() - from);
    };
    let answer: unknown;
    try {
      answer = act(...args);
    } finally {
      note();
    }
    return answer instanceof Promise ? answer.finally(note) : answer;
  };
}

/** The timed functions of a file that is not an entry. */
export async function inner<T extends object>(name: string): Promise<T> {
  const { href } = new URL(`../../../src/${name}.ts`, import.meta.url);
  return timed((await import(href)) as T);
}

// ── Errors ───────────────────────────────────────────────────────────────────────────────────────

/** Runs of characters that could be part of a secret: 20 of the alphabet of keys and tokens. */
function secretsIn(input: unknown): readonly string[] {
  const runs = /[0-9A-Za-z+/=_-]{20,}/g;
  return textsOf(input).flatMap((text) => text.slice(0, 200_000).match(runs) ?? []);
}

/**
 * Requires a `TypeError` for people: it starts with what is wrong, as the engine's own never do,
 * and quotes no secret.
 */
export function requireComplaint(error: unknown, input: unknown): void {
  assert.ok(error instanceof TypeError, `threw ${String(error)}`);
  const { message } = error;
  assert.match(message, /^[\w.]+(?: [\w.-]+)?: [ -~]{1,1500}$/);
  // The letters and digits of escapes do not come from the input.
  const plain = message.replace(/\\(?:u[0-9a-f]{4}|.)/g, ' ');
  const quoted = secretsIn(input).find((secret) => plain.includes(secret.slice(0, 20)));
  assert.equal(quoted, undefined, `the message quotes ${quoted}`);
}

/** Requires the same of the error that `act` throws, and that it throws one. */
export function requireRefusal(act: () => unknown, input: unknown): void {
  let error: unknown;
  try {
    act();
  } catch (thrown) {
    error = thrown;
  }
  requireComplaint(error, input);
}

/** The first answer for each code. */
const answers = new Map<string, string>();
/** The properties of a denial that show without asking for them. */
const SHOWN = ['code', 'requiredScopes', 'excess'];

/** Requires a denial: constant texts, and the same answer for each code. */
export function requireDenial(error: unknown, codes: readonly string[]): void {
  if (!isAccessError(error)) throw error;
  assert.ok(codes.includes(error.code), `refused with ${error.code}`);
  const answer = JSON.stringify([error.message, toResponse(error, { realm: 'acme' })]);
  assert.equal(answer, answers.get(error.code) ?? answer);
  answers.set(error.code, answer);
  const others = Object.keys(error).filter((name) => !SHOWN.includes(name));
  assert.deepEqual(others, []);
}

/** The outcome of a promise. */
interface Settled<T> {
  readonly value?: T;
  readonly error?: unknown;
}

/** The outcome of a promise, without throwing. */
export function settled<T>(promise: Promise<T>): Promise<Settled<T>> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

// ── Return values ───────────────────────────────────────────────────────────────────────────────

/**
 * Requires that a value has only texts, numbers and null in lists and tables, all of them frozen.
 */
export function requireData(value: unknown): void {
  if (value === null || typeof value === 'string' || typeof value === 'number') return;
  const isTable = Object.prototype.toString.call(value) === '[object Object]';
  assert.ok(isTable || Array.isArray(value), 'not data');
  assert.ok(Object.isFrozen(value), 'not frozen');
  for (const each of Object.values(value as object)) requireData(each);
}

export function isEqual(one: unknown, other: unknown): boolean {
  try {
    assert.deepEqual(one, other);
    return true;
  } catch {
    return false;
  }
}
