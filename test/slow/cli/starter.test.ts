/** What `keyscope init` writes, in projects of every kind. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { openPlace, PEPPER, type Place } from '../../support/command.ts';

let place: Place;
afterEach(() => place?.remove());

const EXPRESS = `{
  "name": "@acme/web-shop",
  "dependencies": { "express": "5", "pg": "8" },
  "devDependencies": { "typescript": "6" }
}`;

describe('init', () => {
  it('writes files for what package.json has, and says what is missing', async () => {
    place = openPlace(null);
    place.write('package.json', EXPRESS);
    const { stdout, stderr, exit } = await place.run(['init', '--yes', '--json']);
    expect(exit).toBe(0);
    const paths = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { path: string }).path);
    expect(paths.sort()).toEqual([
      'keyscope.config.mts',
      'keyscope/adapter.mts',
      'keyscope/keyring.mts',
      'keyscope/server.mts',
    ]);
    const keyring = readFileSync(place.file('keyscope/keyring.mts'), 'utf8');
    expect(keyring).toContain('postgresStore');
    expect(keyring).toContain("prefix: 'web'");
    expect(stderr).toContain('npm install keyscope\n');
    expect(stderr).toContain('export DATABASE_URL=');
    expect(stderr).toContain('node keyscope/server.mts');
  });

  // A project with another framework got Express without a word.
  it('says what it took where package.json has nothing known', async () => {
    place = openPlace(null);
    place.write('package.json', '{ "dependencies": { "@hapi/hapi": "21", "pg": "8" } }');
    const guessed = await place.run(['init', '--yes']);
    expect(guessed.stderr).toContain(
      'package.json has no known framework. Using --framework express.',
    );
    expect(guessed.stderr).not.toContain('known database');
  });

  it('leaves out what it has no guard for', async () => {
    place = openPlace(null);
    place.write('package.json', '{ "type": "module" }');
    const { stdout, stderr } = await place.run(['init', '--yes', '--framework', 'none']);
    expect(stdout).toBe('keyscope.config.mjs\nkeyscope/keyring.mjs\n');
    expect(stderr).toContain('guard your routes with keyring.admit');
    expect(stderr).not.toContain('express');
    expect(await place.run(['migrate'], '', { KEYSCOPE_PEPPER: PEPPER })).toMatchObject({
      exit: 0,
    });
  });

  it('overwrites nothing, and then writes nothing', async () => {
    place = openPlace(null);
    place.write('package.json', EXPRESS);
    mkdirSync(place.file('keyscope'));
    place.write('keyscope/adapter.mts', 'mine');
    const { exit, stderr } = await place.run(['init', '--yes']);
    expect(exit).toBe(1);
    expect(stderr).toContain('keyscope/adapter.mts already exists');
    expect(readFileSync(place.file('keyscope/adapter.mts'), 'utf8')).toBe('mine');
    expect(existsSync(place.file('keyscope.config.mts'))).toBe(false);
  });

  it.each([
    ['no package.json', [], 1, 'npm init'],
    ['{', [], 1, 'npm init'],
    ['{}', ['--framework', 'expres'], 2, 'Did you mean express?'],
    ['{}', ['--database', 'oracle'], 2, 'one of sqlite, postgres, mysql, redis'],
  ])('refuses %s %j', async (text, args, exit, instead) => {
    place = openPlace(null);
    if (text.startsWith('{')) place.write('package.json', text);
    const ran = await place.run(['init', '--yes', ...args]);
    expect(ran.exit).toBe(exit);
    expect(ran.stderr).toContain(instead);
  });

  // A `.ts` file beside a package.json that says "commonjs", as `npm init` does, may not import.
  it.each(['commonjs', 'module'])('writes a config that loads in a package of %s', async (type) => {
    place = openPlace(null);
    place.write('package.json', JSON.stringify({ type, devDependencies: { typescript: '6' } }));
    await place.run(['init', '--yes']);
    const without = await place.run(['doctor'], '', { KEYSCOPE_PEPPER: '' });
    expect(without.exit).toBe(3);
    expect(without.stderr).toContain('secret');
    const env = { KEYSCOPE_PEPPER: PEPPER };
    expect(await place.run(['migrate'], '', env)).toMatchObject({ exit: 0 });
    expect(await place.run(['doctor'], '', env)).toMatchObject({ exit: 0 });
  });
});
