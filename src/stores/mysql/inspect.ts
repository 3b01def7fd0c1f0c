/** Checks once for each store what its statements rely on. */
import { toInteger, type Value } from '../rows.js';
import type { Row } from './answers.js';
import { rowsOf } from './answers.js';
import type { Session } from './connections.js';
import type { MysqlError } from './errors.js';
import { FRESHNESS, isTrue, requireFresh } from './freshness.js';

/** Contains a character of four bytes in UTF-8, which the older `utf8` cannot store. */
const PROBE_TEXT = 'é🦊';
const LARGEST = Number.MAX_SAFE_INTEGER;

const PROBE = `
  SELECT ? AS echo, ? AS nothing, ${LARGEST} AS largest,
    ${FRESHNESS},
    (@@character_set_client = 'utf8mb4' AND @@character_set_connection = 'utf8mb4') AS wide`;

const PLAIN_ROWS =
  'the driver must return rows as objects, text as strings and integers as such; ' +
  'connect without a typeCast';

/** A requirement of a connection, and what to do if it is not met. */
interface Requirement {
  readonly isMet: (row: Row) => boolean;
  readonly instead: string;
}

/** In this order: if the driver does not return rows as objects, no other column can be read. */
const REQUIREMENTS: readonly Requirement[] = [
  {
    isMet: ({ echo, largest }) => typeof echo === 'string' && toInteger(largest) === LARGEST,
    instead: PLAIN_ROWS,
  },
  {
    isMet: ({ echo, wide }) => echo === PROBE_TEXT && isTrue(wide),
    instead: "connect with charset 'utf8mb4', or texts are lost",
  },
  {
    isMet: ({ nothing }) => nothing === '',
    instead: 'connect without the SQL mode EMPTY_STRING_IS_NULL, or texts are lost',
  },
];

type Send = (sql: string, values: Value[]) => Promise<unknown>;

async function probe(send: Send): Promise<unknown> {
  try {
    return await send(PROBE, [PROBE_TEXT, '']);
  } catch (error) {
    const { code, message } = error as MysqlError;
    if (code !== undefined) throw error;
    // An error without a code comes neither from the server nor from the network: mysql2 is closed,
    // or could not read the row.
    throw new Error(`${message}; if the client is open, ${PLAIN_ROWS}`);
  }
}

/** Throws if the connection lacks something. Not checked: rights, and the server's durability. */
export async function inspect({ execute, query }: Session): Promise<void> {
  // Drivers read the answers to statements that are prepared, and to others, in different ways.
  for (const send of [execute, query]) {
    const answer = await probe(send);
    const row = rowsOf(answer)[0] ?? {};
    const unmet = REQUIREMENTS.find((requirement) => !requirement.isMet(row));
    if (unmet !== undefined) throw new Error(`keyscope: ${unmet.instead}`);
    requireFresh([row]);
  }
}
