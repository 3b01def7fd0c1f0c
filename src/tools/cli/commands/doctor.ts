/** `keyscope doctor` */
import type { Call } from '../call.js';
import { CHECKS } from '../checks.js';
import { EXIT } from '../command-error.js';
import type { Finding, State } from '../finding.js';
import type { Style } from '../output.js';
import { type Column, tablePrinter } from '../table.js';

const STYLES: Readonly<Record<State, Style>> = { ok: 'good', 'to do': 'bad', 'not known': 'doubt' };

const COLUMNS: readonly Column<Finding>[] = [
  { title: 'CHECK', cell: ({ check }) => check },
  { title: 'STATE', cell: ({ state }) => state, style: ({ state }) => STYLES[state] },
  { title: 'WHAT', cell: ({ what }) => what },
];

/** Checks one thing after another. What cannot be asked is not known, and never ok. */
export async function run(call: Call): Promise<number> {
  const { output, timeoutMs } = call;
  const config = await call.config();
  const findings: Finding[] = [];
  for (const check of CHECKS) findings.push(await check({ config, timeoutMs, findings }));
  // What to do is a sentence, which is not cut.
  const uncut = { ...output, width: Number.POSITIVE_INFINITY };
  await tablePrinter(uncut, COLUMNS)(findings);
  const isDown = findings.some(({ check, state }) => check === 'store' && state === 'to do');
  if (isDown) return EXIT.store;
  return findings.some(({ state }) => state === 'to do') ? EXIT.refused : EXIT.done;
}
