/** Configs that are missing, wrong, slow, or from another release. */
import { afterEach, describe, expect, it } from 'vitest';
import { ENTITY, openPlace, PEPPER, type Place, sqliteConfig } from '../../support/command.ts';

let place: Place;
afterEach(() => place.remove());

const LIST = ['list', '--entity', ENTITY];

/** Runs `list` with a config, expects exit code 3, and returns standard error. */
async function complaintAbout(config: string | null, more: readonly string[] = []) {
  place = openPlace(config);
  const { exit, stdout, stderr } = await place.run([...LIST, ...more]);
  expect({ exit, stdout, stderr }).toMatchObject({ exit: 3, stdout: '' });
  return stderr;
}

describe('a config', () => {
  it('must exist, and only once', async () => {
    expect(await complaintAbout(null)).toContain('Write one with `keyscope init`');
    place.write('keyscope.config.mjs', '');
    place.write('keyscope.config.ts', '');
    const both = await place.run(LIST);
    expect(both.exit).toBe(3);
    expect(both.stderr).toContain('Found more than one config');
    const named = await place.run([...LIST, '--config', 'other.mjs']);
    expect(named.exit).toBe(3);
    expect(named.stderr).toContain('Cannot find the config');
  });

  it.each([
    ['export default 1;', 'must default-export the result of defineConfig'],
    ['export const keyring = 1;', 'must default-export the result of defineConfig'],
    ['export default { keyring: {}, store: {} };', 'defineConfig from keyscope/cli'],
    ['export default {', 'it threw: Unexpected'],
    ["import 'no-such-package';", "it threw: Cannot find package 'no-such-package'"],
    ["throw new Error('no DATABASE_URL');", 'it threw: no DATABASE_URL'],
    ['throw null;', 'it threw: null'],
    ['export default { [Symbol.for("keyscope.config")]: 2 };', 'made by a newer keyscope'],
    [
      "import { defineConfig } from 'keyscope/cli'; export default defineConfig({});",
      'defineConfig: keyring: pass the keyring that createKeyring returned',
    ],
    [sqliteConfig('', "databse: 'x',"), 'unknown field "databse"'],
    [sqliteConfig('', "peppers: [{ id: 'p1' }],"), 'a list of pepper ids'],
    [sqliteConfig('', "sql: { dialect: 'oracle', query() {} },"), 'pass { dialect:'],
    [sqliteConfig('', 'close: true,'), 'close: pass a function'],
  ])('that is wrong causes an error that says what to write: %s', async (config, instead) => {
    expect(await complaintAbout(config)).toContain(instead);
  });

  it.each([
    ['await new Promise(() => {});', 'that it awaits'],
    ['export default new Promise(() => {});', 'that it exports'],
  ])('that never loads is given up after --timeout: %s', async (config) => {
    expect(await complaintAbout(config, ['--timeout', '1'])).toContain('did not load within 1 s');
  });

  it('may be a promise', async () => {
    place = openPlace(
      sqliteConfig().replace(/export default (.*);$/s, 'export default (async () => $1)();'),
    );
    expect(await place.run(LIST)).toMatchObject({ exit: 0 });
  });

  it('may be TypeScript whose types Node can strip', async () => {
    place = openPlace(null);
    place.write('keyscope.config.ts', `const n: number = 1; ${sqliteConfig()}`);
    expect(await place.run(LIST)).toMatchObject({ exit: 0 });
    place.write('keyscope.config.ts', `enum E { a } ${sqliteConfig()}`);
    const { exit, stderr } = await place.run(LIST);
    expect(exit).toBe(3);
    expect(stderr).toContain('Node only strips types');
  });

  it('that throws its secrets gets them masked', async () => {
    const lines = [
      `throw new Error('pepper=${PEPPER.replaceAll(' ', '-')}1`,
      `at postgres://ada:hunter2@db/keys and ' + process.env.MY_PEPPER);`,
    ];
    place = openPlace(lines.join(' '));
    const { stderr } = await place.run(LIST, '', { MY_PEPPER: 'correct horse battery staple' });
    expect(stderr).toContain('it threw');
    for (const secret of ['thirty-two', 'hunter2', 'horse']) expect(stderr).not.toContain(secret);
  });
});

describe('close of a config', () => {
  const closing = `close() { console.error('closed'); client.close(); },`;

  it.each([
    [LIST, 0],
    [['show', ENTITY, '--entity', ENTITY], 1],
    [['show', 'x', '--entity', ENTITY], 2],
  ])('is called at the end of %j, with exit code %i', async (args, exit) => {
    place = openPlace(sqliteConfig('', closing));
    const ran = await place.run(args);
    expect(ran.exit).toBe(exit);
    // A usage error is reported before the config is loaded.
    expect(ran.stderr.includes('closed')).toBe(exit !== 2);
  });

  it('does not keep the command alive, and its errors are reported', async () => {
    const lines = 'setInterval(() => {}, 1000);';
    place = openPlace(sqliteConfig(lines, "close() { throw new Error('too late'); },"));
    const { exit, stderr } = await place.run(LIST);
    expect(exit).toBe(0);
    expect(stderr).toContain("The config's close() failed: too late");
  });

  it('is given up after a time limit', async () => {
    place = openPlace(sqliteConfig('', 'close: () => new Promise(() => {}),'));
    const { exit, stderr } = await place.run([...LIST, '--timeout', '1']);
    expect(exit).toBe(0);
    expect(stderr).toContain('it did not finish within 1 s');
  });
});
