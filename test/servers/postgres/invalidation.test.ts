import { randomUUID } from 'node:crypto';
import type { KeyStore } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import {
  type PostgresChannel,
  postgresInvalidation,
  postgresStore,
} from 'keyscope/stores/postgres';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import {
  AUTHORITY,
  denied,
  issue,
  OTHER,
  OWN,
  type Ring,
  setUp,
  stoppedClock,
} from '../../support/keyring.ts';
import { CHANNELS, openChannel } from '../../support/postgres-channels.ts';
import {
  openServerDoor,
  pgClient,
  postgresJs,
  sharedPglite,
  url,
} from '../../support/postgres-clients.ts';
import { alone, describeKind, describePostgres, RECORD } from '../../support/postgres-place.ts';

/** How long a message may take on a busy machine. */
const WAIT = { timeout: 60_000, interval: 100 };
const LIMIT = { timeout: 120_000 };

/** Values that are not key ids, and are neither published nor passed on. */
const ODD = ['', 'x', RECORD.digest, OWN.toUpperCase()];

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

/**
 * Publishes values that are not key ids, and then `keyId`, while a listener records everything.
 * Then another publisher sends values that are not key ids.
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

describe.each(CHANNELS)('over %s', (kind) => {
  describeKind(kind)('the channel', () => {
    test('carries only key ids, to all listeners', LIMIT, async () => {
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
    'comes up on its own if the server was down at the start, and reports that once',
    LIMIT,
    async () => {
      const { door, channel, close } = await behindDoor(kind);
      await door.set('gone');
      const here = postgresInvalidation(channel);
      const heard: string[] = [];
      // Like a cache that retries.
      const listener = (keyId: string) => heard.push(keyId);
      for (let i = 0; i < 3; i++) {
        await expect(async () => here.subscribe(listener)).rejects.toThrow();
      }
      await expect(async () => here.publish(OWN)).rejects.toThrow();
      await door.set('open');
      await vi.waitFor(async () => {
        await here.publish(OTHER);
        expect(heard).toContain(OTHER);
      }, WAIT);
      await here.subscribe(listener);
      heard.length = 0;
      const last = randomUUID();
      await here.publish(last);
      await vi.waitFor(() => expect(heard).toContain(last), WAIT);
      expect(heard.filter((keyId) => keyId === last)).toEqual([last]);
      await close();
    },
  );

  // Only the beat reported it, five seconds later.
  test('reports at once that it does not listen, and is up soon after it does', LIMIT, async () => {
    const { door, channel, close } = await behindDoor(kind);
    await door.set('gone');
    const { clock, store, told } = watchedCache(channel);
    expect(store.channelState()).toBe('starting');
    await vi.waitFor(() => expect(told).toHaveLength(1), WAIT);
    expect(store.channelState()).toBe('down');
    await door.set('open');
    await vi.waitFor(() => {
      // It retries a second later, not only with the next beat.
      clock.advance(1_000);
      expect(store.channelState()).toBe('up');
    }, WAIT);
    await close();
  });

  test('reports through its beat that it is down, and that it is back', LIMIT, async () => {
    const { door, channel, close } = await behindDoor(kind);
    const { clock, store } = watchedCache(channel);
    const becomes = (states: readonly string[]) =>
      vi.waitFor(() => {
        clock.advance(5_000);
        expect(states).toContain(store.channelState());
      }, WAIT);
    await becomes(['up']);
    await door.set('gone');
    await becomes(['down', 'silent']);
    await door.set('open');
    await becomes(['up']);
    await close();
  });

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
      // A key that no message announces stays cached for as long as the cache allows.
      expect((await deaf.keyring.verify(key)).keyId).toBe(info.keyId);
      await ends.close();
    });
  });
});

/** A channel to the server through a proxy that can be closed. */
async function behindDoor(kind: string) {
  const door = await openServerDoor();
  const made: pg.Client[] = [];
  const { hostname: host, port } = new URL(door.url);
  const sql = postgresJs({}, { host, port: Number(port), backoff: () => 0.1 });
  function makeClient(): pg.Client {
    const client = new pg.Client(door.url);
    made.push(client);
    return client;
  }
  async function close(): Promise<void> {
    await sql.end({ timeout: 1 });
    await Promise.allSettled(made.map((client) => client.end()));
    await door.set('gone');
  }
  return { door, channel: kind === 'pg' ? makeClient : sql, close };
}

/** A cache that listens, its clock, and the errors it reports. */
function watchedCache(channel: PostgresChannel) {
  const clock = stoppedClock();
  const told: unknown[] = [];
  const store = cacheStore(memoryStore(), {
    cache: new LRUCache<string, object>({ max: 10 }),
    maxStalenessMs: STALENESS_MS,
    invalidation: postgresInvalidation(channel),
    now: clock.now,
    onError: (error) => told.push(error),
  });
  return { clock, store, told };
}

/** A keyring over a separate cache, like another process's, and whether its messages arrive. */
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
    'postgresInvalidation: pass () => new pg.Client(…), the result of postgres(), or a PGlite; ' +
    'not a Pool';

  test('rejects a Pool, a Client, and a function that makes anything else', async () => {
    const pool = new pg.Pool();
    const client = new pg.Client();
    // @ts-expect-error It would listen on a connection that it lends to others.
    expect(complaint(() => postgresInvalidation(pool))).toBe(NO_CHANNEL);
    // @ts-expect-error Once lost, it could not be made again.
    expect(complaint(() => postgresInvalidation(client))).toBe(NO_CHANNEL);
    // @ts-expect-error As above: plain JavaScript passed it, and published, but received nothing.
    expect(complaint(() => postgresInvalidation(() => pool))).toBe(NO_CHANNEL);
    const things = [postgresJs({}), await sharedPglite(), undefined, Promise.resolve(client)];
    const makers = things.map((thing) => () => thing);
    for (const odd of [undefined, null, url, {}, ...makers]) {
      const channel = odd as unknown as PostgresChannel;
      expect(complaint(() => postgresInvalidation(channel))).toBe(NO_CHANNEL);
    }
  });
});
