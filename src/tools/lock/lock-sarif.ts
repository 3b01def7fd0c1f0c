/** Writes the difference of two locks as SARIF 2.1.0, which code hosts show next to the lines. */
import { escapeSarif, toJson, toUri } from '../escape.js';
import type { AccessLock } from './access-lock.js';
import type { LockDiff, RouteChange, RouteChangeKind } from './diff-locks.js';
import { formatLock } from './lock-text.js';

const RULES: Readonly<Record<RouteChangeKind, readonly [level: Level, text: string]>> = {
  unguarded: ['error', 'A route has no guard, and needs a reason, or a new one.'],
  widened: ['warning', 'A route lets in callers that it denied before.'],
  added: ['note', 'A route is new.'],
  narrowed: ['note', 'A route denies callers that it let in before.'],
  removed: ['note', 'A route was removed.'],
  changed: ['note', 'A route changed for the same callers.'],
  covered: ['note', 'A route without a guard, which a pattern covers, is new or was removed.'],
};

type Level = 'error' | 'warning' | 'note';

/** The options of {@link lockSarif}. */
export interface SarifOptions {
  /** The current lock, in which each route has a line. */
  readonly lock: AccessLock;
  /** The path of the lock file in the repository. Default: `keyscope.lock.json`. */
  readonly path?: string | undefined;
}

/**
 * Returns the result of {@link diffLocks} as a SARIF log, for you to write as JSON.
 *
 * @example
 * const log = JSON.stringify(lockSarif(diff, { lock: now }));
 */
export function lockSarif(diff: LockDiff, options: SarifOptions): object {
  const { lock, path = 'keyscope.lock.json' } = options;
  const lines = formatLock(lock).split('\n');
  const kinds = Object.keys(RULES) as RouteChangeKind[];
  const results = kinds.flatMap((kind) =>
    diff[kind].map((change) => resultOf(change, toUri(path), lines)),
  );
  const rules = kinds.map((id) => ({ id, shortDescription: { text: RULES[id][1] } }));
  const driver = { name: 'keyscope lock', rules };
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, results }],
  };
}

function resultOf(
  { kind, route, what }: RouteChange,
  uri: string,
  lines: readonly string[],
): object {
  const start = `    ${toJson(route)}: `;
  // A route that was removed or is covered has no line, so its result points to the first one.
  const line = Math.max(1, lines.findIndex((each) => each.startsWith(start)) + 1);
  return {
    ruleId: kind,
    level: RULES[kind][0],
    message: { text: escapeSarif(`${route} ${what}.`) },
    locations: [{ physicalLocation: { artifactLocation: { uri }, region: { startLine: line } } }],
  };
}
