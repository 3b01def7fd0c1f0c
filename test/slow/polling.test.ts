/** Two instances of the reference service on a database that publishes no changes. */
import { afterEach, expect, test, vi } from 'vitest';
import { createServer } from '../../examples/hono/server.ts';
import { ENTITY, MAX_STALENESS_MS, openPlatform } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { eventually } from '../support/eventually.ts';
import { folder } from '../support/folder.ts';
import { emptyDatabase, SERVER } from '../support/mysql-clients.ts';
import { describeMysql } from '../support/mysql-place.ts';

const { file, remove } = folder();
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  vi.unstubAllEnvs();
  remove();
});

describeMysql('two instances on MySQL', () => {
  async function startTwo() {
    vi.stubEnv('PEPPER', 'a pepper of the tests, of 32 bytes and more');
    const database = await emptyDatabase();
    ends.push(() => database.drop());
    const { user, password, host, port } = SERVER;
    const login = `${user}:${encodeURIComponent(password)}`;
    const store = `mysql://${login}@${host}:${port}/${database.name}`;
    const start = async (name: string) => {
      const platform = await openPlatform(file(name), { store });
      ends.push(() => platform.close());
      return platform;
    };
    return [await start('one'), await start('two')] as const;
  }

  const authority = { entityId: ENTITY, scopes: 'all' } as const;
  const input = { name: 'n', scopes: [], expiresAt: 'never' } as const;

  // Without a channel, one instance kept accepting what the other had revoked until its cache
  // expired.
  test("notice each other's revocations before their cache entries expire", async () => {
    const [one, two] = await startTwo();
    const { key, info } = await one.keyring.issue(input, authority);
    const isReady = async () => (await two.readiness.answer()).status === 200;
    await eventually(isReady, 'the other instance asks the database');
    await two.keyring.verify(key);
    await one.keyring.revoke(info.keyId, authority);
    const isRefused = () =>
      two.keyring.verify(key).then(
        () => false,
        () => true,
      );
    await eventually(isRefused, 'the other instance refuses the key', MAX_STALENESS_MS - 1_000);
  });

  test('become ready once they have asked the database', async () => {
    const [one] = await startTwo();
    const server = createServer(one);
    const { origin } = new URL(await listen(server, 0));
    ends.push(() => stop(server));
    let body: unknown;
    const isUp = async () => {
      const response = await fetch(`${origin}/readyz`);
      body = await response.json();
      return response.status === 200;
    };
    await eventually(isUp, 'the instance is ready');
    expect(body).toEqual({ status: 'ready', channel: 'up' });
  });
});
