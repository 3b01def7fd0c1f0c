/** The lock as tests of a service. */
import { formatLock, lockContract } from 'keyscope/lock';
import { describe, expect, it } from 'vitest';
import { lockWith } from '../../support/locks.ts';

const SCOPES = { 'threats:read': 'open' } as const;
const before = lockWith(SCOPES, { 'GET /threats': ['threats:read'], 'GET /old': [] });
const after = lockWith(SCOPES, { 'GET /threats': [], 'GET /bare': null });

describe('lockContract', () => {
  async function run(committed: string, lock = before): Promise<readonly string[]> {
    const bodies: [string, () => Promise<void>][] = [];
    lockContract(
      (name, body) => bodies.push([name, body]),
      async () => ({ committed, lock }),
    );
    const said: string[] = [];
    for (const [name, body] of bodies) {
      await body().catch((error: unknown) => said.push(`${name}: ${String(error)}`));
    }
    expect(bodies).toHaveLength(2);
    return said;
  }

  it('passes where the service is what is committed', async () => {
    expect(await run(formatLock(before))).toEqual([]);
  });

  it('fails by name where it is not', async () => {
    const [unguarded, changed] = await run(formatLock(before), after);
    expect(unguarded).toContain('GET /bare: add a guard, or write in the lock why there is none');
    expect(changed).toContain('`GET /threats` needs threats:read no longer');
    const [outdated] = await run(formatLock(after), before);
    expect(outdated).toContain('`GET /threats` needs threats:read, too');
  });
});
