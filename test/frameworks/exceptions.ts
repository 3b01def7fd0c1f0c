/**
 * The parts of the contract that each framework cannot keep, and why. docs/frameworks.md has the
 * same list.
 */

/** The columns of the table. */
export const NAMES = [
  'fetch',
  'Koa',
  'Next',
  'Elysia',
  'Elysia on Bun',
  'Nest on Express',
  'Nest on Fastify',
  'tRPC',
  'Bun',
  'Deno',
] as const;

export type Name = (typeof NAMES)[number];

/** The notes under the table, by number. */
export const NOTES = [
  'Next keeps the first of two `Authorization` lines, and no handler learns of the second.',
  'tRPC answers HEAD by itself: 204, without a procedure, a body or a look-up.',
] as const;

/** The contract test that fails, and the number of the note that explains it. */
export const EXCEPTIONS: Readonly<Partial<Record<Name, Readonly<Record<string, number>>>>> = {
  Next: { 'two Authorization lines are denied, whatever they are': 1 },
  tRPC: { 'HEAD is denied as GET is, without a body': 2 },
};

/** The table of docs/frameworks.md in Markdown, with a row for each test. */
export function tableOf(tests: readonly string[]): string {
  const cellOf = (name: Name, test: string): string => {
    const note = EXCEPTIONS[name]?.[test];
    return note === undefined ? '✓' : `no (${note})`;
  };
  const rows = tests.map((test) => [test, ...NAMES.map((name) => cellOf(name, test))]);
  const head = ['promise', ...NAMES];
  const widths = head.map((_, at) => {
    return Math.max(...[head, ...rows].map((cells) => (cells[at] ?? '').length));
  });
  const lines = [head, widths.map((width) => '-'.repeat(width)), ...rows];
  const padded = lines.map((cells) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)));
  return padded.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
