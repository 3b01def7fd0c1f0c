/** Look-ups in progress, which later requests for the same key join. */
import { setBounded } from '../core/bounded.js';
import type { CallOptions } from '../core/store.js';
import { isCloudflareWorkers } from '../core/thenable.js';
import type { CacheSettings } from './cache-options.js';
import { type Answer, type Entry, isYounger } from './entry.js';
import { type KnownChanges, mayOutdate } from './known-changes.js';

/** How many look-ups in progress can be joined. */
const MAX_PENDING = 1_024;

/** How long a look-up can be joined, in milliseconds. One that hangs delays no later request. */
const JOIN_MS = 1_000;

/** A look-up that has been sent and not answered. */
export interface PendingLookup {
  /** Its future entry, with the generation and the time from before it was sent. */
  readonly entry: Entry;
  readonly answer: Promise<Answer>;
  /** The call, and the callers that wait for it. */
  readonly call: SharedCall;
}

/** The look-ups in progress, by name. */
export interface PendingLookups {
  /** Returns a look-up in progress that may be joined, if there is one. */
  join(name: string, caller: CallOptions | undefined): PendingLookup | undefined;
  /** Lets others join a look-up until it is answered. */
  add(lookup: PendingLookup): void;
}

interface Joinable extends PendingLookup {
  /** Whether it replaced a look-up in progress that may have missed a change. */
  readonly isSecond: boolean;
}

/** Starts with no look-ups in progress. */
export function createPendingLookups(
  settings: CacheSettings,
  changes: KnownChanges,
): PendingLookups {
  const pending = new Map<string, Joinable>();
  const canJoin = !isCloudflareWorkers();

  function join(name: string, caller: CallOptions | undefined): PendingLookup | undefined {
    const lookup = pending.get(name);
    if (lookup === undefined || !isYounger(lookup.entry.since, JOIN_MS, settings)) return undefined;
    // After a change, nobody joins a look-up that may have missed it: the next caller sends
    // another. In a storm of changes that would mean a query per change, so everyone joins the
    // second, and callers from after a change check its answer.
    if (!lookup.isSecond && mayOutdate(changes, lookup.entry)) return undefined;
    return lookup.call.join(caller) ? lookup : undefined;
  }

  function add(lookup: PendingLookup): void {
    if (!canJoin) return;
    const { name } = lookup.entry;
    const before = pending.get(name);
    const isSecond = before !== undefined && mayOutdate(changes, before.entry);
    const joinable: Joinable = { ...lookup, isSecond };
    setBounded(pending, name, joinable, MAX_PENDING);
    const remove = (): void => {
      // Another look-up may have replaced it.
      if (pending.get(name) === joinable) pending.delete(name);
    };
    // Errors reach the callers that joined; here it only matters that the look-up has ended.
    void lookup.answer.then(remove, remove);
  }

  return { join, add };
}

/**
 * One call of the store, shared by several callers. It has its own signal, because one caller that
 * gives up must not abort the others' answer. The signal aborts when the last caller has given up.
 *
 * Signals cost more than a cache miss, so none is created or watched until the store asks for it.
 */
export class SharedCall implements CallOptions {
  readonly #callers: (CallOptions | undefined)[];
  // A caller without a signal waits to the end.
  readonly #waiting = new Set<AbortSignal | undefined>();
  #abandoned: AbortController | undefined;

  constructor(caller: CallOptions | undefined) {
    this.#callers = [caller];
  }

  get signal(): AbortSignal {
    this.#abandoned ??= this.#startWatching();
    return this.#abandoned.signal;
  }

  /**
   * Adds a caller. Returns false if all callers had given up: the store may have stopped working.
   */
  join(caller: CallOptions | undefined): boolean {
    if (this.#abandoned?.signal.aborted === true) return false;
    this.#callers.push(caller);
    if (this.#abandoned !== undefined) this.#watch(caller);
    return true;
  }

  /** Aborts the call even if callers wait: they have received another answer. */
  giveUp(): void {
    this.#abandoned ??= new AbortController();
    this.#abandoned.abort();
  }

  /** Stops watching the callers' signals, once there is an answer. */
  end(): void {
    for (const signal of this.#waiting) signal?.removeEventListener('abort', this.#leave);
    this.#waiting.clear();
    this.#callers.length = 0;
  }

  #startWatching(): AbortController {
    const controller = new AbortController();
    for (const caller of this.#callers) this.#watch(caller);
    if (this.#callers.length > 0 && this.#waiting.size === 0) controller.abort();
    return controller;
  }

  #watch(caller: CallOptions | undefined): void {
    const signal = caller?.signal;
    if (signal?.aborted === true) return;
    this.#waiting.add(signal);
    signal?.addEventListener('abort', this.#leave, { once: true });
  }

  readonly #leave = ({ target }: Event): void => {
    this.#waiting.delete(target as AbortSignal);
    if (this.#waiting.size === 0) this.#abandoned?.abort();
  };
}
