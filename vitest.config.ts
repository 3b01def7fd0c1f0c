import { defineConfig } from 'vitest/config';

const source = (path: string) => new URL(`./src/${path}`, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    // Examples import the package by name; here that is the source, so that coverage counts and no build is stale.
    alias: [
      { find: /^keyscope$/, replacement: source('index.ts') },
      { find: /^keyscope\/(.+)$/, replacement: source('$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    sequence: { shuffle: true },
    // One process a core instead of one a file, which is faster. Tests restore what they stub.
    isolate: false,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text'],
      // Interfaces and re-exports alone: nothing to run.
      exclude: ['src/index.ts', 'src/store.ts', 'src/tokens.ts'],
      thresholds: { 'src/!(testing).ts': { lines: 100, branches: 100 }, 'src/stores/*.ts': { lines: 95 } },
    },
  },
});
