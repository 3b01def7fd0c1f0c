/** `keyscope lock` */
import { isObject } from '../../../core/input.js';
import type { KeyRecord } from '../../../core/record.js';
import type { KeyStore, Slice } from '../../../core/store.js';
import type { AccessLock } from '../../lock/access-lock.js';
import { diffLocks, type KeyGain, type LockDiff } from '../../lock/diff-locks.js';
import { lockMarkdown } from '../../lock/lock-markdown.js';
import { lockSarif } from '../../lock/lock-sarif.js';
import { formatLock } from '../../lock/lock-text.js';
import type { Call } from '../call.js';
import { CommandError, EXIT, usageError } from '../command-error.js';
import { currentLock, readLock, readLockAt, requireInRepository, writeLock } from '../lock-file.js';
import type { OptionName } from '../options.js';

const DEFAULT_FILE = 'keyscope.lock.json';
const ACTS = ['write', 'check', 'against'] as const satisfies readonly OptionName[];

/** Writes the lock, or compares the service with it. */
export async function run(call: Call): Promise<number | undefined> {
  const { given, output, interrupts } = call;
  const acts = ACTS.filter((name) => given.flag(name) || given.text(name) !== undefined);
  if (acts.length !== 1) throw usageError('Write one of --write, --check and --against <git ref>.');
  const path = given.text('file') ?? DEFAULT_FILE;
  const ref = given.text('against');
  if (ref !== undefined) requireInRepository(ref, path);
  const committed = await readLock(path);
  const now = await currentLock(call, committed);
  if (given.flag('write')) {
    await interrupts.change(() => writeLock(path, formatLock(now)));
    output.say(`${path}: ${now.routes.size} routes, ${now.scopes.length} scopes.`);
    if (committed !== null) await show(call, diffLocks(committed, now), now, path);
    return undefined;
  }
  const before = ref === undefined ? committed : await readLockAt(ref, path);
  if (before === null) throw new CommandError('refused', absent(path, ref));
  const diff = await withKeys(call, before, now);
  await show(call, diff, now, path);
  const isRefused = ref === undefined ? !diff.isEmpty : diff.unguarded.length > 0;
  return isRefused ? EXIT.refused : undefined;
}

function absent(path: string, ref: string | undefined): string {
  const where = ref === undefined ? 'here' : `at ${ref}`;
  return `There is no ${path} ${where}: write it with keyscope lock --write, and commit it.`;
}

async function show(call: Call, diff: LockDiff, lock: AccessLock, path: string): Promise<void> {
  const { given, output } = call;
  if (given.flag('sarif')) await output.json(lockSarif(diff, { lock, path }));
  else if (output.isJson) await output.json(diff);
  else await output.line(lockMarkdown(diff).trimEnd());
}

/** Names the live keys that gain, page by page, where that was asked for. */
async function withKeys(call: Call, before: AccessLock, now: AccessLock): Promise<LockDiff> {
  const diff = diffLocks(before, now);
  const isOpened = diff.widened.length + diff.added.length > 0;
  if (!call.given.flag('keys') || !isOpened) return diff;
  const { store } = await call.config();
  const gains: KeyGain[] = [];
  for await (const keys of livePagesOf(store)) {
    gains.push(...diffLocks(before, now, { keys }).gains);
  }
  return { ...diff, gains };
}

// ── The keys of all organizations that could be in use; one page is in memory ───────────────────

/** As many as are read at once. */
const PAGE = 1000;

/**
 * Yields the keys that were neither ended nor suspended, and have not expired.
 *
 * Not checked: seals and peppers, so a row that was edited is among them.
 */
async function* livePagesOf(store: KeyStore): AsyncGenerator<readonly KeyRecord[]> {
  if (store.listAll === undefined) {
    throw new CommandError('refused', 'The store cannot list its keys: leave out --keys.');
  }
  const now = Date.now();
  let after: Slice<KeyRecord>['next'] = null;
  do {
    const slice: Slice<KeyRecord> = await store.listAll({ after, limit: PAGE }, { fresh: true });
    yield slice.items.filter((row) => isObject(row) && isLive(row, now));
    after = slice.next;
  } while (after !== null);
}

function isLive(row: KeyRecord, now: number): boolean {
  const { revokedAt, suspendedAt, retireAt, expiresAt } = row;
  const isEnding = (time: number | null): boolean => time !== null && time <= now;
  return revokedAt === null && suspendedAt === null && !isEnding(retireAt) && !isEnding(expiresAt);
}
