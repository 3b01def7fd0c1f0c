/** How the contracts register their tests, whichever test runner is used. */

/** What registers a test: `test` of vitest, `node:test` or `bun:test`. */
export type RegisterTest = (name: string, run: () => Promise<void>) => unknown;
