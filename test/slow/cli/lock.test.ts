/** `keyscope lock`, over a service that is a table, in a repository of its own. */
import { execFileSync } from 'node:child_process';
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

/** A config whose service has these routes and needs these scopes to update a threat. */
function configOf(routes: readonly Route[] = ROUTES, update = "'threats:write'"): string {
  const listed = routes.map(([method, path, ...operations]) => ({ method, path, operations }));
  const policy = `definePolicy(catalog, {
    whoami: [], listThreats: ['threats:read'], updateThreat: [${update}],
  })`;
  const fields = `policy: ${policy}, routes: async () => ${JSON.stringify(listed)},`;
  const config = sqliteConfig('', fields);
  return config.replace('import { createKeyring,', 'import { createKeyring, definePolicy,');
}

function git(...args: readonly string[]): void {
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  execFileSync('git', [...identity, ...args], { cwd: place.file(''), stdio: 'pipe' });
}

/** A service whose lock is committed, with a reason for the route without a guard. */
async function committed(): Promise<void> {
  place = openPlace(configOf());
  expect(await place.run(['lock', '--write'])).toMatchObject({ exit: 0 });
  const file = place.file('keyscope.lock.json');
  const text = readFileSync(file, 'utf8');
  place.write('keyscope.lock.json', text.replace('"unguarded":null', '"unguarded":"liveness"'));
  git('init', '--quiet', '--initial-branch=main');
  git('add', 'keyscope.lock.json');
  git('commit', '--quiet', '--message=lock');
}

describe('the lock of a service', () => {
  it('is written, and is refused until the route without a guard has a reason', async () => {
    place = openPlace(configOf());
    const before = await place.run(['lock', '--check']);
    expect(before).toMatchObject({ exit: 1, stdout: '' });
    expect(before.stderr).toContain('There is no keyscope.lock.json here: write it');
    const written = await place.run(['lock', '--write']);
    expect(written).toMatchObject({ exit: 0, stdout: '' });
    expect(written.stderr).toBe('keyscope.lock.json: 3 routes, 3 scopes.\n');
    const bare = await place.run(['lock', '--check']);
    expect(bare.exit).toBe(1);
    expect(bare.stdout).toContain('- `GET /healthz` has no guard, and nobody wrote why.');
  });

  it('passes as it was committed, and keeps its reasons when it is written anew', async () => {
    await committed();
    expect(await place.run(['lock', '--check'])).toMatchObject({
      exit: 0,
      stdout: 'Who may call what has not changed.\n',
    });
    const text = readFileSync(place.file('keyscope.lock.json'), 'utf8');
    await place.run(['lock', '--write']);
    const again = readFileSync(place.file('keyscope.lock.json'), 'utf8');
    expect(again).toBe(text.replace('anyone, for no reason that is written', 'anyone: liveness'));
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
      '`GET /threats` needs threats:read no longer (listThreats is now whoami).',
    ],
    [
      'a route that was added',
      configOf([...ROUTES, ['GET', '/export', 'listThreats']]),
      '`GET /export` is new, for keys with threats:read.',
    ],
    [
      'a policy that was widened',
      configOf(ROUTES, ''),
      '`PUT /threats/:id` needs threats:write no longer. It is for any key.',
    ],
    ['a route that is gone', configOf([ROUTES[0], ROUTES[2]]), '`PUT /threats/:id` is gone.'],
  ])('fails by name for %s', async (_, config, said) => {
    await committed();
    place.write('keyscope.config.mjs', config);
    const { exit, stdout } = await place.run(['lock', '--check']);
    expect(stdout).toContain(said);
    expect(exit).toBe(1);
  });

  it('is compared with that of a commit, with the keys that gain', async () => {
    await committed();
    const { keyId } = await issueIn(place, 'CI');
    const { keyId: ended } = await issueIn(place, 'old');
    const on = ['--entity', '0a0a0a0a-0000-4000-8000-00000000000a', '--yes'];
    expect(await place.run(['revoke', ended, ...on])).toMatchObject({ exit: 0 });
    place.write('keyscope.config.mjs', configOf(ROUTES, "'threats:read'"));
    expect(await place.run(['lock', '--write'])).toMatchObject({ exit: 0 });
    const { exit, stdout } = await place.run(['lock', '--against', 'main', '--keys']);
    expect(exit).toBe(0);
    expect(stdout).toContain('### Widened\n\n- `PUT /threats/:id` needs threats:write no longer.');
    expect(stdout).toContain('### Live keys that may do more (1)');
    expect(stdout).toContain(keyId);
    expect(stdout).not.toContain(ended);
    const json = await place.run(['lock', '--against', 'main', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ isEmpty: false, gains: [] });
    const sarif = await place.run(['lock', '--against', 'main', '--sarif']);
    expect(JSON.parse(sarif.stdout)).toMatchObject({ version: '2.1.0' });
  });

  it.each<[readonly string[], number, string]>([
    [[], 2, 'Write one of --write, --check and --against'],
    [['--write', '--check'], 2, 'Write one of --write, --check and --against'],
    [['--against', 'nowhere'], 1, 'Git knows no commit nowhere here'],
    [['--against', '--output=x'], 2, ''],
    [['--against', 'main:x'], 2, 'write a commit, a branch or a tag'],
    [['--against', 'main', '--file', '/etc/passwd'], 2, 'write a path in the repository'],
    [['--against', 'main', '--file', 'other.json'], 1, 'There is no other.json at main'],
    [['--check', '--file', 'other.json'], 1, 'There is no other.json here'],
  ])('is asked for in a way that means something: %j', async (args, exit, said) => {
    await committed();
    const ran = await place.run(['lock', ...args]);
    expect(ran.stderr).toContain(said);
    expect(ran.exit).toBe(exit);
  });

  it('that cannot be read says what to do', async () => {
    await committed();
    place.write('keyscope.lock.json', '{ "version": 2 }');
    const newer = await place.run(['lock', '--check']);
    expect(newer.stderr).toContain('keyscope.lock.json: the lock was written by a newer keyscope');
    expect(newer.exit).toBe(1);
  });

  it('needs the policy and the routes', async () => {
    place = openPlace();
    const without = await place.run(['lock', '--write']);
    expect(without.stderr).toContain('A lock needs the policy and the routes: defineConfig({');
    expect(without.exit).toBe(3);
    const config = configOf().replace(
      /routes: async \(\) => \[.*\],/,
      'routes: () => new Promise(() => {}),',
    );
    place.write('keyscope.config.mjs', config);
    const slow = await place.run(['lock', '--write', '--timeout', '1']);
    expect(slow.stderr).toContain('routes() of the config does not settle');
  });
});
