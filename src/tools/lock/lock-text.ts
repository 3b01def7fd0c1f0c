/**
 * Reads and writes a lock as a file: JSON with one line per scope and per route, so that each
 * change shows as a changed line.
 */
import { assert, isObject, quote, readStrings, readText } from '../../core/input.js';
import { isScope } from '../../core/scope.js';
import { toJson } from '../escape.js';
import { type AccessLock, createLock, type LockedRoute, whoMay } from './access-lock.js';
import { MAX_REASON_LENGTH } from './reasons.js';

/** The version of the file format. */
const VERSION = 1;

const REWRITE = 'Run keyscope lock --write, which keeps its reasons';
const REPAIR = 'Repair or delete the file, then run keyscope lock --write';

/**
 * Writes a lock as text. The same lock always gives the same text.
 *
 * @example
 * writeFileSync('keyscope.lock.json', formatLock(lock));
 */
export function formatLock({ scopes, reserved, routes }: AccessLock): string {
  const isReserved = new Set(reserved);
  const states = scopes.map((scope) => [scope, isReserved.has(scope) ? 'reserved' : 'open']);
  const own = new Map<string, object>();
  const covered = new Map<string, Covered>();
  for (const [name, route] of routes) {
    const { reason, pattern, behind, handlers } = route;
    if (pattern === undefined) own.set(name, rowOf(route));
    else {
      const row = covered.get(pattern) ?? { unguarded: reason, routes: {} };
      row.routes[name] = { behind, handlers };
      covered.set(pattern, row);
    }
  }
  const parts = [
    `"version": ${VERSION}`,
    `"scopes": ${block(states)}`,
    ...(covered.size === 0 ? [] : [`"reasons": ${block([...covered].sort())}`]),
    `"routes": ${block([...own])}`,
  ];
  return `{\n  ${parts.join(',\n  ')}\n}\n`;
}

/** The row of a pattern, with the routes that it covers. */
interface Covered {
  readonly unguarded: string | null;
  readonly routes: Record<string, object>;
}

function rowOf(route: LockedRoute): object {
  const { operations, scopes, reason, also, behind, handlers } = route;
  const who = whoMay(route);
  if (operations.length > 0) return { operations, scopes, also, who };
  return { unguarded: reason, behind, handlers, who };
}

function block(rows: readonly (readonly unknown[])[]): string {
  const lines = rows.map(([name, row]) => `${toJson(name)}: ${toJson(row)}`);
  return lines.length === 0 ? '{}' : `{\n    ${lines.join(',\n    ')}\n  }`;
}

/**
 * Throws if the text of a file differs from the lock's, although it may mean the same: a duplicate
 * row, of which JSON keeps the last, or a `who` that contradicts its row.
 *
 * @throws TypeError that names the first different line and says what to do.
 */
export function assertAsWritten(text: string, lock: AccessLock): void {
  const expected = formatLock(lock);
  const isCarried = text.replaceAll('\r\n', '\n') === expected && text !== expected;
  const attributes = 'Add `keyscope.lock.json text eol=lf` to .gitattributes';
  assert(!isCarried, `the lock ends its lines with CR LF. ${attributes}`);
  const lines = expected.split('\n');
  const given = text.split('\n');
  const at = lines.findIndex((line, index) => line !== given[index]);
  const line = (at === -1 ? lines.length : at) + 1;
  assert(text === expected, `the lock: line ${line} differs from what keyscope writes. ${REWRITE}`);
}

/**
 * Reads a lock that {@link formatLock} wrote. It ignores `who`, which is for people.
 *
 * @throws TypeError on any other text: another shape, a duplicate name, a merge conflict, or a
 *   later version. The message says what to do.
 * @example
 * const committed = parseLock(readFileSync('keyscope.lock.json', 'utf8'));
 */
export function parseLock(text: string): AccessLock {
  assert(typeof text === 'string', 'parseLock: pass the text of the file', text);
  const conflict = /^(?:<{7}|={7}|>{7})(?: |$)/m;
  assert(!conflict.test(text), `the lock has a merge conflict. ${REPAIR}`);
  assert(!text.startsWith('\ufeff'), `the lock starts with a byte order mark. ${REPAIR}`);
  const file = readJson(text);
  const { version, scopes, reasons, routes, ...others } = file;
  const isKnown = typeof version !== 'number' || version <= VERSION;
  assert(isKnown, 'the lock is from a newer version of keyscope. Upgrade keyscope');
  assert(version === VERSION, `the lock has no valid version. ${REPAIR}`);
  const [odd] = Object.keys(others);
  assert(odd === undefined, `the lock has an unknown field ${quote(odd)}. ${REPAIR}`);
  const states = Object.entries(readObject(scopes, 'scopes'));
  for (const [scope, state] of states) {
    const isState = isScope(scope) && (state === 'open' || state === 'reserved');
    assert(isState, `the lock: scopes: ${quote(scope)}: write "open" or "reserved"`);
  }
  const all = states.map(([scope]) => scope);
  const reserved = states.filter(([, state]) => state === 'reserved').map(([scope]) => scope);
  const covered = Object.entries(readObject(reasons ?? {}, 'reasons')).flatMap(coveredRows);
  // The last row of a route counts: its own one.
  const rows = [...covered, ...Object.entries(readObject(routes, 'routes'))];
  const known = new Set(all);
  const found = rows.map(([name, row]) => [name, readRow(name, row, known)] as const);
  return createLock(all, reserved, new Map(found));
}

