/** Questions on a real terminal. */
import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import {
  ENTITY,
  hasTerminal,
  issueIn,
  openPlace,
  type Place,
  talk,
} from '../../support/command.ts';

let place: Place;
afterEach(() => place.remove());

const ON = ['--entity', ENTITY];

async function stateOf(keyId: string): Promise<unknown> {
  const { stdout } = await place.run(['show', keyId, ...ON, '--json']);
  return (JSON.parse(stdout) as { readonly state: unknown }).state;
}

describe.skipIf(!hasTerminal)('on a terminal (script of util-linux)', () => {
  const inPlace = (args: readonly string[]) => `cd '${place.file('')}' && ${place.line(args)}`;

  it.each([
    ['y\n', 0, 'revoked'],
    ['n\n', 1, 'live'],
    ['\n', 1, 'live'],
    ['\u0004', 1, 'live'],
    ['\u0003', 130, 'live'],
  ])('revoke shows the key and asks: %j', async (typed, exit, state) => {
    place = openPlace();
    const { keyId } = await issueIn(place, 'Payroll');
    const args = ['revoke', keyId, ...ON];
    const ran = await talk(inPlace(args), [['for good? [y/N]', typed]]);
    expect(ran.stdout).toMatch(/Revoke acme_…\w{4} “Payroll” \(live\), for good\?/);
    expect(ran.exit).toBe(exit);
    expect(await stateOf(keyId)).toBe(state);
  });

  it('whois does not echo the key', async () => {
    place = openPlace();
    const { key, keyId } = await issueIn(place);
    const typed = `${key.slice(0, 20)}x\u007f${key.slice(20)}\r`;
    const ran = await talk(inPlace(['whois']), [['Key (not shown):', typed]]);
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain(keyId);
    expect(ran.stdout).not.toContain(key.slice(5, 12));
    const ended = await talk(inPlace(['whois']), [['Key (not shown):', 'acme_\u0003']]);
    expect(ended.exit).toBe(130);
  });

  it('a table fits into it', async () => {
    place = openPlace();
    await issueIn(place, 'n'.repeat(100));
    const { stdout } = await talk(inPlace(['list', ...ON]), [], 80);
    const lines = stdout.trim().split(/\r?\n/);
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('init asks for the framework and the database', async () => {
    place = openPlace(null);
    place.write('package.json', '{ "name": "shop", "devDependencies": { "typescript": "6" } }');
    const said = [
      ['Which framework', 'hono\n'],
      ['Which database', '\n'],
    ] as const;
    const { exit } = await talk(inPlace(['init']), said);
    expect(exit).toBe(0);
    expect(readFileSync(place.file('keyscope/adapter.mts'), 'utf8')).toContain("from 'hono'");
    expect(existsSync(place.file('keyscope.config.mts'))).toBe(true);
  });
});
