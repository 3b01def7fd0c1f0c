/** Runs a contract with the test runner of Node. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Runs a file like a user, and returns how many tests pass and fail. */
export async function runByNode(file: string): Promise<{ pass: number; fail: number }> {
  const hooks = [
    '--disable-warning=ExperimentalWarning',
    '--import',
    fileURLToPath(new URL('typescript.ts', import.meta.url)),
  ];
  const args = [...hooks, '--test-reporter=tap', '--test', file];
  // Node tells a test within a test to report only to its parent. This removes that.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const stdout = await promisify(execFile)(process.execPath, args, { env }).then(
    (ended) => ended.stdout,
    // It exits with 1 if a test fails, but prints its report anyway.
    (failed: { readonly stdout: string }) => failed.stdout,
  );
  const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1]);
  return { pass: count('pass'), fail: count('fail') };
}
