import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { generateKey } from 'keyscope';
import { postgresStore } from 'keyscope/stores/postgres';
import postgres from 'postgres';
import { describe, expect, test, vi } from 'vitest';
import { AUTHORITY, issue, OWN, setUp, storeError } from '../../support/keyring.ts';
import {
  emptySchema,
  type Opened,
  ofPg,
  ofPostgresJs,
  openServerDoor,
  pgPool,
  postgresJs,
  type Schema,
  type Settings,
  url,
} from '../../support/postgres-clients.ts';
import { describePostgres, RECORD } from '../../support/postgres-place.ts';
import { openTcpProxy } from '../../support/tcp-proxy.ts';

/** How long the test waits for a returning server on a busy machine. */
const WAIT = { timeout: 60_000 };
const LIMIT = { timeout: 120_000 };

/** Ends all connections of one application. */
async function endConnections(schema: Schema): Promise<void> {
  await schema.sql(`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = '${schema.name}'`);
}

/** A client through an address whose server can go away. */
type Opener = (through: string, settings: Settings) => Opened;

const OPENERS: Readonly<Record<string, Opener>> = {
  pg: (connectionString, settings) => ofPg(pgPool(settings, { connectionString })),
  'postgres.js': (through, settings) => {
    const { hostname: host, port } = new URL(through);
    return ofPostgresJs(postgresJs(settings, { host, port: Number(port), max: 2 }));
  },
};

describePostgres.each(Object.entries(OPENERS))('a server that %s cannot reach', (_kind, opener) => {
  test('fails requests, at the start too, and is used again once it is back', LIMIT, async () => {
    const schema = await emptySchema();
    const door = await openServerDoor();
    const { client, end } = opener(door.url, schema.settings);
    const { keyring } = setUp({ store: postgresStore(client), storeTimeoutMs: 5_000 });
    await door.set('gone');
    await storeError(() => issue(keyring));
    await door.set('open');
    const { key, info } = await vi.waitFor(() => issue(keyring), WAIT);
    expect((await keyring.verify(key)).keyId).toBe(info.keyId);
    await door.set('gone');
    for (let i = 0; i < 3; i++) await storeError(() => keyring.verify(key));
    await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
    await door.set('open');
    const verified = await vi.waitFor(() => keyring.verify(key), WAIT);
    expect(verified.keyId).toBe(info.keyId);
    await end();
    await door.set('gone');
    await schema.drop();
  });

  test('is used again after it ended the connections', LIMIT, async () => {
    const schema = await emptySchema();
    const { client, end } = opener(url, { ...schema.settings, application_name: schema.name });
    const { keyring } = setUp({ store: postgresStore(client) });
    const { key } = await issue(keyring);
    for (let i = 0; i < 3; i++) {
      await Promise.all(Array.from({ length: 20 }, () => keyring.verify(key)));
      await endConnections(schema);
      // Requests in progress may fail, but no answer says that the key is bad.
      const after = await vi.waitFor(() => keyring.verify(key), WAIT);
      expect(after.entityId).toBe(OWN);
    }
    await end();
    await schema.drop();
  });
});

// With its default `max_pipeline`, postgres.js answers nothing any more after this. This is why the
// store recommends `max_pipeline=1`.
describePostgres('a server that ends connections under load', () => {
  test('is used again by postgres.js with max_pipeline=1', LIMIT, async () => {
    const schema = await emptySchema();
    const connection = { ...schema.settings, application_name: schema.name };
    const through = new URL(url);
    through.searchParams.set('max_pipeline', '1');
    // Nobody awaits the driver's own query for types: its failure would be an unhandled rejection.
    const client = postgres(through.href, {
      max: 3,
      backoff: () => 0.05,
      connection,
      fetch_types: false,
    });
    const store = postgresStore(client, { batch: false });
    await store.insert(RECORD);
    async function askOften(times: number): Promise<void> {
      for (let i = 0; i < times; i++) {
        await Promise.allSettled([store.findByDigest([RECORD.digest])]);
      }
    }
    for (let round = 0; round < 5; round++) {
      const load = Array.from({ length: 12 }, () => askOften(200));
      await askOften(20);
      await endConnections(schema);
      // Each request is answered, if only with an error.
      await Promise.all(load);
      const found = await vi.waitFor(async () => store.findByDigest([RECORD.digest]), WAIT);
      expect(found).toEqual([RECORD]);
    }
    await client.end({ timeout: 1 });
    await schema.drop();
  });
});

// Nothing ever ends such connections: without `query_timeout`, a pool of only these never recovers.
describePostgres('connections whose other side has vanished', () => {
  test.each(['questions', 'answers'] as const)(
    'recover within the timeouts from README if %s are lost',
    LIMIT,
    async (direction) => {
      const schema = await emptySchema();
      const { hostname, port } = new URL(url);
      const proxy = await openTcpProxy({ host: hostname, port: Number(port) || 5432 });
      const through = new URL(url);
      through.host = `127.0.0.1:${proxy.port}`;
      const limits = { connectionTimeoutMillis: 300, query_timeout: 300 };
      const more = { connectionString: through.href, max: 2, ...limits };
      const pool = pgPool(schema.settings, more);
      const store = postgresStore(pool);
      await store.insert(RECORD);
      proxy.lose(direction);
      const asked = Array.from({ length: 6 }, async () => store.findById(RECORD.keyId));
      const answers = await Promise.allSettled(asked);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['rejected']));
      proxy.lose(null);
      const found = await vi.waitFor(async () => store.findById(RECORD.keyId), WAIT);
      expect(found).toEqual(RECORD);
      await proxy.close();
      await pool.end();
      await schema.drop();
    },
  );
});

describe('a server that accepts connections and answers nothing', () => {
  test.each(Object.entries(OPENERS))(
    'fails requests over %s within storeTimeoutMs',
    async (_kind, opener) => {
      const sockets: Socket[] = [];
      const server = createServer((socket) => {
        sockets.push(socket.on('error', () => {}));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const { client, end } = opener(`postgres://postgres@127.0.0.1:${port}/test`, {});
      const { keyring } = setUp({ store: postgresStore(client), storeTimeoutMs: 100 });
      const error = await storeError(() => keyring.verify(generateKey({ prefix: 'acme' })));
      expect(error.message).toBe('store.findByDigest did not answer within 100 ms');
      for (const socket of sockets) socket.destroy();
      server.close();
      await end().catch(() => {});
    },
  );
});
