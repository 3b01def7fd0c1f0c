/** Mistakes of new users: each error says what is wrong, where, and what to do. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  ENTITY,
  issueIn,
  openPlace,
  PEPPER,
  type Place,
  sqliteConfig,
} from '../../support/command.ts';
import { ROOT } from '../../support/source.ts';

let place: Place;
afterEach(() => place.remove());

const ON = ['--entity', ENTITY];
const NEW = ['--name', 'CI', '--scopes', 'threats:read', '--expires', '90d'];

describe('a UUID in upper case', () => {
  const upper = ENTITY.toUpperCase();

  it.each([
    [['list', '--entity', upper], /^keyscope: --entity: pass a UUID in lower case .*, not "0A/],
    [['issue', ...ON, ...NEW, '--entities', upper], /^keyscope: --entities: .*lower case.*"0A/],
    [['show', upper, ...ON], new RegExp(`The key id is not a UUID in .*Write ${ENTITY}\\.`)],
  ])('is an error that shows it: %j', async (args, said) => {
    place = openPlace();
    const { exit, stderr } = await place.run(args);
    expect(stderr).toMatch(said);
    expect(exit).toBe(2);
  });

  it('is not repeated if it may be a secret', async () => {
    place = openPlace();
    const secret = '5f0c8a41d2b94e07a6c3';
    const { exit, stderr } = await place.run(['list', '--entity', secret]);
    expect(stderr).toContain("for other ids, set entityIds: 'text'");
    expect(stderr).not.toContain(secret);
    expect(exit).toBe(2);
  });
});

describe('a life beyond the maximum', () => {
  const limited = (fields: string) =>
    sqliteConfig('', fields).replace(
      'peppers, deployment }',
      'peppers, deployment, maxLifetimeMs: 30 * 86_400_000 }',
    );

  it('is an error with the maximum', async () => {
    place = openPlace(limited('maxLifetimeMs: 30 * 86_400_000,'));
    const short = await issueIn(place, 'short', []).catch((error: unknown) => String(error));
    expect(short).toContain('maxLifetimeMs of the keyring allows 30d. Write 30d or less.');
    for (const expires of ['90d', 'never', '31d']) {
      const args = ['issue', ...ON, ...NEW.with(5, expires)];
      const { exit, stderr, stdout } = await place.run(args);
      expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
      expect(stderr).toContain('--expires is too late');
    }
    expect(await place.run(['issue', ...ON, ...NEW.with(5, '30d')])).toMatchObject({ exit: 0 });
  });

  it('names the option of the keyring if the config does not know the maximum', async () => {
    place = openPlace(limited(''));
    const { exit, stderr } = await place.run(['issue', ...ON, ...NEW]);
    expect(stderr).toMatch(/--expires: pass at most \S+Z\./);
    expect(exit).toBe(1);
  });
});

describe('a value that the keyring rejects', () => {
  it.each([
    [['--name', ''], '--name: '],
    [['--expires', '2020-01-01'], '--expires must be in the future.'],
    [['--justification', ''], '--justification: '],
    [['--reason', ''], '--reason: '],
    [['--actor', ''], '--actor: '],
    [['--metadata', 'a"b=c'], '--metadata: '],
  ])('is named by its option: %j', async ([option = '', value = ''], said) => {
    place = openPlace();
    const others = [...NEW];
    const at = others.indexOf(option);
    if (at !== -1) others.splice(at, 2);
    const { exit, stderr } = await place.run(['issue', ...ON, ...others, `${option}=${value}`]);
    expect(stderr).toContain(`keyscope: ${said}`);
    expect(exit).toBe(2);
  });
});

describe('a pepper that is not the one of the keys', () => {
  // `list` said "damaged" about every key, and nothing else.
  it.each([
    [`id: 'p1', secret: 'x${PEPPER}'`, 'damaged', ''],
    [`id: 'p2', secret: '${PEPPER}'`, 'orphaned', 'No key is under a configured pepper: '],
  ])('is named as the likely reason: %s', async (pepper, state, ofPeppers) => {
    place = openPlace();
    await issueIn(place);
    const sound = await place.run(['list', ...ON]);
    expect(sound.stderr).toBe('');
    const config = sqliteConfig(`peppers = [{ ${pepper} }];`);
    const [, id = ''] = /'(p\d)'/.exec(pepper) ?? [];
    place.write('keyscope.config.mjs', config.replace("peppers: ['p1']", `peppers: ['${id}']`));
    const list = await place.run(['list', ...ON]);
    expect(list.stdout).toContain(state);
    expect(list.stderr).toMatch(
      /^Every key shown is damaged or orphaned\. Unless rows were edited: the keyring has/,
    );
    expect(list.stderr.trim().split('\n')).toHaveLength(1);
    const asked = await place.run(['list', ...ON, '--state', state]);
    expect(asked.stderr).toBe('');
    const peppers = await place.run(['peppers']);
    expect(peppers.stderr.startsWith(ofPeppers)).toBe(true);
    expect(peppers.stderr === '').toBe(ofPeppers === '');
  });
});

describe('the address of a database', () => {
  const config = (address: string) => `
    import pg from '${ROOT}/node_modules/pg/esm/index.mjs';
    import { createKeyring, defineScopes } from 'keyscope';
    import { defineConfig } from 'keyscope/cli';
    import { postgresStore } from 'keyscope/stores/postgres';
    const client = new pg.Pool({ connectionString: ${address}, connectionTimeoutMillis: 1_000 });
    client.on('error', () => {});
    const catalog = defineScopes({ threats: { read: 'Read.' } });
    const store = postgresStore(client);
    const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
    export default defineConfig({ keyring, store, close: () => client.end() });`;

  it.each([
    ['postgres://ada:hunter2@127.0.0.1:1/keys', 'No database listens at this address.'],
    ['postgres://ada:hunter2@no-such-host.invalid/keys', 'The host of the database is unknown.'],
    ['postgres//ada:hunter2@127.0.0.1:port/keys', ''],
  ])('that is wrong is an error that says where to look: %s', async (address, said) => {
    place = openPlace(config('process.env.DATABASE_URL'));
    const { exit, stderr } = await place.run(['list', ...ON], '', { DATABASE_URL: address });
    expect(stderr).toContain(said);
    expect(stderr).toContain('Check DATABASE_URL.');
    expect(stderr).not.toContain('hunter2');
    expect(exit).toBe(4);
    const doctor = await place.run(['doctor'], '', { DATABASE_URL: address });
    expect(doctor.stdout).toContain('Check DATABASE_URL.');
    expect(doctor.stdout).not.toContain('hunter2');
  });

  it('that is not set is an error that says so', async () => {
    place = openPlace(config("'postgres://127.0.0.1:1/keys'"));
    const { exit, stderr } = await place.run(['list', ...ON], '', { DATABASE_URL: '' });
    expect(stderr).toContain('DATABASE_URL is not set');
    expect(exit).toBe(4);
  });

  it('that is not a URL is an error of the config if it throws', async () => {
    place = openPlace("new URL(process.env.DATABASE_URL ?? '');");
    const { exit, stderr } = await place.run(['list', ...ON], '', { DATABASE_URL: 'hunter2' });
    expect(stderr).toContain('The address of the database is not a URL. Check DATABASE_URL.');
    expect(exit).toBe(3);
  });
});

describe('a store without an optional method', () => {
  it.each([
    ['peppers', 'summarize'],
    ['expiring', 'listExpiring'],
  ])('makes %s refuse, and name %s', async (name, method) => {
    place = openPlace(sqliteConfig(`store = { ...store, ${method}: undefined };`));
    const { exit, stderr } = await place.run([name]);
    expect(stderr).toContain(`it has no \`${method}\`.`);
    expect(exit).toBe(1);
  });
});

describe('keyscope lock', () => {
  it('names recordRoutes if the service forgot it', async () => {
    const fields = 'routes: () => routesOf(fastify()),';
    const config = sqliteConfig('', fields, "{ list: ['threats:read'] }");
    place = openPlace(`
      import fastify from '${ROOT}/node_modules/fastify/fastify.js';
      import { routesOf } from 'keyscope/lock';
      ${config}`);
    const { exit, stderr } = await place.run(['lock', '--write']);
    expect(stderr).toContain('`routes` of the config threw an error: ');
    expect(stderr).toContain('recordRoutes(app)');
    expect(exit).toBe(3);
  });
});
