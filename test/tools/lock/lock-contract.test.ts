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

  it.each([
    ['a `who` that is not what the row says', 'keys with threats:read', 'any key', 8],
    ['white space', '"version": 1', '"version":  1', 2],
    ['an escape', 'GET /old', 'GET \\u002fold', 7],
    ['no line end', '}\n}\n', '}\n}', 11],
    ['more at its end', '}\n}\n', '}\n}\n\n', 12],
  ])('fails at the line of %s', async (_, text, instead, line) => {
    const committed = formatLock(before).replace(text, instead);
    const [said, ...more] = await run(committed);
    expect(said).toContain(`the lock: line ${line} is not as keyscope writes it`);
    expect(said).toContain('run keyscope lock --write, which keeps its reasons');
    expect(more).toEqual([]);
  });

  it('says what to do about lines that end with CR LF', async () => {
    const [said] = await run(formatLock(before).replaceAll('\n', '\r\n'));
    expect(said).toContain(
      'ends its lines with CR LF: write `keyscope.lock.json text eol=lf` into',
    );
  });

  it('fails by name where it is not', async () => {
    const [unguarded, changed] = await run(formatLock(before), after);
    expect(unguarded).toContain('GET /bare: add a guard, or write in the lock why there is none');
    expect(changed).toContain('`GET /threats` needs threats:read no longer');
    const [outdated] = await run(formatLock(after), before);
    expect(outdated).toContain('`GET /threats` needs threats:read, too');
  });
});
