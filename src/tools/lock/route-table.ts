/** Routes that a caller names: a list of them, or a table by paths. */
import { assert, quote, readFields, readStrings } from '../../core/input.js';
import { operationsOf } from './guards.js';
import type { GuardedRoute } from './route.js';

/** `GET /threats`, or `TOOL listThreats`. */
const ROUTE = /^([A-Z][A-Z-]*) (\S+)$/;

/** The files of Next that have handlers, and the folders that are not in a path. */
const FILE = /(?:^|\/)route\.[cm]?[jt]sx?$/;
const APP_FOLDER = /^(?:\.\/)?(?:src\/)?app\//;
const NO_SEGMENT = /^(?:\(.*\)|@.*|)$/;

const METHOD = /^[A-Z]+$/;

const USAGE = "{ 'GET /threats': 'listThreats' }, with null for a route without a guard";
const MODULES = "{ '/threats': await import('./app/threats/route.ts') }";

export function isRouteList(app: unknown): boolean {
  return Array.isArray(app);
}

/** @throws TypeError on an element that is no route. */
export function readRouteList(app: unknown): readonly GuardedRoute[] {
  return (app as readonly unknown[]).map((element, at) => {
    const what = `routesOf: element ${at}`;
    const { method, path, operations } = readFields(
      element,
      ['method', 'path', 'operations'],
      what,
    );
    const isRoute = typeof method === 'string' && typeof path === 'string';
    assert(
      isRoute && ROUTE.test(`${method} ${path}`),
      `${what}: pass { method, path, operations }`,
    );
    return { method, path, operations: readStrings(operations, `${what}: operations`, OPERATION) };
  });
}

const OPERATION = { holds: (text: string) => text !== '', instead: 'name an operation' };

/** An object without a class; what a framework makes has one. */
export function isTable(app: unknown): boolean {
  if (typeof app !== 'object' || app === null) return false;
  const prototype: unknown = Object.getPrototypeOf(app);
  return prototype === Object.prototype || prototype === null;
}

/** @throws TypeError on a key that is no route, or a value that says nothing of guards. */
export function readTable(app: unknown): readonly GuardedRoute[] {
  const entries = Object.entries(app as object) as readonly (readonly [string, unknown])[];
  assert(entries.length > 0, `routesOf: the table is empty; pass ${USAGE}, or ${MODULES}`);
  return entries.flatMap(([key, value]) => readEntry(key, value));
}

function readEntry(key: string, value: unknown): readonly GuardedRoute[] {
  const [, method, path] = ROUTE.exec(key) ?? [];
  if (method !== undefined && path !== undefined) {
    return [{ method, path, operations: readGuards(key, value) }];
  }
  const folder = pathOf(key);
  assert(folder !== undefined, `routesOf: ${quote(key)} is no route; pass ${USAGE}`);
  if (typeof value === 'function') {
    return [{ method: 'ALL', path: folder, operations: operationsOf([value]) }];
  }
  return readModule(folder, value);
}

/** What a value says of the guards of its route: their operations, or a handler with its mark. */
function readGuards(key: string, value: unknown): readonly string[] {
  if (value === null) return [];
  if (typeof value === 'function') return operationsOf([value]);
  const names = typeof value === 'string' ? [value] : value;
  return readStrings(names, `routesOf: ${quote(key)}`, OPERATION);
}

/** The handlers of a module, which it exports under the names of methods. */
function readModule(path: string, value: unknown): readonly GuardedRoute[] {
  const exported = Object.entries(Object(value) as object) as readonly [string, unknown][];
  const handlers = exported.filter(
    ([name, each]) => METHOD.test(name) && typeof each === 'function',
  );
  const isModule = handlers.length > 0;
  assert(isModule, `routesOf: ${quote(path)}: this has no GET, POST, …; pass ${MODULES}`);
  return handlers.map(([method, handler]) => {
    return { method, path, operations: operationsOf([handler]) };
  });
}

/** `/threats/[id]` of itself, and of the file `app/(api)/threats/[id]/route.ts`. */
function pathOf(key: string): string | undefined {
  const file = key.replaceAll('\\', '/');
  if (!FILE.test(file)) return key.startsWith('/') ? key : undefined;
  if (file.startsWith('/')) return undefined;
  const folders = file.replace(APP_FOLDER, '').split('/').slice(0, -1);
  return `/${folders.filter((folder) => !NO_SEGMENT.test(folder)).join('/')}`;
}
