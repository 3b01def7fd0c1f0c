/** Tells other processes over LISTEN and NOTIFY which key has ended. */
import { assert, hasMethods } from '../../core/input.js';
import type { Invalidation } from '../../core/invalidation.js';
import { isUuid } from '../../core/uuid.js';
import {
  CHANNEL,
  type Channel,
  createPgChannel,
  NO_CHANNEL,
  NOTIFY,
  type PgListener,
} from './listening-connection.js';

/** What `postgres(…)` of postgres.js returns. */
export interface PostgresJsChannel {
  listen(channel: string, listener: (payload: string) => void): PromiseLike<unknown>;
  notify(channel: string, payload: string): PromiseLike<unknown>;
}

/** `PGlite` of `@electric-sql/pglite`: one process, so only for tests. */
export interface PgliteChannel {
  listen(channel: string, listener: (payload: string) => void): PromiseLike<unknown>;
  query(text: string, values?: string[]): PromiseLike<unknown>;
}

/**
 * What {@link postgresInvalidation} accepts. For `pg`, a function that makes a `Client`, called
 * again when a connection is lost.
 */
export type PostgresChannel = PostgresJsChannel | PgliteChannel | (() => PgListener);

/**
 * Tells other processes over LISTEN and NOTIFY which key has ended, for `cacheStore`. Carries only
 * key ids, on the database's channel `keyscope_revoked`.
 *
 * Listens on a dedicated connection, which PgBouncer in transaction mode cannot provide: pass one
 * that goes to the server. If it is lost, postgres.js opens another, and for `pg` this function
 * does so after a second. Messages published in between are missed: a key that was revoked then
 * works for at most `maxStalenessMs`, as without a channel. The `Client`'s own
 * `connectionTimeoutMillis` limits how long a connection may take to open; without it, this waits
 * for a connection that hangs. A standby refuses LISTEN: `pg` tries again each second, postgres.js
 * only after its connection is lost.
 *
 * Not checked: who publishes. Whoever may use the database can make caches ask it again, and
 * nothing worse.
 *
 * @param client For `pg`, a function that makes a `Client`, which is connected here; what
 *   `postgres()` returned; or a `PGlite`. The function is called at once, and again for each
 *   further connection.
 * @returns A channel for `cacheStore`.
 * @throws TypeError if `client` is none of them, or makes anything else.
 * @example
 * const settings = { connectionString, keepAlive: true, connectionTimeoutMillis: 5_000 };
 * const invalidation = postgresInvalidation(() => new pg.Client(settings));
 * const store = cacheStore(postgresStore(pool), { cache, maxStalenessMs: 10_000, invalidation });
 */
export function postgresInvalidation(client: PostgresChannel): Invalidation {
  const channel = openChannel(client);
  const listeners = new Set<(keyId: string) => void>();
  let listening: Promise<unknown> | undefined;

  function onMessage(payload: unknown): void {
    if (!isUuid(payload)) return;
    for (const listener of listeners) listener(payload);
  }

  return {
    async publish(keyId) {
      if (isUuid(keyId)) await channel.notify(keyId);
    },
    // Called once: after a failed first attempt, `listening-connection.ts` retries for `pg`, and
    // postgres.js retries by itself.
    async subscribe(listener) {
      listeners.add(listener);
      listening ??= Promise.resolve(channel.listen(onMessage)).catch(() => {});
      await listening;
    },
  };
}

/** Recognises the kind of client, and returns how it listens and notifies. */
function openChannel(client: PostgresChannel): Channel {
  if (isPostgresJs(client)) {
    return {
      listen(hear) {
        return client.listen(CHANNEL, hear);
      },
      notify(keyId) {
        return client.notify(CHANNEL, keyId);
      },
    };
  }
  if (isPglite(client)) {
    return {
      listen(hear) {
        return client.listen(CHANNEL, hear);
      },
      notify(keyId) {
        return client.query(NOTIFY, [keyId]);
      },
    };
  }
  assert(typeof client === 'function', NO_CHANNEL);
  return createPgChannel(client);
}

/** Checked first, because a client of postgres.js is a function, too. */
function isPostgresJs(client: PostgresChannel): client is PostgresJsChannel {
  return hasMethods(client, 'listen', 'notify');
}

function isPglite(client: PostgresChannel): client is PgliteChannel {
  return hasMethods(client, 'listen', 'query');
}
