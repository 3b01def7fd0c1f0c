/** Everything that `npm run lab` can run: what measures, or takes minutes. */

/** One of them. The file that it runs says what it does, and which options it takes. */
export interface Experiment {
  /** How long it takes on two cores. */
  readonly minutes: number;
  readonly about: string;
  /** Folders with packages of their own. */
  readonly folders?: readonly string[];
  /** Whether it imports the source, or the package, which is then built first. */
  readonly imports?: 'source' | 'build';
  /** A file for Node, or the files of a Vitest project, and variables for them. */
  readonly steps: readonly Step[];
}

/** A step of an experiment. */
export type Step =
  | { readonly file: string; readonly args?: readonly string[] }
  | { readonly tests: readonly string[]; readonly env: Readonly<Record<string, string>> };

export const EXPERIMENTS: Readonly<Record<string, Experiment>> = {
  accidents: {
    minutes: 20,
    about: 'accidents of databases under load',
    imports: 'build',
    steps: [{ file: 'test/accidents/run.ts' }],
  },
  addressing: {
    minutes: 10,
    about: 'pages of an entity that a million keys address',
    imports: 'build',
    steps: [{ file: 'test/long/addressing.ts' }],
  },
  drivers: {
    minutes: 15,
    about: 'the store contract on every driver, oldest and newest',
    folders: ['test/drivers'],
    imports: 'source',
    steps: [{ file: 'test/drivers/run.ts' }],
  },
  edits: {
    minutes: 5,
    about: 'random edits of rows by an attacker',
    steps: [
      { tests: ['test/servers/random-edits.test.ts'], env: { KEYSCOPE_TEST_EDITS: '10000' } },
    ],
  },
  exhaustive: {
    minutes: 1,
    about: 'every order of the steps of concurrent calls',
    imports: 'source',
    steps: [{ file: 'test/long/exhaustive.ts' }],
  },
  fuzz: {
    minutes: 60,
    about: 'readers of untrusted input, ten minutes each',
    imports: 'source',
    steps: [{ file: 'test/long/fuzz/run.ts' }],
  },
  instances: {
    minutes: 5,
    about: '10 to 100 instances of a service on one PostgreSQL',
    imports: 'build',
    steps: [{ file: 'test/long/instances.ts' }],
  },
  laws: {
    minutes: 15,
    about: 'the property tests, 10,000 runs each',
    steps: [{ file: 'test/long/laws.ts' }],
  },
  linear: {
    minutes: 2,
    about: 'slow inputs for the readers of untrusted text',
    imports: 'build',
    steps: [{ file: 'test/long/linear.ts' }],
  },
  load: {
    minutes: 10,
    about: 'a distant database and a locked one',
    imports: 'build',
    steps: [
      { file: 'test/long/load.ts' },
      { tests: ['test/servers/locks.test.ts'], env: { KEYSCOPE_TEST_LOCK_SECONDS: '70' } },
    ],
  },
  lock: {
    minutes: 10,
    about: 'the list of routes of random apps',
    imports: 'source',
    steps: [{ file: 'test/long/lock.ts' }],
  },
  mutation: {
    minutes: 120,
    about: 'Stryker on what decides',
    folders: ['test/mutation'],
    steps: [
      {
        file: 'test/mutation/node_modules/.bin/stryker',
        args: ['run', 'test/mutation/stryker.config.json'],
      },
    ],
  },
  overflow: {
    minutes: 2,
    about: 'pages of the built site that are too wide',
    folders: ['docs', 'test/browser'],
    steps: [{ file: 'docs/check-overflow.mjs' }],
  },
  races: {
    minutes: 10,
    about: 'processes that are killed, and 20,000 keys that a thief outruns',
    steps: [
      {
        tests: ['test/servers/processes.test.ts', 'test/servers/outrun.test.ts'],
        env: { KEYSCOPE_TEST_RUNS: '1000' },
      },
    ],
  },
  sabotage: {
    minutes: 60,
    about: 'each safeguard switched off; a test has to notice',
    steps: [{ file: 'test/long/sabotage/run.ts' }],
  },
  scan: {
    minutes: 2,
    about: 'the scanner on a file of 1 GiB',
    imports: 'build',
    steps: [{ file: 'test/long/scan.ts' }],
  },
  screenshots: {
    minutes: 1,
    about: 'the pictures of the console',
    folders: ['test/browser'],
    imports: 'build',
    steps: [{ file: 'test/browser/screenshots.ts' }],
  },
  soak: {
    minutes: 20,
    about: 'an accident each minute on every engine',
    imports: 'build',
    steps: [{ file: 'test/accidents/soak.ts' }],
  },
  timing: {
    minutes: 5,
    about: 'whether the time of a refusal tells anything',
    imports: 'build',
    steps: [{ file: 'test/long/timing.ts' }],
  },
};
