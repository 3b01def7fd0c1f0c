import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import type { Reporter } from 'vitest/node';
import './test/support/exit-flags.ts';
import { packageEntries } from './test/support/package-entries.ts';

// Examples import the package by name. Here the name resolves to the source, so that coverage
// counts it and no stale build is used.
const pathOf = (source: string) => fileURLToPath(new URL(source, import.meta.url));
const alias = [
  { find: /^#noble$/, replacement: pathOf('src/native/noble.ts') },
  ...packageEntries().map(({ specifier, source }) => ({
    find: new RegExp(`^${specifier}$`),
    replacement: pathOf(source),
  })),
];

// A plain-text summary of the run for logs: what was skipped, by outermost suite, and the totals.
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

// `npm test` runs the unit tests, the repository's checks of itself (layout, style, sizes, supply
// chain), and the examples over real sockets. Tests that need a database server, a cluster,
// separate processes or a long time run with `npm run test:stores`. The projects run one after
// another, because a process that switches between them reloads everything.
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
        'test/{core,management,http,notation,native,reports,admin,cache,jwt,keyless,leaks,mcp,schemas,stores,testing,tools}/**/*.test.ts',
      ]),
      project('lint', 0, ['test/lint/*.test.ts']),
      project('repository', 2, ['test/*.test.ts', 'test/architecture/*.test.ts']),
      project('examples', 3, ['test/examples/*.test.ts', 'test/recipes/*.test.ts']),
      project('servers', 4, ['test/{servers,slow}/**/*.test.ts']),
      project('outside', 5, ['test/outside/*/*.test.ts']),
      frameworks,
    ],
    reporters: ['default', summary],
    sequence: { shuffle: true },
    setupFiles: ['test/support/runs.ts'],
    // One process per core instead of one per file, which is faster. Tests restore what they stub.
    isolate: false,
    // All cores: by default vitest leaves one free, which is half of a two-core machine.
    maxWorkers: '100%',
    // Only for tests that hang. On a busy machine even half a minute was too short for tests that
    // read the whole source.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text'],
      // Only interfaces and re-exports: nothing to run.
      exclude: ['src/**/index.ts', 'src/core/{invalidation,store,tokens}.ts', 'src/jwt/jose.ts'],
      thresholds: {
        'src/{core,management,http,notation,native,reports}/*.ts': { lines: 100, branches: 100 },
        'src/{admin,cache,jwt,keyless,leaks,mcp,schemas}/*.ts': { lines: 100, branches: 100 },
        'src/tools/{lock,openapi}/*.ts': { lines: 100, branches: 100 },
        'src/stores/**/*.ts': { lines: 95 },
      },
    },
  },
});
