/** `keyscope scan` */
import type { Keyring } from '../../../management/keyring.js';
import { type Call, prefixesOf, readPrefixes } from '../call.js';
import { EXIT, suggest, usageError } from '../command-error.js';
import { ReaderGone } from '../output.js';
import { readVersion } from '../package-file.js';
import { keysInDiff } from '../scan/diff.js';
import { keysInFiles, STANDARD_INPUT } from '../scan/files.js';
import { ignoredHere } from '../scan/ignored.js';
import { createRevocation, lookUpsOf } from '../scan/known-keys.js';
import { createReport, type ReportFormat, shownFind } from '../scan/report.js';
import { createScan, shownTally, type Tally } from '../scan/scanner.js';

/**
 * Looks for keys in files, or in a diff on standard input. Looks them up in the keyring only if a
 * config is used.
 */
export async function run(call: Call): Promise<number> {
  const { given, output } = call;
  const format = formatOf(call);
  const paths = pathsOf(call);
  const isOnPipe = paths.includes(STANDARD_INPUT);
  const revocation = given.flag('revoke') ? createRevocation(call, isOnPipe) : null;
  const { prefixes, keyring } = await soughtBy(call);

  const scan = createScan(prefixes, ignoredHere(), output);
  const { tally } = scan;
  const report = createReport(output, format, readVersion());
  const lookUp = keyring === null ? null : lookUpsOf(call, keyring);
  const isDiff = given.flag('diff');
  const keys = isDiff ? keysInDiff(scan, process.stdin) : keysInFiles(scan, paths);
  try {
    for await (const found of keys) {
      tally.found += 1;
      const known = await lookUp?.(found.find.key);
      revocation?.add(known);
      scan.clear();
      await report.found(shownFind(found, prefixes), known);
    }
    await report.end(tally);
  } catch (error) {
    // A reader that stops early has seen a key, unless it saw only the start of a SARIF log.
    if (error instanceof ReaderGone) return exitOf(tally, EXIT.store);
    throw error;
  }
  scan.say(`${shownTally(tally)}.`);
  if (keyring !== null) await revocation?.carryOut(keyring);
  return exitOf(tally, tally.unread > 0 ? EXIT.store : EXIT.done);
}

function exitOf({ found }: Tally, otherwise: number): number {
  return found > 0 ? EXIT.refused : otherwise;
}

function formatOf({ given, output }: Call): ReportFormat {
  if (!given.flag('sarif')) return output.isJson ? 'json' : 'text';
  if (output.isJson) throw usageError('Pass --json or --sarif, not both.');
  return 'sarif';
}

function pathsOf({ given }: Call): readonly string[] {
  const { operands } = given;
  if (!given.flag('diff')) return operands.length === 0 ? ['.'] : operands;
  if (operands.every((operand) => operand === STANDARD_INPUT)) return [STANDARD_INPUT];
  throw usageError('--diff takes no paths. Pipe the diff into standard input.');
}

interface SoughtBy {
  readonly prefixes: readonly string[];
  /** Null to look up nothing. */
  readonly keyring: Keyring | null;
}

/** With `--prefix` alone, does not load the config, which is code and opens a database. */
async function soughtBy({ given, config }: Call): Promise<SoughtBy> {
  const prefixes = readPrefixes(given);
  const isOffline = given.text('config') === undefined && !given.flag('revoke');
  if (prefixes !== null && isOffline) return { prefixes, keyring: null };
  const loaded = await config();
  const own = loaded.prefixes ?? prefixes ?? [];
  const foreign = prefixes?.find((prefix) => !own.includes(prefix));
  if (foreign !== undefined) {
    const known = `\`prefixes\` of the config has ${own.join(', ')}, not ${foreign}`;
    const instead = 'Correct --prefix, add it to the config, or scan without --config and --revoke';
    throw usageError(`--prefix: ${known}.${suggest(foreign, own)} ${instead}.`);
  }
  return { prefixes: prefixes ?? prefixesOf(loaded), keyring: loaded.keyring };
}
