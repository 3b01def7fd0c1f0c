/** `keyscope lock`, over a service whose routes are a table. */
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { issueIn, openPlace, type Place, sqliteConfig } from '../../support/command.ts';

let place: Place;
afterEach(() => place.remove());

const ROUTES = [
  ['GET', '/threats', 'listThreats'],
  ['PUT', '/threats/:id', 'updateThreat'],
  ['GET', '/healthz'],
] as const;

type Route = readonly [string, string, ...string[]];

/** A config with these routes, and these scopes for updating a threat. */
function configOf(routes: readonly Route[] = ROUTES, update = "'threats:write'"): string {
  const listed = routes.map(([method, path, ...operations]) => ({ method, path, operations }));
  const table = `{ whoami: [], listThreats: ['threats:read'], updateThreat: [${update}] }`;
  return sqliteConfig('', `routes: async () => ${JSON.stringify(listed)},`, table);
}

/** Opens a service with a committed lock and a reason for its unguarded route. */
async function committed(): Promise<void> {
  place = openPlace(configOf());
  expect(await place.run(['lock', '--write'])).toMatchObject({ exit: 0 });
  const file = place.file('keyscope.lock.json');
  const text = readFileSync(file, 'utf8');
  place.write('keyscope.lock.json', text.replace('"unguarded":null', '"unguarded":"liveness"'));
  place.write('main.lock.json', readFileSync(file, 'utf8'));
}

