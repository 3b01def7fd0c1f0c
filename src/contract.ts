/** What the published contracts have in common: how a test is registered, and how it says which promise was broken. */

/** What registers a test: `test` of vitest, `node:test` or `bun:test`. */
export type RegisterTest = (name: string, run: () => Promise<void>) => unknown;

/** Throws unless `holds`. */
export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

/**
 * One text per content. Names are sorted, for databases may reorder a table; `undefined`, `NaN`, `bigint` and
 * anything else that is no JSON differ from whatever JSON would make of them.
 */
export function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(show).join(',')}]`;
  if (typeof value !== 'object' || value === null) {
    const json = typeof value === 'string' || value === null || Number.isFinite(value) || typeof value === 'boolean';
    return json ? JSON.stringify(value) : `<${typeof value} ${String(value)}>`;
  }
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${show((value as Record<string, unknown>)[name])}`).join(',')}}`;
}

/** Throws unless both have the same content, and shows where they part. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [got, wanted] = [show(actual), show(expected)];
  if (got === wanted) return;
  // Where they part, with what stands around: a record of 1,000 entities is no message.
  let at = 0;
  while (got.charAt(at) === wanted.charAt(at)) at++;
  const part = (text: string) => `${at > 80 ? '…' : ''}${text.slice(Math.max(0, at - 80), at + 120)}`;
  throw new Error(`${what}\n  expected ${part(wanted)}\n  but got  ${part(got)}`);
}
