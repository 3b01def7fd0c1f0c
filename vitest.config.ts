import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import type { Reporter } from 'vitest/node';
import { packageEntries } from './test/support/package-entries.ts';

// Examples import the package by name; here that is the source, so that coverage counts and no
// build is stale.
const alias = [
  { find: /^#noble$/, replacement: new URL('src/native/noble.ts', import.meta.url).pathname },
  ...packageEntries().map(({ specifier, source }) => ({
    find: new RegExp(`^${specifier}$`),
    replacement: new URL(source, import.meta.url).pathname,
  })),
];

// The run in plain lines, for whoever reads a log and not a terminal: what was skipped by the name
// of its outermost suite, and the sum.
const summary: Reporter = {
  onTestRunEnd(modules) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const skipped = new Map<string, number>();
    for (const test of tests.filter((each) => each.result().state === 'skipped')) {
      const name = `${test.module.relativeModuleId}: ${test.fullName.split(' > ')[0]}`;
      skipped.set(name, (skipped.get(name) ?? 0) + 1);
    }
    for (const [name, count] of skipped) console.log(`skipped ${count} of ${name}`);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    console.log(
      `\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`,
    );
  },
};

// `npm test` runs the units, what the repository says of itself (layout, style, sizes, supply chain),
// and the examples over real sockets. What needs a database server, a cluster, processes of its own
// or long is apart: `npm run test:stores`.
// One project after another: a process that changes between them loads everything anew each time.
function project(
  name: string,
  groupOrder: number,
  include: string[],
): TestProjectInlineConfiguration {
  return { extends: true, test: { name, include, exclude: [], sequence: { groupOrder } } };
}

const frameworks = project('frameworks', 6, ['test/{frameworks,orms}/*.test.ts']);
frameworks.test = { ...frameworks.test, globalSetup: 'test/support/example-projects.ts' };

export default defineConfig({
  resolve: { alias },
  test: {
    projects: [
      project('unit', 1, [
        'test/{core,management,http,native,admin,cache,jwt,leaks,mcp,schemas,stores,testing,tools}/**/*.test.ts',
      ]),
      project('repository', 2, ['test/*.test.ts', 'test/architecture/*.test.ts']),
      project('examples', 3, ['test/examples/*.test.ts', 'test/recipes/*.test.ts']),
      project('servers', 4, ['test/{servers,slow}/**/*.test.ts']),
      project('conformance', 5, ['test/{conformance,moving,observing,validators}/*.test.ts']),
      frameworks,
    ],
    reporters: ['default', summary],
    sequence: { shuffle: true },
    setupFiles: ['test/support/runs.ts'],
    // One process a core instead of one a file, which is faster. Tests restore what they stub.
    isolate: false,
    // All of them: by itself vitest leaves one free, which on two is half.
    maxWorkers: '100%',
    // For what hangs. On a busy machine even half a minute has been too little for what reads the
    // whole source.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text'],
      // Interfaces and re-exports alone: nothing to run.
      exclude: ['src/**/index.ts', 'src/core/{invalidation,store,tokens}.ts', 'src/jwt/jose.ts'],
      thresholds: {
        'src/{core,management,management/reports,http,native}/*.ts': { lines: 100, branches: 100 },
        'src/{admin,cache,jwt,leaks,mcp,schemas}/*.ts': { lines: 100, branches: 100 },
        'src/tools/{lock,openapi}/*.ts': { lines: 100, branches: 100 },
        'src/stores/**/*.ts': { lines: 95 },
      },
    },
  },
});