describe('the lock of a service', () => {
  it('is written, and fails --check until the unguarded route has a reason', async () => {
    place = openPlace(configOf());
    const before = await place.run(['lock', '--check']);
    expect(before).toMatchObject({ exit: 1, stdout: '' });
    expect(before.stderr).toContain('Cannot find keyscope.lock.json. Create it');
    const written = await place.run(['lock', '--write']);
    expect(written).toMatchObject({ exit: 0, stdout: '' });
    expect(written.stderr).toBe('keyscope.lock.json: 3 routes, 3 scopes.\n');
    const bare = await place.run(['lock', '--check']);
    expect(bare.exit).toBe(1);
    expect(bare.stdout).toContain('- `GET /healthz` has no guard, and nobody wrote why.');
  });

  it('passes --check as committed, and keeps its reasons when it is written again', async () => {
    await committed();
    expect(await place.run(['lock', '--check'])).toMatchObject({
      exit: 0,
      stdout: 'No route, tool or scope has changed.\n',
    });
    const text = readFileSync(place.file('keyscope.lock.json'), 'utf8');
    expect(text).toContain('{"unguarded":"liveness","who":"anyone"}');
    await place.run(['lock', '--write']);
    expect(readFileSync(place.file('keyscope.lock.json'), 'utf8')).toBe(text);
  });

  it('drops the reason of a route that has a guard by now when it is written again', async () => {
    await committed();
    place.write('keyscope.config.mjs', configOf([...ROUTES.slice(0, 2), [...ROUTES[2], 'whoami']]));
    expect(await place.run(['lock', '--write'])).toMatchObject({ exit: 0 });
    const text = readFileSync(place.file('keyscope.lock.json'), 'utf8');
    expect(text).not.toContain('liveness');
    expect(await place.run(['lock', '--check'])).toMatchObject({ exit: 0 });
    // The reason does not come back with the next change.
    place.write('keyscope.config.mjs', configOf());
    expect((await place.run(['lock', '--check'])).stdout).toContain('nobody wrote why');
  });

  it('takes patterns from the config, and passes with a note for a new route', async () => {
    const open = ROUTES[2];
    const settings = (...names: readonly string[]): readonly Route[] =>
      names.map((name) => ['GET', `/settings/${name}`]);
    const configWith = (reasons: object, routes: readonly Route[]): string => {
      const field = `reasons: ${JSON.stringify(reasons)}, routes: `;
      return configOf([...routes, open]).replace('routes: ', field);
    };
    const reasons = { '/settings/*': 'people with a session', 'GET /healthz': 'liveness' };
    place = openPlace(configWith(reasons, settings('a', 'b')));
    expect(await place.run(['lock', '--write'])).toMatchObject({ exit: 0 });
    const text = readFileSync(place.file('keyscope.lock.json'), 'utf8');
    expect(text.match(/settings/g)).toHaveLength(3);
    expect(text).toContain('"/settings/*": {"unguarded":"people with a session","routes":{');
    expect(await place.run(['lock', '--check'])).toMatchObject({ exit: 0 });
    place.write('keyscope.config.mjs', configWith(reasons, settings('a', 'b', 'c')));
    expect(await place.run(['lock', '--check'])).toEqual({
      exit: 0,
      stderr: '',
      stdout:
        '### Covered by a pattern\n\n' +
        '- `GET /settings/c` is new, open to anyone: people with a session.\n',
    });
    const odd = { ...reasons, '/setings/*': 'people with a session' };
    place.write('keyscope.config.mjs', configWith(odd, settings('a')));
    const ran = await place.run(['lock', '--check']);
    expect(ran.stderr).toContain('reasons: "/setings/*" applies to no route without a guard');
    expect(ran.exit).toBe(3);
  });

  it.each([
    ['a `who` that is not what its row says', 'keys with threats:read', 'nobody', 'line 10 '],
    [
      'two rows of one route',
      '    "GET /threats"',
      '    "GET /threats": {},\n$&',
      'two rows of "GET /threats", on lines 10 and 11',
    ],
    ['lines that end with CR LF', /\n/g, '\r\n', 'ends its lines with CR LF'],
  ])('fails --check for %s', async (_, from, to, said) => {
    await committed();
    const text = readFileSync(place.file('keyscope.lock.json'), 'utf8');
    place.write('keyscope.lock.json', text.replace(from, to));
    const { exit, stdout, stderr } = await place.run(['lock', '--check']);
    expect(stderr).toContain(`keyscope.lock.json: the lock`);
    expect(stderr).toContain(said);
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
  });

  it.each<[string, string, string]>([
    [
      'a guard that was removed',
      configOf([['GET', '/threats'], ROUTES[1], ROUTES[2]]),
      '`GET /threats` has no guard, and nobody wrote why.',
    ],
    [
      'a guard that was moved',
      configOf([['GET', '/threats', 'whoami'], ROUTES[1], ROUTES[2]]),
      '`GET /threats` no longer needs threats:read (listThreats is now whoami).',
    ],
    [
      'a route that was added',
      configOf([...ROUTES, ['GET', '/export', 'listThreats']]),
      '`GET /export` is new, open to keys with threats:read.',
    ],
    [
      'a policy that was widened',
      configOf(ROUTES, ''),
      '`PUT /threats/:id` no longer needs threats:write. It is open to any key.',
    ],
    ['a route that is gone', configOf([ROUTES[0], ROUTES[2]]), '`PUT /threats/:id` was removed.'],
  ])('fails --check and names %s', async (_, config, said) => {
    await committed();
    place.write('keyscope.config.mjs', config);
    const { exit, stdout } = await place.run(['lock', '--check']);
    expect(stdout).toContain(said);
    expect(exit).toBe(1);
  });

  it('is compared with a file or standard input, with the keys that gain access', async () => {
    await committed();
    const { keyId } = await issueIn(place, 'CI');
    const { keyId: ended } = await issueIn(place, 'old');
    const on = ['--entity', '0a0a0a0a-0000-4000-8000-00000000000a', '--yes'];
    expect(await place.run(['revoke', ended, ...on])).toMatchObject({ exit: 0 });
    const { keyId: suspended } = await issueIn(place, 'in doubt');
    expect(await place.run(['suspend', suspended, ...on])).toMatchObject({ exit: 0 });
    place.write('keyscope.config.mjs', configOf(ROUTES, "'threats:read'"));
    expect(await place.run(['lock', '--write'])).toMatchObject({ exit: 0 });
    const { exit, stdout } = await place.run(['lock', '--against', 'main.lock.json', '--keys']);
    expect(exit).toBe(0);
    expect(stdout).toContain('### Widened\n\n- `PUT /threats/:id` no longer needs threats:write.');
    expect(stdout).toContain('### Live keys that may do more (1)');
    expect(stdout).toContain(keyId);
    expect(stdout).not.toContain(ended);
    expect(stdout).not.toContain(suspended);
    const main = readFileSync(place.file('main.lock.json'), 'utf8');
    const aged = main.replaceAll('"who":"', '"who":"nobody and ');
    const piped = await place.run(['lock', '--against', '-', '--keys'], aged);
    expect(piped).toMatchObject({ exit, stdout });
    const json = await place.run(['lock', '--against', 'main.lock.json', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ isEmpty: false, gains: [] });
    const sarif = await place.run(['lock', '--against', 'main.lock.json', '--sarif']);
    expect(JSON.parse(sarif.stdout)).toMatchObject({ version: '2.1.0' });
  });

  it.each<[readonly string[], number, string]>([
    [[], 2, 'Pass one of --write, --check and --against'],
    [['--write', '--check'], 2, 'Pass one of --write, --check and --against'],
    [
      ['--against', 'main'],
      1,
      'Cannot find the file main. To compare with a commit, run: git show',
    ],
    [['--against', '--output=x'], 2, ''],
    [['--against', 'empty.json'], 1, 'empty.json is empty. Check the command before the pipe'],
    [
      ['--against', '-'],
      1,
      'Standard input is empty. Check the command before the pipe. Example: git show',
    ],
    [['--against', 'keyscope.config.mjs'], 1, 'keyscope.config.mjs: the lock is not JSON'],
    [['--check', '--file', 'other.json'], 1, 'Cannot find other.json.'],
  ])('causes an error for wrong arguments: %j', async (args, exit, said) => {
    await committed();
    place.write('empty.json', '\n');
    const ran = await place.run(['lock', ...args]);
    expect(ran.stderr).toContain(said);
    expect(ran.exit).toBe(exit);
  });

  it('from a newer release causes an error that says so', async () => {
    await committed();
    place.write('keyscope.lock.json', '{ "version": 2 }');
    const newer = await place.run(['lock', '--check']);
    expect(newer.stderr).toContain('keyscope.lock.json: the lock is from a newer version');
    expect(newer.exit).toBe(1);
  });

  it('needs a keyring with a policy, and the routes', async () => {
    place = openPlace();
    const without = await place.run(['lock', '--write']);
    const needs = 'For a lock, the config needs `routes` and a keyring with a policy';
    expect(without.stderr).toContain(needs);
    expect(without.exit).toBe(3);
    place.write('keyscope.config.mjs', sqliteConfig('', 'routes: () => [],'));
    const alone = await place.run(['lock', '--write']);
    expect(alone.stderr).toContain(needs);
    expect(alone.exit).toBe(3);
    const config = configOf().replace(
      /routes: async \(\) => \[.*\],/,
      'routes: () => new Promise(() => {}),',
    );
    place.write('keyscope.config.mjs', config);
    const slow = await place.run(['lock', '--write', '--timeout', '1']);
    expect(slow.stderr).toContain('`routes` of the config did not finish within 1 s');
  });
});
