/** Recognises guards by the mark that an adapter leaves on them, and finds those of a chain. */

const MARK = Symbol.for('keyscope.operation');

/** The operation that a guard carries; `undefined` for anything else. */
export function operationOf(value: unknown): string | undefined {
  const isHolder = typeof value === 'function' || (typeof value === 'object' && value !== null);
  if (!isHolder || !Object.hasOwn(value, MARK)) return undefined;
  const { [MARK]: operation } = value as { readonly [MARK]: unknown };
  return typeof operation === 'string' && operation !== '' ? operation : undefined;
}

/** The operations of those that are guards, in order. */
export function operationsOf(values: readonly unknown[]): readonly string[] {
  return values.flatMap((value) => operationOf(value) ?? []);
}

/**
 * The operations of the guards in front of the handler of a chain; `null` if it has none, because
 * it has guards alone. The handler is the last function that is no guard, or the first that takes
 * no `next`. Not noticed: a function before a guard that takes `next` and answers itself.
 *
 * @param next Which argument `next` is, from 1.
 */
export function operationsBeforeHandler(
  chain: readonly unknown[],
  next: number,
): readonly string[] | null {
  const last = chain.findLastIndex((each) => operationOf(each) === undefined);
  if (last === -1) return null;
  const first = chain.findIndex((each) => operationOf(each) === undefined && endsBy(each, next));
  return operationsOf(chain.slice(0, first === -1 ? last : first));
}

/** A function without parameters may still read its arguments, as wrappers do. */
function endsBy(value: unknown, next: number): boolean {
  return typeof value === 'function' && value.length > 0 && value.length < next;
}

/** Those before the first function that is none: nothing leads past them. */
export function leadingOperations(chain: readonly unknown[]): readonly string[] {
  const end = chain.findIndex((each) => operationOf(each) === undefined);
  return operationsOf(end === -1 ? chain : chain.slice(0, end));
}
