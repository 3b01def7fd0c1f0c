/** The keys that each subcommand counts as live, over one key in every state. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ENTITY, issueIn, openPlace, type Place, sqliteConfig } from '../../support/command.ts';

const ON = ['--entity', ENTITY];

/** With `PAST=1`, the config creates a key that has expired. */
const LINES = `
  if (process.env.PAST) {
    const now = () => 1_000;
    const past = createKeyring({ prefix: 'acme', catalog, store, peppers, deployment, now });
    const input = { name: 'expired', scopes: ['threats:read'], expiresAt: new Date(2_000) };
    await past.issue(input, { entityId: '${ENTITY}', scopes: 'all' });
  }`;

const ROUTE = "{ method: 'GET', path: '/threats', operations: ['list'] }";
const FIELDS = `routes: async () => [${ROUTE}],`;

let place: Place;
beforeAll(async () => {
  place = openPlace(sqliteConfig(LINES, FIELDS, "{ list: ['threats:read'] }"));
  await place.run(['list', ...ON], '', { PAST: '1' });
  for (const name of ['live', 'suspended', 'revoked', 'retired']) {
    const { keyId } = await issueIn(place, name);
    const changes: Readonly<Record<string, readonly string[]>> = {
      suspended: ['suspend', keyId, '--yes'],
      revoked: ['revoke', keyId, '--yes'],
      retired: ['rotate', keyId, '--yes', '--overlap', '0', '--name', 'successor'],
    };
    const change = changes[name];
    if (change !== undefined) await place.run([...change, ...ON]);
  }
  place.write('none.lock.json', '{ "version": 1, "scopes": {}, "routes": {} }');
});
afterAll(() => place.remove());

type Row = Readonly<Record<string, unknown>>;

async function rowsOf(...args: readonly string[]): Promise<readonly Row[]> {
  const { stdout, stderr } = await place.run([...args, '--json']);
  expect(stdout, stderr).not.toBe('');
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}

const namesIn = (rows: readonly Row[]) => rows.map(({ name }) => String(name)).sort();

it('list shows all keys with their states', async () => {
  const rows = await rowsOf('list', ...ON);
  expect(Object.fromEntries(rows.map(({ name, state }) => [name, state]))).toEqual({
    expired: 'expired',
    live: 'live',
    retired: 'retired',
    revoked: 'revoked',
    successor: 'live',
    suspended: 'suspended',
  });
});

it('unused shows only live keys', async () => {
  expect(namesIn(await rowsOf('unused', ...ON))).toEqual(['live', 'successor']);
});

it('expiring shows live and suspended keys', async () => {
  const rows = await rowsOf('expiring', '--within', '100d');
  expect(namesIn(rows)).toEqual(['live', 'successor', 'suspended']);
});

it('lock --keys names only live keys', async () => {
  const [diff] = await rowsOf('lock', '--against', 'none.lock.json', '--keys');
  const { gains } = diff as { readonly gains: readonly Row[] };
  expect(namesIn(gains)).toEqual(['live', 'successor']);
});

// The title once said that all counted keys are live.
it('peppers counts live and suspended keys, and says so', async () => {
  expect(await rowsOf('peppers')).toMatchObject([{ pepper: 'p1', live: 3 }]);
  const { stdout } = await place.run(['peppers']);
  expect(stdout).toMatch(/^PEPPER {2}CONFIGURED {2}LIVE OR SUSPENDED {2}LAST USED\n/);
});

it('rotate and issue create no key that has already expired', async () => {
  const own = openPlace();
  try {
    const { keyId } = await issueIn(own, 'kept');
    const past = ['--expires', '2020-01-01', ...ON];
    const rotated = await own.run(['rotate', keyId, '--yes', '--overlap', '0', ...past]);
    const issued = await own.run(['issue', '--name', 'late', '--scopes', '', ...past]);
    for (const { exit, stdout, stderr } of [rotated, issued]) {
      expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
      expect(stderr).toContain('--expires must be in the future.');
    }
    const { stdout } = await own.run(['show', keyId, ...ON, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ state: 'live', retireAt: null });
  } finally {
    own.remove();
  }
});
