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
  listen(
    channel: string,
    listener: (payload: string) => void,
    onListening?: () => void,
  ): PromiseLike<unknown>;
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
 * key ids and the cache's beat, on the database's channel `keyscope_revoked`. That it cannot listen
 * at the start is told at once; what is lost later shows by the beat.
 *
 * Listens on a dedicated connection, which PgBouncer in transaction mode cannot provide: pass one
 * that goes to the server. Through such a pooler the beat may come back while nothing of others is
 * heard, and nobody is told. If it is lost, postgres.js opens another, and for `pg` this function
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
  let isListening = false;

  function onMessage(payload: unknown): void {
    if (!isUuid(payload)) return;
    for (const listener of listeners) listener(payload);
  }

  return {
    async publish(keyId) {
      if (isUuid(keyId)) await channel.notify(keyId);
    },
    // Rejects for as long as nothing was ever heard, so that `onError` is told at once. What is
    // lost later comes back by itself, and until then the beat tells.
    async subscribe(listener) {
      listeners.add(listener);
      if (!isListening) await channel.listen(onMessage);
      isListening = true;
    },
  };
}

/** Recognises the kind of client, and returns how it listens and notifies. */
function openChannel(client: PostgresChannel): Channel {
  if (isPostgresJs(client)) return postgresJsChannel(client);
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

/** Asked once: it tries again by itself, and would hear twice if it were asked twice. */
function postgresJsChannel(client: PostgresJsChannel): Channel {
  let first: Promise<unknown> | undefined;
  let isListening = false;
  function onListening(): void {
    isListening = true;
  }
  return {
    async listen(hear) {
      first ??= Promise.resolve(client.listen(CHANNEL, hear, onListening));
      if (!isListening) await first;
    },
    notify(keyId) {
      return client.notify(CHANNEL, keyId);
    },
  };
}

/** Checked first, because a client of postgres.js is a function, too. */
function isPostgresJs(client: PostgresChannel): client is PostgresJsChannel {
  return hasMethods(client, 'listen', 'notify');
}

function isPglite(client: PostgresChannel): client is PgliteChannel {
  return hasMethods(client, 'listen', 'query');
}