/** Returns the rows of the routes that a pattern covers, each with its reason. */
function coveredRows([pattern, value]: readonly [string, unknown]): readonly [string, Fields][] {
  const { unguarded, routes } = readObject(value, quote(pattern));
  return Object.entries(readObject(routes, `routes of ${quote(pattern)}`)).map(([name, row]) => {
    return [name, { ...readObject(row, quote(name)), unguarded, pattern }];
  });
}

type Fields = Readonly<Record<string, unknown>>;

function readJson(text: string): Fields {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new TypeError(`the lock is not JSON. ${REPAIR}`);
  }
  // JSON keeps the last of two duplicate rows, so the first could hide what a change widens.
  const isWhole = namesIn(text) === namesIn(JSON.stringify(file));
  assert(isWhole, `the lock has ${duplicateIn(text)}. ${REPAIR}`);
  return readObject(file, 'file');
}

/** Names the first two rows of one route. A formatter may have put a row on several lines. */
function duplicateIn(text: string): string {
  const seen = new Map<string, number>();
  for (const [index, line] of text.split('\n').entries()) {
    const [, name = ''] = /^\s*"((?:[^"\\]|\\.)*)": /.exec(line) ?? [];
    const first = seen.get(name);
    if (first !== undefined)
      return `two rows of ${quote(name)}, on lines ${first} and ${index + 1}`;
    if (NAME.test(name)) seen.set(name, index + 1);
  }
  return 'a duplicate name in an object';
}

/** Counts the names in all objects of a JSON text: one per colon outside strings. */
function namesIn(text: string): number {
  let count = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isInString && character === '\\') at += 1;
    else if (character === '"') isInString = !isInString;
    else if (character === ':' && !isInString) count += 1;
  }
  return count;
}

function readObject(value: unknown, what: string): Fields {
  const isMap = isObject(value) && !Array.isArray(value);
  assert(isMap, `the lock: ${what} is not an object. ${REPAIR}`);
  return value as Fields;
}

const NAME = /^[A-Z][A-Z-]* \S/;

function readRow(name: string, value: unknown, known: ReadonlySet<string>): LockedRoute {
  const where = `the lock: ${quote(name)}`;
  assert(NAME.test(name), `${where}: write a method and a path`);
  const row = readObject(value, quote(name));
  const { operations, scopes, also, unguarded, behind, handlers, pattern, who: _, ...others } = row;
  const [odd] = Object.keys(others);
  assert(odd === undefined, `${where}: unknown field ${quote(odd)}`);
  if (operations === undefined) {
    assert(scopes === undefined, `${where}: scopes: remove them, or add operations`);
    assert(also === undefined, `${where}: also: remove it, or add operations`);
    const hints = readStrings(behind ?? [], `${where}: behind`);
    const isCount = handlers === undefined || (Number.isInteger(handlers) && Number(handlers) > 1);
    assert(isCount, `${where}: handlers: write a whole number above 1`);
    const count = handlers === undefined ? undefined : Number(handlers);
    const reason = readReason(unguarded, where);
    const key = pattern === undefined ? undefined : String(pattern);
    return { operations: [], scopes: [], reason, behind: hints, handlers: count, pattern: key };
  }
  assert(unguarded === undefined, `${where}: remove unguarded, because the route has operations`);
  assert(behind === undefined, `${where}: remove behind, because the route has operations`);
  assert(handlers === undefined, `${where}: remove handlers, because the route has operations`);
  const guards = readStrings(operations, `${where}: operations`);
  assert(guards.length > 0, `${where}: operations: write "unguarded" instead of an empty list`);
  const needed = readStrings(scopes, `${where}: scopes`, {
    holds: (scope) => known.has(scope),
    instead: 'write scopes that the lock lists',
  });
  const callers = readStrings(also ?? [], `${where}: also`);
  return { operations: guards, scopes: needed, reason: null, also: callers };
}

function readReason(value: unknown, where: string): string | null {
  if (value === null) return null;
  return readText(value, MAX_REASON_LENGTH, `${where}: unguarded`);
}
