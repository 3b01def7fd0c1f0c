/** The tests of the contract that a framework cannot pass, and why, as in docs/frameworks.md. */

/** All that run the contract. */
export const NAMES = [
  'Express 4',
  'fetch',
  'Koa',
  'Next',
  'Elysia',
  'Elysia on Bun',
  'Nest on Express',
  'Nest on Fastify',
  'Nest 11 on Express',
  'Nest 11 on Fastify',
  'tRPC',
  'Bun',
  'Deno',
] as const;

export type Name = (typeof NAMES)[number];

/** The exceptions as the page prints them, by number. */
export const NOTES = [
  'Next keeps the first of two `Authorization` lines, and no handler learns of the second.',
  'tRPC answers HEAD itself: 204, without a procedure, a body or a look-up.',
] as const;

/** For each framework, the test that fails, and the number of the note that says why. */
export const EXCEPTIONS: Readonly<Partial<Record<Name, Readonly<Record<string, number>>>>> = {
  Next: { 'denies two Authorization lines, whatever they contain': 1 },
  tRPC: { 'denies HEAD like GET, without a body': 2 },
};
