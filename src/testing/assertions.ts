/**
 * The assertions of the contracts. They use no assertion library, so that the contracts run under
 * any test runner and in any runtime.
 */

/** The function that registers a test: `test` of Vitest, `node:test` or `bun:test`. */
export type RegisterTest = (name: string, run: () => Promise<void>) => unknown;

/** Throws unless `holds`. */
export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

/**
 * Writes a value as text, such that equal contents give equal texts. Names are sorted, because
 * databases may reorder them. Values that JSON would drop or convert, such as `undefined`, `NaN`
 * and `bigint`, keep their type in the text.
 */
export function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((element: unknown) => show(element)).join(',')}]`;
  if (typeof value === 'object' && value !== null) return showObject(value);
  const isJson =
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    Number.isFinite(value);
  return isJson ? JSON.stringify(value) : `<${typeof value} ${String(value)}>`;
}

function showObject(value: object): string {
  const fields = new Map<string, unknown>(Object.entries(value));
  const names = [...fields.keys()].sort();
  const shown = names.map((name) => `${JSON.stringify(name)}:${show(fields.get(name))}`);
  return `{${shown.join(',')}}`;
}

/** Throws unless both have the same content, and shows where they differ. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const got = show(actual);
  const wanted = show(expected);
  if (got === wanted) return;
  let at = 0;
  while (got.charAt(at) === wanted.charAt(at)) at++;
  throw new Error(`${what}\n  expected ${excerpt(wanted, at)}\n  but got  ${excerpt(got, at)}`);
}

/** The text around `at`: a whole record with 1,000 entities would be too long for a message. */
function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - 80);
  const before = at > 80 ? '…' : '';
  return `${before}${text.slice(from, at + 120)}`;
}
