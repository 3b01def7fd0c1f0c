/** The published contract, with the exceptions that docs/frameworks.md lists. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { adapterContract } from 'keyscope/testing';
import { beforeAll, expect, test } from 'vitest';
import { EXCEPTIONS, type Name } from './exceptions.ts';
import { RUNNING } from './installed.ts';

/** The names of its tests, from an app that no test calls. */
export const TESTS: string[] = [];
adapterContract(
  (name) => TESTS.push(name),
  () => ({ url: '' }),
);

/** Expects a test of the contract to pass, or to fail if the framework has an exception. */
export async function hold(
  framework: string,
  name: string,
  run: () => Promise<void>,
): Promise<void> {
  const note = EXCEPTIONS[framework as Name]?.[name];
  if (note === undefined) await run();
  else await expect(run()).rejects.toThrow();
}

/** Registers the tests that `contract-child.ts` runs in a separate process. */
export function runContract(framework: string, command: readonly string[], where: string): void {
  let found: Readonly<Record<string, string | null>> = {};
  beforeAll(async () => {
    const [program = '', ...args] = command;
    const child = await promisify(execFile)(
      program,
      [...args, 'contract-child.ts', where],
      RUNNING,
    );
    const line = /^FOUND (.+)$/m.exec(child.stdout)?.[1];
    found = JSON.parse(line ?? '{}') as typeof found;
  });

  test.each(TESTS)('%s', (name) =>
    hold(framework, name, async () => {
      const error = found[name];
      if (error !== null) throw new Error(error ?? 'the test did not run');
    }),
  );
}
