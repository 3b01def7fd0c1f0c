/** Sends what only reads, and takes no answer that may be out of date. */
import type { Value } from '../rows.js';
import type { Row } from './answers.js';
import { rowsOf } from './answers.js';
import type { Connections, Session } from './connections.js';
import { isUnsettled, requireFresh } from './freshness.js';

/** How many connections are tried in all on which somebody has left a transaction open. */
const TRIES = 4;

/** How long a connection may take for a look-up, and for a list, in milliseconds. */
const LOOK_UP_MS = 5_000;
const SELECT_MS = 60_000;

/** How rows are read. Both throw if what they read may be out of date. */
export interface Readers {
  /** Runs one statement. */
  select(sql: string, values: readonly Value[]): Promise<readonly Row[]>;
  /** The same for a statement that is sent often. */
  lookUp(sql: string, values: Value[]): Promise<readonly Row[]>;
}

/**
 * A connection of a pool that somebody gave back inside a transaction is closed: nobody else would
 * end it, and every read on it would be of the past.
 */
async function sendSettled(
  connections: Connections,
  send: (session: Session) => Promise<unknown>,
  limitMs: number,
): Promise<readonly Row[]> {
  for (let attempt = 1; ; attempt++) {
    const rows = await connections.withSession(async (session) => {
      const answer = rowsOf(await send(session));
      if (isUnsettled(answer)) session.discard();
      return answer;
    }, limitMs);
    if (attempt === TRIES || !isUnsettled(rows)) return requireFresh(rows);
  }
}

/** @param before What each statement begins with, as the server needs it. */
export function createReaders(connections: Connections, before: () => string): Readers {
  return {
    select(sql, values) {
      const send = ({ query }: Session) => query(before() + sql, values);
      return sendSettled(connections, send, SELECT_MS);
    },
    lookUp(sql, values) {
      const send = ({ execute }: Session) => execute(before() + sql, values);
      return sendSettled(connections, send, LOOK_UP_MS);
    },
  };
}
