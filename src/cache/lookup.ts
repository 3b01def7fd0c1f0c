/** One kind of look-up: answered from the cache, or by one query that concurrent callers share. */
import type { Awaitable, CallOptions } from '../core/store.js';
import { isThenable } from '../core/thenable.js';
import { runThen } from './awaitable.js';
import type { CacheSettings } from './cache-options.js';
import type { Entries } from './entries.js';
import type { Entry, Question, Rows } from './entry.js';
import { bringUpToDate, type KnownChanges } from './known-changes.js';
import { askOrRecall, type Substitute } from './outage.js';
import { createPendingLookups } from './pending-lookups.js';
import { SharedCall } from './shared-call.js';

/** What the look-ups of a cache have in common. */
export interface CacheState {
  readonly settings: CacheSettings;
  readonly changes: KnownChanges;
  readonly entries: Entries;
}

/** How one kind of look-up is sent and answered. */
export interface LookupKind<Asked extends Question, Answer> {
  /** Looks up in the store. */
  ask(question: Asked, options: CallOptions | undefined): Awaitable<Answer>;
  /** Returns the rows to cache; `undefined` for an answer that must not be cached. */
  read(answer: unknown, question: Asked): Rows | undefined;
  /** What the store would answer for these rows. */
  toAnswer(rows: Rows): Answer;
  /** Whether a fresh answer is kept although there is none to replace. */
  readonly keepsFresh: boolean;
}

/** Looks up through the cache. */
export type Lookup<Asked extends Question, Answer> = (
  question: Asked,
  options: CallOptions | undefined,
) => Awaitable<Answer>;

/** A look-up that is asked for, and may be answered by another. */
interface Request<Asked> {
  readonly question: Asked;
  readonly options: CallOptions | undefined;
  /** The generation in which it was asked for: its answer shows every change until then. */
  readonly askedIn: number;
}

/** Makes look-ups of one kind. Only those with the same name are shared. */
export function createLookup<Asked extends Question, Answer>(
  kind: LookupKind<Asked, Answer>,
  state: CacheState,
): Lookup<Asked, Answer> {
  const { settings, changes, entries } = state;
  const pending = createPendingLookups<Answer>(settings, changes);
  const send = createSend(kind, changes);

  function recallOrAsk(request: Request<Asked>): Awaitable<Answer> {
    const { question, options, askedIn } = request;
    const kept = entries.recall(question.name);
    if (kept !== undefined) return kind.toAnswer(kept.rows);
    const lookup = pending.join(question.name, options);
    if (lookup === undefined) return askForAll(request);
    const { entry, answer } = lookup;
    if (entry.generation >= askedIn) return answer;
    // Sent before a change that came before this request. Found correct when it was answered, the
    // entry is of a later generation; otherwise the next look-up was sent late enough.
    return answer.then((found) => (entry.generation >= askedIn ? found : recallOrAsk(request)));
  }

  function askForAll({ question, options }: Request<Asked>): Awaitable<Answer> {
    const call = new SharedCall();
    call.join(options);
    const end = (): void => call.end();
    const entry = entries.open(question);
    const askStore = (): Awaitable<Answer> => runThen(() => kind.ask(question, call), end);
    const ask = (): Awaitable<Answer> => send(question, entry, entries.keep, askStore);
    const answer = askOrRecall(ask, substituteIn(state, kind, question, call));
    if (!isThenable(answer)) return answer;
    const settled = Promise.resolve(answer);
    pending.add(question.name, { entry, answer: settled, call });
    return settled;
  }

  return (question, options) => {
    // Joins nobody: a look-up in progress was sent before this one was asked for.
    if (options?.fresh) {
      const keep = kind.keepsFresh ? entries.keep : entries.replace;
      return send(question, entries.open(question), keep, () => kind.ask(question, options));
    }
    return recallOrAsk({ question, options, askedIn: changes.generation });
  };
}

/** What may be answered in place of the store while it fails. */
function substituteIn<Asked extends Question, Answer>(
  { entries }: CacheState,
  kind: LookupKind<Asked, Answer>,
  { name }: Asked,
  call: SharedCall,
): Substitute<Answer> {
  return {
    recall() {
      const stale = entries.recallStale(name);
      return stale && { answer: kind.toAnswer(stale.rows) };
    },
    giveUp: () => call.giveUp(),
  };
}

/**
 * Sends a look-up. `entry` was opened before: its age counts from there, and so do the changes that
 * outdate it.
 */
type Send<Asked, Answer> = (
  question: Asked,
  entry: Entry,
  keep: Entries['keep'],
  ask: () => Awaitable<Answer>,
) => Answer | Promise<Answer>;

function createSend<Asked extends Question, Answer>(
  kind: LookupKind<Asked, Answer>,
  changes: KnownChanges,
): Send<Asked, Answer> {
  function receive(question: Asked, entry: Entry, keep: Entries['keep'], answer: Answer): Answer {
    const rows = kind.read(answer, question);
    // Not cached; the core refuses it.
    if (rows === undefined) return answer;
    entry.rows = rows;
    // If the key has changed in the meantime, this answers only requests from before the change.
    if (bringUpToDate(changes, entry)) keep(question.name, entry);
    return kind.toAnswer(entry.rows);
  }

  return (question, entry, keep, ask) => {
    const answer = ask();
    if (!isThenable(answer)) return receive(question, entry, keep, answer);
    return Promise.resolve(answer).then((settled) => receive(question, entry, keep, settled));
  };
}
