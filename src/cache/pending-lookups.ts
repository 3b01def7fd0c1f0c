/** Look-ups in progress, which later requests for the same key join. */
import type { CallOptions } from '../core/store.js';
import { isCloudflareWorkers } from '../core/workers.js';
import { setBounded } from './bounded-map.js';
import type { CacheSettings } from './cache-options.js';
import { type Entry, isYounger } from './entry.js';
import { type KnownChanges, mayOutdate } from './known-changes.js';
import type { SharedCall } from './shared-call.js';

/** How many look-ups in progress can be joined. */
const MAX_PENDING = 1_024;

/** How long one can be joined, in milliseconds. A look-up that hangs delays no later request. */
const JOIN_MS = 1_000;

/** A look-up that has been sent and not answered. */
export interface PendingLookup<Answer> {
  /** What it will answer. It knows the generation and the time before the look-up was sent. */
  readonly entry: Entry;
  readonly answer: Promise<Answer>;
  /** Who waits for it. */
  readonly call: SharedCall;
}

/** The look-ups in progress, by name. */
export interface PendingLookups<Answer> {
  /** A look-up in progress, if there is one that may be joined. */
  join(name: string, caller: CallOptions | undefined): PendingLookup<Answer> | undefined;
  /** Lets others join a look-up until it is answered. */
  add(name: string, lookup: PendingLookup<Answer>): void;
}

interface Joinable<Answer> extends PendingLookup<Answer> {
  /** Whether another was in progress under this name that may have missed a change. */
  readonly isSecond: boolean;
}

/** Starts with no look-ups in progress. */
export function createPendingLookups<Answer>(
  settings: CacheSettings,
  changes: KnownChanges,
): PendingLookups<Answer> {
  const pending = new Map<string, Joinable<Answer>>();
  const canJoin = !isCloudflareWorkers();

  function join(name: string, caller: CallOptions | undefined): PendingLookup<Answer> | undefined {
    const lookup = pending.get(name);
    if (lookup === undefined || !isYounger(lookup.entry.since, JOIN_MS, settings)) return undefined;
    // A change detaches what may have missed it: who asks afterwards sends a look-up of their own.
    // In a storm, that would be one for each change; so the second is joined, and who joined it
    // after a change checks its answer.
    if (!lookup.isSecond && mayOutdate(changes, lookup.entry)) return undefined;
    return lookup.call.join(caller) ? lookup : undefined;
  }

  function add(name: string, lookup: PendingLookup<Answer>): void {
    const before = pending.get(name);
    const isSecond = before !== undefined && mayOutdate(changes, before.entry);
    const joinable: Joinable<Answer> = { ...lookup, isSecond };
    if (canJoin) setBounded(pending, name, joinable, MAX_PENDING);
    const remove = (): void => {
      // Another look-up may have replaced it.
      if (pending.get(name) === joinable) pending.delete(name);
    };
    // Errors reach the callers that joined; here it only matters that the look-up has ended.
    void lookup.answer.then(remove, remove);
  }

  return { join, add };
}
