/** `keyscope lock` */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { isObject } from '../../../core/input.js';
import { isUnended, type KeyRecord } from '../../../core/record.js';
import type { KeyStore } from '../../../core/store.js';
import { within } from '../../../core/thenable.js';
import { type AccessLock, lockOf } from '../../lock/access-lock.js';
import { diffLocks, type KeyGain, type LockDiff } from '../../lock/diff-locks.js';
import { lockMarkdown } from '../../lock/lock-markdown.js';
import { lockSarif } from '../../lock/lock-sarif.js';
import { assertAsWritten, formatLock, parseLock } from '../../lock/lock-text.js';
import type { GuardedRoute } from '../../lock/route.js';
import { allKeys } from '../all-keys.js';
import type { Call } from '../call.js';
import { CommandError, EXIT, usageError } from '../command-error.js';
import { keyringsOf } from '../define-config.js';
import { textOf, withoutSecrets } from '../explain.js';
import type { OptionName } from '../options.js';

const DEFAULT_FILE = 'keyscope.lock.json';
const ACTS = ['write', 'check', 'against'] as const satisfies readonly OptionName[];

/** Writes the lock, or compares the service with a lock. */
export async function run(call: Call): Promise<number | undefined> {
  const { given } = call;
  const acts = ACTS.filter((name) => given.flag(name) || given.text(name) !== undefined);
  if (acts.length !== 1) throw usageError('Pass one of --write, --check and --against <file>.');
  const path = given.text('file') ?? DEFAULT_FILE;
  const text = existsSync(path) ? await readFile(path, 'utf8') : null;
  const committed = text === null ? null : readBy(path, () => parseLock(text));
  const other = given.text('against');
  const before = other === undefined ? committed : await readOther(other);
  const now = await currentLock(call, committed);
  if (given.flag('write')) return write(call, now, path, committed);
  if (before === null) throw new CommandError('refused', `Cannot find ${path}. ${WRITE_IT}`);
  const diff = await withKeys(call, before, now);
  const isRefused = other === undefined ? !diff.isEmpty : diff.unguarded.length > 0;
  if (!isRefused && text !== null && other === undefined) {
    const written = diff.covered.length === 0 ? now : before;
    readBy(path, () => assertAsWritten(text, written));
  }
  await show(call, diff, now, path);
  return isRefused ? EXIT.refused : undefined;
}

const WRITE_IT = 'Create it with `keyscope lock --write` and commit it.';

async function write(
  call: Call,
  now: AccessLock,
  path: string,
  committed: AccessLock | null,
): Promise<undefined> {
  await call.interrupts.change(() => writeFile(path, formatLock(now)));
  call.output.say(`${path}: ${now.routes.size} routes, ${now.scopes.length} scopes.`);
  if (committed !== null) await show(call, diffLocks(committed, now), now, path);
}

// ── Reading locks: from the running service, and from files ─────────────────────────────────────

const SHOW = 'git show origin/main:keyscope.lock.json | npx keyscope lock --against -';

/** Reads a lock from a file, or from standard input for `-`. */
async function readOther(path: string): Promise<AccessLock> {
  const isInput = path === '-';
  if (!isInput && !existsSync(path)) {
    throw new CommandError(
      'refused',
      `Cannot find the file ${path}. To compare with a commit, run: ${SHOW}`,
    );
  }
  const text = isInput ? await readInput() : await readFile(path, 'utf8');
  const where = isInput ? 'Standard input' : path;
  if (text.trim() === '') {
    throw new CommandError(
      'refused',
      `${where} is empty. Check the command before the pipe. Example: ${SHOW}`,
    );
  }
  return readBy(where, () => parseLock(text));
}

async function readInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk);
  return text;
}

/** Names the file in errors. */
function readBy<T>(where: string, read: () => T, kind: 'config' | 'refused' = 'refused'): T {
  try {
    return read();
  } catch (error) {
    throw new CommandError(kind, `${where}: ${withoutSecrets(textOf(error))}.`);
  }
}

/** Makes the lock of the service in the config, with the reasons of the committed lock. */
async function currentLock(
  { config, timeoutMs }: Call,
  committed: AccessLock | null,
): Promise<AccessLock> {
  const loaded = await config();
  const { keyring, routes, reasons } = loaded;
  const isWithout = keyringsOf(loaded).some(({ policy }) => policy === undefined);
  if (routes === undefined || isWithout) {
    const example =
      'createKeyring({ …, policy }), defineConfig({ …, routes: () => routesOf(app) })';
    const needs = 'For a lock, the config needs `routes` and a keyring with a policy';
    throw new CommandError('config', `${needs}: ${example}.`);
  }
  const seconds = timeoutMs / 1_000;
  const giveUp = (): never => {
    throw new CommandError(
      'config',
      `\`routes\` of the config did not finish within ${seconds} s.`,
    );
  };
  // Inside a promise, so that a synchronous error becomes a rejection.
  const reading = Promise.resolve().then(routes).catch(throwFault);
  const found: readonly GuardedRoute[] = [...(await within(timeoutMs, reading, giveUp))];
  const kept = committed ?? undefined;
  const lock = () => lockOf({ keyring, routes: found, reasons, committed: kept });
  return readBy('The config', lock, 'config');
}

/** Such as a `recordRoutes` that the service forgot. */
function throwFault(error: unknown): never {
  const text = withoutSecrets(textOf(error));
  throw new CommandError('config', `\`routes\` of the config threw an error: ${text}.`);
}

async function show(call: Call, diff: LockDiff, lock: AccessLock, path: string): Promise<void> {
  const { given, output } = call;
  if (given.flag('sarif')) await output.json(lockSarif(diff, { lock, path }));
  else if (output.isJson) await output.json(diff);
  else await output.lines(lockMarkdown(diff));
}

/** With `--keys`, adds the live keys that gain access, page by page. */
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

// ── Live keys of all organizations, with one page in memory ─────────────────────────────────────

/**
 * Yields the keys that are not ended, suspended or expired.
 *
 * Not checked: seals and peppers, so edited rows are included.
 */
async function* livePagesOf(store: KeyStore): AsyncGenerator<readonly KeyRecord[]> {
  const all = allKeys(store);
  if (all === null) {
    throw new CommandError(
      'refused',
      'The store cannot list all keys. Run the command without --keys.',
    );
  }
  const now = Date.now();
  for await (const rows of all) {
    yield rows.filter(
      (row) =>
        isObject(row) &&
        Array.isArray(row.scopes) &&
        row.suspendedAt === null &&
        isUnended(row, now),
    );
  }
}
