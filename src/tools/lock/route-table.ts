/** Reads routes that the caller lists, as an array or a table. */
import { assert, isObject, quote, readFields, readStrings } from '../../core/input.js';
import { readChain } from './guards.js';
import type { GuardedRoute } from './route.js';

/** `GET /threats`, or `TOOL listThreats`. */
const ROUTE = /^([A-Z][A-Z-]*) (\S+)$/;

const USAGE = "{ 'GET /threats': 'listThreats' }, with null for a route without a guard";
const ELEMENT = '{ method, path, operations }';

export function isRouteList(app: unknown): boolean {
  return Array.isArray(app);
}

/** @throws TypeError on an element that is not a route. */
export function readRouteList(app: unknown): readonly GuardedRoute[] {
  return (app as readonly unknown[]).map((element, at) => {
    const what = `routesOf: element ${at}`;
    const fields = readFields(
      element,
      ['method', 'path', 'operations', 'behind', 'also', 'handlers'],
      what,
    );
    const { method, path, operations, behind = [], also = [], handlers } = fields;
    const isRoute = typeof method === 'string' && typeof path === 'string';
    assert(
      isRoute && ROUTE.test(`${method} ${path}`),
      `${what} is not a route. Pass ${ELEMENT}, with the method in upper case`,
    );
    const isCount = handlers === undefined || typeof handlers === 'number';
    assert(isCount, `${what}: handlers: pass a number`, handlers);
    return {
      method,
      path,
      operations: readStrings(operations, `${what}: operations`, OPERATION),
      behind: readStrings(behind, `${what}: behind`, OPERATION),
      also: readStrings(also, `${what}: also`),
      handlers,
    };
  });
}

const OPERATION = { holds: (text: string) => text !== '', instead: 'name an operation' };

/** Whether this is a plain object. Apps of frameworks are instances of a class. */
export function isTable(app: unknown): boolean {
  if (typeof app !== 'object' || app === null) return false;
  const prototype: unknown = Object.getPrototypeOf(app);
  return prototype === Object.prototype || prototype === null;
}

/** @throws TypeError on a key that is not a route, or an invalid value. */
export function readTable(app: unknown): readonly GuardedRoute[] {
  const entries = Object.entries(app as object) as readonly (readonly [string, unknown])[];
  assert(entries.length > 0, `routesOf: the table is empty. Pass ${USAGE}`);
  return entries.map(([key, value]) => {
    const [, method, path] = ROUTE.exec(key) ?? [];
    const isRoute = method !== undefined && path !== undefined;
    assert(isRoute, `routesOf: ${quote(key)} is not a route. Pass ${USAGE}`);
    return { method, path, ...readGuards(key, value) };
  });
}

/** Reads a value of the table: null, an operation, a guarded handler, or a list of either. */
function readGuards(key: string, value: unknown): Pick<GuardedRoute, 'operations'> {
  if (value === null) return { operations: [] };
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isGuard = (each: unknown): boolean => typeof each === 'function' || isObject(each);
  if (values.some(isGuard)) return readChain(values);
  return { operations: readStrings(values, `routesOf: ${quote(key)}`, OPERATION) };
}
