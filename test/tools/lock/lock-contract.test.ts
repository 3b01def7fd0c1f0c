/** The tests that `lockContract` registers. */
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

  it('passes if the service matches the committed lock', async () => {
    expect(await run(formatLock(before))).toEqual([]);
  });

  it.each([
    ['a `who` that contradicts its row', 'keys with threats:read', 'any key', 8],
    ['white space', '"version": 1', '"version":  1', 2],
    ['an escape', 'GET /old', 'GET \\u002fold', 7],
    ['a missing line end', '}\n}\n', '}\n}', 11],
    ['an extra line', '}\n}\n', '}\n}\n\n', 12],
  ])('fails at the line of %s', async (_, text, instead, line) => {
    const committed = formatLock(before).replace(text, instead);
    const [said, ...more] = await run(committed);
    expect(said).toContain(`the lock: line ${line} differs from what keyscope writes`);
    expect(said).toContain('Run keyscope lock --write, which keeps its reasons');
    expect(more).toEqual([]);
  });

  it('explains how to fix line ends of CR LF', async () => {
    const [said] = await run(formatLock(before).replaceAll('\n', '\r\n'));
    expect(said).toContain('ends its lines with CR LF. Add `keyscope.lock.json text eol=lf` to');
  });

  it('names the routes that differ', async () => {
    const [unguarded, changed] = await run(formatLock(before), after);
    expect(unguarded).toContain('routes without a guard or a reason: GET /bare. Add a guard');
    expect(changed).toContain('the service differs from the committed lock. Review the changes');
    expect(changed).toContain('`GET /threats` no longer needs threats:read');
    const [outdated] = await run(formatLock(after), before);
    expect(outdated).toContain('`GET /threats` also needs threats:read');
  });
});
