/** Recognises guards by the mark that adapters leave on them, and decides which ones count. */
import type { GuardedRoute } from './route.js';

const MARK = Symbol.for('keyscope.operation');
const ALSO = Symbol.for('keyscope.also');

/** The guards of a route, who else may call it, and guards that may run before it. */
type Guards = Required<Pick<GuardedRoute, 'operations' | 'behind' | 'also'>>;

/** Returns the operation of a guard; `undefined` for any other value. */
export function operationOf(value: unknown): string | undefined {
  return textOf(value, MARK);
}

function textOf(value: unknown, mark: symbol): string | undefined {
  const isHolder = typeof value === 'function' || (typeof value === 'object' && value !== null);
  if (!isHolder || isProxy(value) || !Object.hasOwn(value, mark)) return undefined;
  const { [mark]: text } = value as Readonly<Record<symbol, unknown>>;
  return typeof text === 'string' && text !== '' ? text : undefined;
}

/** Returns the operations of the guards among these values, in order. */
export function operationsOf(values: readonly unknown[]): readonly string[] {
  return values.flatMap((value) => operationOf(value) ?? []);
}

/**
 * Reads the functions of one route in the order in which they run. A guard counts only if all
 * functions before it are guards: any other function may answer before the guard runs.
 */
export function readChain(chain: readonly unknown[], before: readonly string[] = []): Guards {
  const end = chain.findIndex((each) => operationOf(each) === undefined);
  const first = end === -1 ? chain.length : end;
  const guards = chain.slice(0, first);
  return {
    operations: operationsOf(guards),
    behind: [...before, ...operationsOf(chain.slice(first))],
    also: guards.flatMap((guard) => textOf(guard, ALSO) ?? []),
  };
}

/** A guard declared for one path, or for a path and everything below it. */
export interface Front {
  readonly operation: string;
  /** `ALL` or a single method. */
  readonly method: string;
  readonly path: string;
  readonly isPrefix: boolean;
}

/**
 * Returns the operations of the guards whose path, compared as text, is above a route. Routers may
 * match paths differently, so this is only a hint for people.
 */
export function operationsAbove(
  method: string,
  path: string,
  fronts: readonly Front[],
): readonly string[] {
  const above = fronts.filter((front) => {
    if (front.method !== 'ALL' && front.method !== method) return false;
    const prefix = front.path.endsWith('/') ? front.path : `${front.path}/`;
    return front.path === path || (front.isPrefix && path.startsWith(prefix));
  });
  return above.map(({ operation }) => operation);
}

interface Util {
  readonly types: { isProxy(value: unknown): boolean };
}

interface Runtime {
  readonly process?: { getBuiltinModule?(name: 'node:util'): Util | undefined };
}

/** Whether this is a Proxy. Only Node, Bun and Deno can tell; other runtimes return `false`. */
export function isProxy(value: unknown): boolean {
  const { process } = globalThis as Runtime;
  return process?.getBuiltinModule?.('node:util')?.types.isProxy(value) ?? false;
}
