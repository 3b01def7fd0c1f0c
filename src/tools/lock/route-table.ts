/** Routes that a caller names: a list of them, or a table. */
import { assert, quote, readFields, readStrings } from '../../core/input.js';
import { operationsOf } from './guards.js';
import type { GuardedRoute } from './route.js';

/** `GET /threats`, or `TOOL listThreats`. */
const ROUTE = /^([A-Z][A-Z-]*) (\S+)$/;

const USAGE = "{ 'GET /threats': 'listThreats' }, with null for a route without a guard";

export function isRouteList(app: unknown): boolean {
  return Array.isArray(app);
}

/** @throws TypeError on an element that is no route. */
export function readRouteList(app: unknown): readonly GuardedRoute[] {
  return (app as readonly unknown[]).map((element, at) => {
    const what = `routesOf: element ${at}`;
    const fields = readFields(
      element,
      ['method', 'path', 'operations', 'behind', 'handlers'],
      what,
    );
    const { method, path, operations, behind = [], handlers } = fields;
    const isRoute = typeof method === 'string' && typeof path === 'string';
    assert(
      isRoute && ROUTE.test(`${method} ${path}`),
      `${what}: pass { method, path, operations }`,
    );
    const isCount = handlers === undefined || typeof handlers === 'number';
    assert(isCount, `${what}: handlers: pass a number`, handlers);
    return {
      method,
      path,
      operations: readStrings(operations, `${what}: operations`, OPERATION),
      behind: readStrings(behind, `${what}: behind`, OPERATION),
      handlers,
    };
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
  assert(entries.length > 0, `routesOf: the table is empty; pass ${USAGE}`);
  return entries.map(([key, value]) => {
    const [, method, path] = ROUTE.exec(key) ?? [];
    const isRoute = method !== undefined && path !== undefined;
    assert(isRoute, `routesOf: ${quote(key)} is no route; pass ${USAGE}`);
    return { method, path, operations: readGuards(key, value) };
  });
}

/** What a value says of the guards of its route: their operations, or a handler with its mark. */
function readGuards(key: string, value: unknown): readonly string[] {
  if (value === null) return [];
  if (typeof value === 'function') return operationsOf([value]);
  const names = typeof value === 'string' ? [value] : value;
  return readStrings(names, `routesOf: ${quote(key)}`, OPERATION);
}
