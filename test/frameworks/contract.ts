/** The published contract, with each framework's exceptions from docs/frameworks.md. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { adapterContract } from 'keyscope/testing';
import { beforeAll, expect, test } from 'vitest';
import { EXCEPTIONS, type Name } from './exceptions.ts';
import { RUNNING } from './installed.ts';

/** The names of the contract's tests, from an app that is never called. */
export const TESTS: string[] = [];
adapterContract(
  (name) => TESTS.push(name),
  () => ({ url: '' }),
);

/** Runs a test of the contract. It must pass, or fail if the framework has an exception. */
export async function hold(
  framework: string,
  name: string,
  run: () => Promise<void>,
): Promise<void> {
  const note = EXCEPTIONS[framework as Name]?.[name];
  if (note === undefined) await run();
  else await expect(run()).rejects.toThrow();
}

/** Registers the tests that `contract-child.ts` runs in a child process. */
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
