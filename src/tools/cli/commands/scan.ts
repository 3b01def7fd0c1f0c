/** `keyscope scan` */
import type { Keyring } from '../../../management/keyring.js';
import { type Call, chooseKeyring, prefixesOf, readPrefixes } from '../call.js';
import { EXIT, suggest, usageError } from '../command-error.js';
import { keyringsOf } from '../define-config.js';
import { ReaderGone } from '../output.js';
import { findsIn, STANDARD_INPUT } from '../scan/files.js';
import { createRevocation, lookUpsOf } from '../scan/known-keys.js';
import { findPrinter } from '../scan/report.js';
import { createScan, shownTally, type Tally } from '../scan/scanner.js';

/**
 * Looks for keys in files and on standard input. Looks them up in the keyring only if a config is
 * used.
 */
export async function run(call: Call): Promise<number> {
  const { given, output } = call;
  const paths = given.operands.length === 0 ? ['.'] : given.operands;
  const isOnPipe = paths.includes(STANDARD_INPUT);
  const revocation = given.flag('revoke') ? createRevocation(call, isOnPipe) : null;
  const { prefixes, keyring } = await soughtBy(call);

  const scan = createScan(prefixes, output);
  const { tally } = scan;
  const print = findPrinter(output, prefixes);
  const lookUp = keyring === null ? null : lookUpsOf(call, keyring);
  try {
    for await (const found of findsIn(scan, paths)) {
      const isKey = found.checksum === 'right';
      if (isKey) tally.keys += 1;
      const known = isKey ? await lookUp?.(found.key) : undefined;
      revocation?.add(known);
      scan.clear();
      await print(found, known);
    }
  } catch (error) {
    // The rest was not searched.
    if (error instanceof ReaderGone) return exitOf(tally, EXIT.store);
    throw error;
  }
  scan.say(`${shownTally(tally)}.`);
  if (keyring !== null) await revocation?.carryOut(keyring);
  return exitOf(tally, tally.unread > 0 ? EXIT.store : EXIT.done);
}

function exitOf({ keys }: Tally, otherwise: number): number {
  return keys > 0 ? EXIT.refused : otherwise;
}

interface SoughtBy {
  readonly prefixes: readonly string[];
  /** Null to look up nothing. */
  readonly keyring: Keyring | null;
}

/** With `--prefix` alone, does not load the config, which is code and opens a database. */
async function soughtBy(call: Call): Promise<SoughtBy> {
  const { given, config } = call;
  const prefixes = readPrefixes(given);
  const isOffline = given.text('config') === undefined && !given.flag('revoke');
  if (prefixes !== null && isOffline) return { prefixes, keyring: null };
  const loaded = await config();
  const own = prefixesOf(loaded);
  const foreign = prefixes?.find((prefix) => !own.includes(prefix));
  if (foreign !== undefined) {
    const known = `\`prefixes\` of the config has ${own.join(', ')}, not ${foreign}`;
    const instead = 'Correct --prefix, add it to the config, or scan without --config and --revoke';
    throw usageError(`--prefix: ${known}.${suggest(foreign, own)} ${instead}.`);
  }
  const [only, another] = keyringsOf(loaded);
  const isOne = only !== undefined && another === undefined;
  const keyring = isOne ? only : chooseKeyring(call, loaded).keyring;
  return { prefixes: prefixes ?? own, keyring };
}
