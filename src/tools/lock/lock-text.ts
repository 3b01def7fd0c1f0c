/**
 * A lock as a file: JSON with a line for each scope and each route, so that a change of one is a
 * change of one line.
 */
import { assert, isObject, quote, readStrings, readText } from '../../core/input.js';
import { isScope } from '../../core/scope.js';
import { toJson } from '../escape.js';
import {
  type AccessLock,
  createLock,
  type LockedRoute,
  MAX_REASON_LENGTH,
  whoMay,
} from './access-lock.js';

/** Of the shape of the file. */
const VERSION = 1;

const REWRITE = 'run keyscope lock --write, which keeps its reasons';
const REPAIR = 'repair or delete it, and run keyscope lock --write';

/**
 * Writes a lock. The same lock is always the same text.
 *
 * @example
 * writeFileSync('keyscope.lock.json', formatLock(lock));
 */
export function formatLock({ scopes, reserved, routes }: AccessLock): string {
  const isReserved = new Set(reserved);
  const scopeLines = scopes.map((scope) => {
    return `${toJson(scope)}: ${isReserved.has(scope) ? '"reserved"' : '"open"'}`;
  });
  const routeLines = [...routes].map(([name, route]) => {
    return `${toJson(name)}: ${toJson(rowOf(route))}`;
  });
  const parts = [
    `"version": ${VERSION}`,
    `"scopes": ${block(scopeLines)}`,
    `"routes": ${block(routeLines)}`,
  ];
  return `{\n  ${parts.join(',\n  ')}\n}\n`;
}

function rowOf(route: LockedRoute): object {
  const { operations, scopes, reason, behind, handlers } = route;
  const who = whoMay(route);
  if (operations.length > 0) return { operations, scopes, who };
  return { unguarded: reason, behind, handlers, who };
}

function block(lines: readonly string[]): string {
  return lines.length === 0 ? '{}' : `{\n    ${lines.join(',\n    ')}\n  }`;
}

/**
 * Refuses a file that means the same as the lock but is another text: two rows of one route, of
 * which JSON keeps the last, or a `who` that is not what its row says.
 *
 * @throws TypeError that names the first line, and says what to do.
 */
export function assertAsWritten(text: string, lock: AccessLock): void {
  const expected = formatLock(lock);
  const isCarried = text.replaceAll('\r\n', '\n') === expected && text !== expected;
  const attributes = '`keyscope.lock.json text eol=lf` into .gitattributes';
  assert(!isCarried, `the lock ends its lines with CR LF: write ${attributes}`);
  const lines = expected.split('\n');
  const given = text.split('\n');
  const at = lines.findIndex((line, index) => line !== given[index]);
  const line = (at === -1 ? lines.length : at) + 1;
  assert(text === expected, `the lock: line ${line} is not as keyscope writes it: ${REWRITE}`);
}

/**
 * Reads a lock that {@link formatLock} wrote. `who` is for people, and not read.
 *
 * @throws TypeError on anything else: another shape, a name that is there twice, a merge conflict,
 *   a later version. It says what to do.
 * @example
 * const committed = parseLock(readFileSync('keyscope.lock.json', 'utf8'));
 */
export function parseLock(text: string): AccessLock {
  assert(typeof text === 'string', 'parseLock: pass the text of the file', text);
  const conflict = /^(?:<{7}|={7}|>{7})(?: |$)/m;
  assert(!conflict.test(text), `the lock has a merge conflict: ${REPAIR}`);
  assert(!text.startsWith('\ufeff'), `the lock begins with a byte order mark: ${REPAIR}`);
  const file = readJson(text);
  const { version, scopes, routes, ...others } = file;
  const isKnown = typeof version !== 'number' || version <= VERSION;
  assert(isKnown, 'the lock was written by a newer keyscope: upgrade this one');
  assert(version === VERSION, `the lock has no version that was ever written: ${REPAIR}`);
  const [odd] = Object.keys(others);
  assert(odd === undefined, `the lock has an unknown field ${quote(odd)}: ${REPAIR}`);
  const states = Object.entries(readObject(scopes, 'scopes'));
  for (const [scope, state] of states) {
    const isState = isScope(scope) && (state === 'open' || state === 'reserved');
    assert(isState, `the lock: scopes: ${quote(scope)}: "open" or "reserved"`);
  }
  const all = states.map(([scope]) => scope);
  const reserved = states.filter(([, state]) => state === 'reserved').map(([scope]) => scope);
  const found = Object.entries(readObject(routes, 'routes')).map(([name, row]) => {
    return [name, readRow(name, row, new Set(all))] as const;
  });
  return createLock(all, reserved, new Map(found));
}

type Fields = Readonly<Record<string, unknown>>;

function readJson(text: string): Fields {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new TypeError(`the lock is no JSON: ${REPAIR}`);
  }
  // Of two rows of one route JSON keeps the last: the first could hide what a change widens.
  const isWhole = namesIn(text) === namesIn(JSON.stringify(file));
  assert(isWhole, `the lock has a name twice in one object: ${REPAIR}`);
  return readObject(file, 'file');
}

/** How many names a JSON text has, in all its objects: each has a colon outside of strings. */
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
  assert(isMap, `the lock: ${what}: an object was expected; ${REPAIR}`);
  return value as Fields;
}

const NAME = /^[A-Z][A-Z-]* \S/;

function readRow(name: string, value: unknown, known: ReadonlySet<string>): LockedRoute {
  const where = `the lock: ${quote(name)}`;
  assert(NAME.test(name), `${where}: a method and a path were expected`);
  const row = readObject(value, quote(name));
  const { operations, scopes, unguarded, behind, handlers, who: _, ...others } = row;
  const [odd] = Object.keys(others);
  assert(odd === undefined, `${where}: unknown field ${quote(odd)}`);
  if (operations === undefined) {
    assert(scopes === undefined, `${where}: scopes: a route without operations needs none`);
    const hints = readStrings(behind ?? [], `${where}: behind`);
    const isCount = handlers === undefined || (Number.isInteger(handlers) && Number(handlers) > 1);
    assert(isCount, `${where}: handlers: a whole number above 1 was expected`);
    const count = handlers === undefined ? undefined : Number(handlers);
    const reason = readReason(unguarded, where);
    return { operations: [], scopes: [], reason, behind: hints, handlers: count };
  }
  assert(unguarded === undefined, `${where}: unguarded: it has operations`);
  assert(behind === undefined, `${where}: behind: it has operations`);
  assert(handlers === undefined, `${where}: handlers: it has operations`);
  const guards = readStrings(operations, `${where}: operations`);
  assert(guards.length > 0, `${where}: operations: write "unguarded" where there is none`);
  const needed = readStrings(scopes, `${where}: scopes`, {
    holds: (scope) => known.has(scope),
    instead: 'a scope of the lock was expected',
  });
  return { operations: guards, scopes: needed, reason: null };
}

function readReason(value: unknown, where: string): string | null {
  if (value === null) return null;
  return readText(value, MAX_REASON_LENGTH, `${where}: unguarded`);
}
