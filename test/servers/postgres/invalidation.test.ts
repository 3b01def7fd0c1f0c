import { randomUUID } from 'node:crypto';
import type { KeyStore } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import {
  type PostgresChannel,
  postgresInvalidation,
  postgresStore,
} from 'keyscope/stores/postgres';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { AUTHORITY, denied, issue, OTHER, OWN, type Ring, setUp } from '../../support/keyring.ts';
import { CHANNELS, openChannel } from '../../support/postgres-channels.ts';
import {
  openServerDoor,
  pgClient,
  postgresJs,
  sharedPglite,
  url,
} from '../../support/postgres-clients.ts';
import { alone, describeKind, describePostgres, RECORD } from '../../support/postgres-place.ts';

/** At most this long a message may be waited for, on a machine that is busy. */
const WAIT = { timeout: 60_000, interval: 100 };
const LIMIT = { timeout: 120_000 };

/** What is no key id, and is neither told nor passed on. */
const ODD = ['', 'x', RECORD.digest, OWN.toUpperCase()];

// It takes seconds to start.
beforeAll(sharedPglite, 60_000);

/**
 * Publishes what is no key id, and then `keyId`, while somebody else listens who hears everything;
 * then has somebody else tell what is no key id.
 */
async function tellAmongOthers(
  publish: (payload: unknown) => Promise<void>,
  keyId: string,
): Promise<void> {
  const other = await pgClient();
  const overheard: unknown[] = [];
  other.on('notification', ({ payload }) => overheard.push(payload));
  await other.query('LISTEN keyscope_revoked');
  for (const payload of [...ODD, 5, keyId]) await publish(payload);
  await vi.waitFor(() => expect(overheard).toContain(keyId), WAIT);
  for (const payload of [...ODD, '5']) expect(overheard).not.toContain(payload);
  for (const payload of ODD) {
    await other.query("SELECT pg_notify('keyscope_revoked', $1)", [payload]);
  }
  await other.end();
}

describe.each(CHANNELS)('the channel of %s', (kind) => {
  describeKind(kind)('carries', () => {
    test('key ids and nothing else, to everybody who listens', LIMIT, async () => {
      const ends = await openChannel(kind);
      const here = postgresInvalidation(ends.here);
      const there = postgresInvalidation(ends.there);
      const heard: string[][] = [[], [], []];
      await here.subscribe((keyId) => heard[0]?.push(keyId));
      await here.subscribe((keyId) => heard[1]?.push(keyId));
      await there.subscribe((keyId) => heard[2]?.push(keyId));
      const first = randomUUID();
      const last = randomUUID();
      const publish = async (payload: unknown) => there.publish(payload as string);
      if (kind === 'PGlite') {
        for (const payload of [...ODD, 5, first]) await publish(payload);
      } else {
        await tellAmongOthers(publish, first);
      }
      await here.publish(last);
      for (const all of heard) {
        await vi.waitFor(() => expect(all).toContain(last), WAIT);
        // Other tests may use the channel at the same time.
        const ours = all.filter((payload) => [first, last, ...ODD].includes(payload));
        expect(ours).toEqual([first, last]);
      }
      await ends.close();
    });
  });
});

