/** Announces ended keys to other processes, over LISTEN and NOTIFY. */
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

/** The result of `postgres(…)` of postgres.js. */
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
 * The clients that {@link postgresInvalidation} accepts. For `pg`, a function that makes a
 * `Client`; it is called again when a connection is lost.
 */
export type PostgresChannel = PostgresJsChannel | PgliteChannel | (() => PgListener);

/**
 * Makes a channel for `cacheStore` that announces ended keys to other processes, over LISTEN and
 * NOTIFY. It carries only key ids and the cache's beat, on the database's channel
 * `keyscope_revoked`. A failure to listen at the start is reported at once; the beat reveals a
 * later loss.
 *
 * It listens on a dedicated connection. PgBouncer in transaction mode cannot provide one, so
 * connect directly to the server. Through such a pooler the beat may come back although no other
 * process's messages arrive, and nothing reports it.
 *
 * If the connection is lost, postgres.js opens another; for `pg`, keyscope does so after a second.
 * Messages published in between are missed: a key that was revoked then works for at most
 * `maxStalenessMs`, as without a channel. Set the `Client`'s `connectionTimeoutMillis` to limit how
 * long a connection may take to open; without it, the channel waits for a connection that hangs. A
 * standby refuses LISTEN: with `pg`, keyscope retries every second, and postgres.js only after its
 * connection is lost.
 *
 * Not checked: who publishes. Anyone who can use the database can make caches query it again, and
 * nothing worse.
 *
 * @param client For `pg`, a function that makes a `Client`, which is connected here; the result of
 *   `postgres()`; or a `PGlite`. The function is called at once, and again for each further
 *   connection.
 * @returns A channel for `cacheStore`.
 * @throws TypeError if `client` is not one of these, or the function makes anything else.
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
    // Rejects until it has listened once, so that `onError` hears at once. A connection that is
    // lost later reconnects, and until then the beat reveals the loss.
    async subscribe(listener) {
      listeners.add(listener);
      if (!isListening) await channel.listen(onMessage);
      isListening = true;
    },
  };
}

/** Recognizes the kind of client, and returns how it listens and notifies. */
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

/**
 * Calls `listen` only once: postgres.js retries on its own, and a second call would deliver each
 * message twice.
 */
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
