/** The lock as tests of a service, beside or instead of the command. */
import { escapeLine, escapeLines } from '../escape.js';
import type { AccessLock } from './access-lock.js';
import { diffLocks } from './diff-locks.js';
import { lockMarkdown } from './lock-markdown.js';
import { assertAsWritten, parseLock } from './lock-text.js';

/** The function that makes a test, such as `test` of Vitest, Jest or `node:test`. */
type TestFunction = (name: string, body: () => Promise<void>) => unknown;

/** What is compared. */
export interface LockContractInput {
  /** The text of the committed file. */
  readonly committed: string;
  /** The lock of the service as it is. */
  readonly lock: AccessLock;
}

/**
 * Tests that a service is what its committed lock says: every route has a guard or a reason, and
 * nobody may call more or less than is written. The text is compared exactly.
 *
 * @example
 * lockContract(test, async () => ({
 *   committed: await readFile('keyscope.lock.json', 'utf8'),
 *   lock: lockOf({ catalog, policy, routes: routesOf(app), reasons }),
 * }));
 */
export function lockContract(
  test: TestFunction,
  make: () => LockContractInput | Promise<LockContractInput>,
): void {
  test('every route has a guard, or a reason to have none', async () => {
    const { committed, lock } = await make();
    const { unguarded } = diffLocks(parseLock(committed), lock);
    if (unguarded.length === 0) return;
    const routes = unguarded.map(({ route }) => route).join(', ');
    throw new Error(`${escapeLine(routes)}: add a guard, or write in the lock why there is none`);
  });

  test('who may call what is as committed', async () => {
    const { committed, lock } = await make();
    const diff = diffLocks(parseLock(committed), lock);
    if (!diff.isEmpty) {
      const changes = escapeLines(lockMarkdown(diff));
      throw new Error(`the lock is of another service:\n\n${changes}`);
    }
    assertAsWritten(committed, lock);
  });
}
