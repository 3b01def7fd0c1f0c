/** `keyscope scan` */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Keyring } from '../../../management/keyring.js';
import { type Call, prefixesOf, readPrefixes } from '../call.js';
import { EXIT, usageError } from '../command-error.js';
import { escapeInvisible, ReaderGone } from '../output.js';
import { readVersion } from '../package-file.js';
import { filesUnder, STANDARD_INPUT } from '../scan/files.js';
import { finderFor } from '../scan/finder.js';
import { topOfRepository } from '../scan/git.js';
import { historyOf, isShallow, stagedIn } from '../scan/history.js';
import { IGNORE_FILE, IGNORE_NOTHING, readIgnored } from '../scan/ignored.js';
import { lookUpsOf } from '../scan/known.js';
import { createProgress, shownTally } from '../scan/progress.js';
import { createReport, type ReportFormat } from '../scan/report.js';
import { createRevocation } from '../scan/revocation.js';
import { type Found, keysIn, type Scan, type Tally } from '../scan/scanner.js';
import { shownFind, withoutKeys } from '../scan/shown-find.js';
import { withOrigins } from '../scan/with-origins.js';

/**
 * Looks for keys in files, in a history of git, in what is staged or on standard input. The keyring
 * is asked about them only where a config is used.
 */
export async function run(call: Call): Promise<number> {
  const { given, output } = call;
  const format = formatOf(call);
  const paths = pathsOf(call);
  const isOnPipe = paths.includes(STANDARD_INPUT);
  const revocation = given.flag('revoke') ? createRevocation(call, isOnPipe) : null;
  const { prefixes, keyring } = await soughtBy(call);

  const tally: Tally = { texts: 0, bytes: 0, found: 0, unread: 0 };
  const progress = createProgress(tally, process.stderr);
  const report = createReport(output, format, readVersion());
  const lookUp = keyring === null ? null : lookUpsOf(keyring);
  function say(line: string): void {
    progress.clear();
    output.say(line);
  }
  function tellUnread(path: string, error: unknown): void {
    tally.unread += 1;
    say(`${escapeInvisible(withoutKeys(path, prefixes))} cannot be read: ${codeOf(error)}.`);
  }
  const scan: Scan = { createFinder: finderFor(prefixes), tally, tick: progress.tick, tellUnread };
  try {
    for await (const found of foundBy(scan, call, paths, say)) {
      tally.found += 1;
      const known = await lookUp?.(found.find.key);
      revocation?.add(known);
      progress.clear();
      await report.found(shownFind(found, prefixes), known);
    }
    await report.end(tally);
  } catch (error) {
    // Whoever has read enough has been shown a key, unless it was the beginning of a SARIF log.
    if (error instanceof ReaderGone) return exitOf(tally, EXIT.store);
    throw error;
  }
  say(`${shownTally(tally)}.`);
  if (keyring !== null) await revocation?.carryOut(keyring);
  return exitOf(tally, tally.unread > 0 ? EXIT.store : EXIT.done);
}

function exitOf({ found }: Tally, otherwise: number): number {
  return found > 0 ? EXIT.refused : otherwise;
}

function codeOf(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'it failed';
}

function formatOf({ given, output }: Call): ReportFormat {
  if (!given.flag('sarif')) return output.isJson ? 'json' : 'text';
  if (output.isJson) throw usageError('Write --json or --sarif, not both.');
  return 'sarif';
}

function pathsOf({ given }: Call): readonly string[] {
  const { operands } = given;
  const isOfGit = given.flag('git') || given.flag('staged');
  if (!isOfGit) return operands.length === 0 ? ['.'] : operands;
  if (given.flag('git') && given.flag('staged')) {
    throw usageError('Write --git or --staged, not both.');
  }
  if (operands.length === 0) return operands;
  throw usageError('--git and --staged are about the repository around this folder: no paths.');
}

interface SoughtBy {
  readonly prefixes: readonly string[];
  /** Null where nobody is asked. */
  readonly keyring: Keyring | null;
}

/** With `--prefix` alone no config is loaded: it is code, and opens a database. */
async function soughtBy({ given, config }: Call): Promise<SoughtBy> {
  const prefixes = readPrefixes(given);
  const isOffline = given.text('config') === undefined && !given.flag('revoke');
  if (prefixes !== null && isOffline) return { prefixes, keyring: null };
  const loaded = await config();
  return { prefixes: prefixes ?? prefixesOf(loaded), keyring: loaded.keyring };
}

async function* foundBy(
  scan: Scan,
  { given }: Call,
  paths: readonly string[],
  say: (line: string) => void,
): AsyncGenerator<Found> {
  const isHistory = given.flag('git');
  if (!isHistory && !given.flag('staged')) {
    yield* keysIn(scan, filesUnder(paths, ignoredIn('.'), scan.tellUnread));
    return;
  }
  const folder = await topOfRepository();
  const ignored = ignoredIn(folder);
  if (isHistory) {
    if (await isShallow(folder)) say('This clone is shallow: older commits are not here.');
    yield* withOrigins(folder, ignored, keysIn(scan, historyOf(folder, scan.tellUnread)));
    return;
  }
  for await (const found of keysIn(scan, stagedIn(folder, scan.tellUnread))) {
    if (!ignored(found.path ?? '')) yield found;
  }
}

function ignoredIn(folder: string) {
  const path = join(folder, IGNORE_FILE);
  return existsSync(path) ? readIgnored(readFileSync(path, 'utf8')) : IGNORE_NOTHING;
}
