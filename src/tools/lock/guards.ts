/** Recognises guards by the mark that an adapter leaves on them, and says which ones count. */
import type { GuardedRoute } from './route.js';

const MARK = Symbol.for('keyscope.operation');

/** What a route's own guards are, and those that only may stand before it. */
type Guards = Pick<GuardedRoute, 'operations' | 'behind'>;

/** The operation that a guard carries; `undefined` for anything else. */
export function operationOf(value: unknown): string | undefined {
  const isHolder = typeof value === 'function' || (typeof value === 'object' && value !== null);
  if (!isHolder || isProxy(value) || !Object.hasOwn(value, MARK)) return undefined;
  const { [MARK]: operation } = value as { readonly [MARK]: unknown };
  return typeof operation === 'string' && operation !== '' ? operation : undefined;
}

/** The operations of those that are guards, in order. */
export function operationsOf(values: readonly unknown[]): readonly string[] {
  return values.flatMap((value) => operationOf(value) ?? []);
}

/**
 * Reads the functions that a request meets on one route, in order. A guard counts if nothing but
 * guards stands before it: any other function may answer, and then nobody asks the guard.
 */
export function readChain(chain: readonly unknown[], before: readonly string[] = []): Guards {
  const end = chain.findIndex((each) => operationOf(each) === undefined);
  const first = end === -1 ? chain.length : end;
  const operations = operationsOf(chain.slice(0, first));
  return { operations, behind: [...before, ...operationsOf(chain.slice(first))] };
}

/** A guard that was declared for a path and everything below it, or for that path alone. */
export interface Front {
  readonly operation: string;
  /** `ALL`, or the one method. */
  readonly method: string;
  readonly path: string;
  readonly isPrefix: boolean;
}

/**
 * The operations of the guards whose path, read as a text, is above a route. Routers may read the
 * paths otherwise: this is a hint for people, and nothing is decided by it.
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

/** Whether something else answers for it. Node, Bun and Deno can tell; elsewhere nothing is one. */
export function isProxy(value: unknown): boolean {
  const { process } = globalThis as Runtime;
  return process?.getBuiltinModule?.('node:util')?.types.isProxy(value) ?? false;
}
