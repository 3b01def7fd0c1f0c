/** `keyscope peppers` */
import { type PepperUse, pepperReport } from '../../../reports/pepper-report.js';
import { type Call, configWithKeys } from '../call.js';
import { CommandError } from '../command-error.js';
import { isConfigured } from '../define-config.js';
import { whileShowing } from '../progress.js';
import { OTHER_SECRETS, shownDay } from '../shown-keys.js';
import { type Column, NO_KEYS, tablePrinter } from '../table.js';

interface Row extends PepperUse {
  readonly configured: boolean | null;
}

const SHOWN: ReadonlyMap<boolean | null, string> = new Map([
  [true, 'yes'],
  [false, 'no'],
  [null, 'not known'],
]);

const COLUMNS: readonly Column<Row>[] = [
  { title: 'PEPPER', cell: ({ pepper, scheme }) => pepper ?? `none (${scheme})` },
  {
    title: 'CONFIGURED',
    cell: ({ configured }) => SHOWN.get(configured) ?? '',
    style: ({ configured }) => (configured === false ? 'bad' : null),
  },
  { title: 'LIVE OR SUSPENDED', cell: ({ live }) => String(live) },
  { title: 'LAST USED', cell: ({ lastUsedAt }) => shownDay(lastUsedAt, 'not known') },
];

/** Counts the live and suspended keys under each pepper, in the whole store. */
export async function run(call: Call): Promise<undefined> {
  const { output, timeoutMs } = call;
  const opened = await configWithKeys(call);
  if (opened.store.summarize === undefined) {
    throw new CommandError('refused', 'This store cannot count its keys: it has no `summarize`.');
  }
  const counting = pepperReport(opened.store, { timeoutMs });
  const uses = await whileShowing(output, 'Counting keys', counting);
  const rows = uses.map((use): Row => ({ ...use, configured: isConfigured(use.pepper, opened) }));
  await tablePrinter(output, COLUMNS)(rows);
  if (rows.length === 0) output.say(NO_KEYS);
  const isOther = rows.length > 0 && rows.every(({ configured }) => configured === false);
  if (isOther) output.say(`No key is under a configured pepper: ${OTHER_SECRETS}`);
}
