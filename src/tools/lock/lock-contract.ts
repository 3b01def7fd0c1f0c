/** Tests that compare a service with its lock. Use them with or instead of the command. */
import { escapeLine, escapeLines } from '../escape.js';
import type { AccessLock } from './access-lock.js';
import { diffLocks } from './diff-locks.js';
import { lockMarkdown } from './lock-markdown.js';
import { assertAsWritten, parseLock } from './lock-text.js';

/** The function that registers a test: `test` of Vitest, Jest or `node:test`. */
type TestFunction = (name: string, body: () => Promise<void>) => unknown;

/** The committed lock and the current one. */
export interface LockContractInput {
  /** The text of the committed file. */
  readonly committed: string;
  /** The lock of the service in its current state. */
  readonly lock: AccessLock;
}

/**
 * Registers two tests: every route has a guard or a reason, and the committed lock matches the
 * service. The text must match exactly.
 *
 * @example
 * lockContract(test, async () => ({
 *   committed: await readFile('keyscope.lock.json', 'utf8'),
 *   lock: lockOf({ keyring, routes: routesOf(app), reasons }),
 * }));
 */
export function lockContract(
  test: TestFunction,
  make: () => LockContractInput | Promise<LockContractInput>,
): void {
  test('every route has a guard or a reason', async () => {
    const { committed, lock } = await make();
    const { unguarded } = diffLocks(parseLock(committed), lock);
    if (unguarded.length === 0) return;
    const routes = unguarded.map(({ route }) => route).join(', ');
    const problem = `routes without a guard or a reason: ${escapeLine(routes)}`;
    throw new Error(`${problem}. Add a guard, or pass lockOf a reason for each`);
  });

  test('the committed lock matches the service', async () => {
    const { committed, lock } = await make();
    const before = parseLock(committed);
    const diff = diffLocks(before, lock);
    if (!diff.isEmpty) {
      const changes = escapeLines(lockMarkdown(diff));
      const advice = 'Review the changes, then run keyscope lock --write';
      throw new Error(`the service differs from the committed lock. ${advice}:\n\n${changes}`);
    }
    assertAsWritten(committed, diff.covered.length === 0 ? lock : before);
  });
}