describePostgres.each(['pg', 'postgres.js'])('the channel of %s', (kind) => {
  test('is up again after its connections were lost', LIMIT, async () => {
    const name = `keyscope_${randomUUID().slice(0, 8)}`;
    const ends = await openChannel(kind, name);
    const here = postgresInvalidation(ends.here);
    const there = postgresInvalidation(ends.there);
    const heard: string[] = [];
    await here.subscribe((keyId) => heard.push(keyId));
    const admin = await pgClient();
    for (let i = 0; i < 3; i++) {
      await admin.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
        [name],
      );
      const keyId = randomUUID();
      await vi.waitFor(async () => {
        await there.publish(keyId);
        expect(heard).toContain(keyId);
      }, WAIT);
    }
    await ends.close();
    await admin.end();
  });

  test(
    'comes up by itself where the server was down at the start, and tells once',
    LIMIT,
    async () => {
      const door = await openServerDoor();
      await door.set('gone');
      const made: pg.Client[] = [];
      const { hostname: host, port } = new URL(door.url);
      const sql = postgresJs({}, { host, port: Number(port), backoff: () => 0.1 });
      function makeClient(): pg.Client {
        const client = new pg.Client(door.url);
        made.push(client);
        return client;
      }
      const here = postgresInvalidation(kind === 'pg' ? makeClient : sql);
      const heard: string[] = [];
      // As a cache does that is told to try again.
      const listener = (keyId: string) => heard.push(keyId);
      for (let i = 0; i < 3; i++) await here.subscribe(listener);
      await expect(async () => here.publish(OWN)).rejects.toThrow();
      await door.set('open');
      await vi.waitFor(async () => {
        await here.publish(OTHER);
        expect(heard).toContain(OTHER);
      }, WAIT);
      heard.length = 0;
      const last = randomUUID();
      await here.publish(last);
      await vi.waitFor(() => expect(heard).toContain(last), WAIT);
      expect(heard.filter((keyId) => keyId === last)).toEqual([last]);
      await sql.end({ timeout: 1 });
      await Promise.allSettled(made.map((client) => client.end()));
      await door.set('gone');
    },
  );

  test('ends a key in the caches of other processes', LIMIT, async () => {
    await alone('pg Pool of 10', async ({ client }) => {
      const ends = await openChannel(kind);
      const here = cachedRing(postgresStore(client), ends.here);
      const there = cachedRing(postgresStore(client), ends.there);
      const deaf = cachedRing(postgresStore(client));
      const { key, info } = await issue(here.keyring);
      for (const { keyring } of [here, there, deaf]) await keyring.verify(key);
      await vi.waitFor(() => expect(there.isListening()).toBe(true), WAIT);
      await there.keyring.verify(key);
      await here.keyring.revoke(info.keyId, AUTHORITY);
      const isDenied = () => denied(() => there.keyring.verify(key), 'invalid_token', 'revoked');
      await vi.waitFor(isDenied, WAIT);
      // What is heard by no channel is believed for as long as the cache was told.
      expect((await deaf.keyring.verify(key)).keyId).toBe(info.keyId);
      await ends.close();
    });
  });
});

/** A keyring over a cache of its own, as of another process, and whether it hears of the others. */
function cachedRing(
  store: KeyStore,
  channel?: PostgresChannel,
): { readonly keyring: Ring; isListening(): boolean } {
  let listening = false;
  const invalidation = channel && postgresInvalidation(channel);
  const watched = invalidation && {
    publish: (keyId: string) => invalidation.publish(keyId),
    async subscribe(listener: (keyId: string) => void) {
      await invalidation.subscribe(listener);
      listening = true;
    },
  };
  const cache = new LRUCache<string, object>({ max: 10 });
  const cached = cacheStore(store, { cache, maxStalenessMs: STALENESS_MS, invalidation: watched });
  return { keyring: setUp({ store: cached }).keyring, isListening: () => listening };
}

/** Longer than any test. */
const STALENESS_MS = 300_000;

describe('postgresInvalidation', () => {
  const NO_CHANNEL =
    'postgresInvalidation: pass () => new pg.Client(…), what postgres() returned, or a PGlite; ' +
    'not a Pool';

  test('takes no Pool, no Client, and no function that makes anything else', async () => {
    const pool = new pg.Pool();
    const client = new pg.Client();
    // @ts-expect-error It would listen on a connection that it lends to others.
    expect(complaint(() => postgresInvalidation(pool))).toBe(NO_CHANNEL);
    // @ts-expect-error Once lost, it could not be made again.
    expect(complaint(() => postgresInvalidation(client))).toBe(NO_CHANNEL);
    // @ts-expect-error As above: plain JavaScript passed it, published by it, and heard nothing.
    expect(complaint(() => postgresInvalidation(() => pool))).toBe(NO_CHANNEL);
    const things = [postgresJs({}), await sharedPglite(), undefined, Promise.resolve(client)];
    const makers = things.map((thing) => () => thing);
    for (const odd of [undefined, null, url, {}, ...makers]) {
      const channel = odd as unknown as PostgresChannel;
      expect(complaint(() => postgresInvalidation(channel))).toBe(NO_CHANNEL);
    }
  });
});
