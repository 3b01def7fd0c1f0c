/** The tests of the contract that a framework cannot pass, and why, as in docs/frameworks.md. */

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
  'tRPC answers HEAD itself: 204, without a procedure, a body or a look-up.',
] as const;

/** For each framework, the test that fails, and the number of the note that says why. */
export const EXCEPTIONS: Readonly<Partial<Record<Name, Readonly<Record<string, number>>>>> = {
  Next: { 'denies two Authorization lines, whatever they contain': 1 },
  tRPC: { 'denies HEAD like GET, without a body': 2 },
};

/** Makes the table of docs/frameworks.md, in Markdown: a row for each test. */
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
