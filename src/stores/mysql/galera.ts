/**
 * Galera clusters: what one node has acknowledged, another may not have applied yet, and a look-up
 * there would accept a key that was revoked. With `wsrep_sync_wait`, it first waits for all that
 * the cluster had acknowledged; a node that has lost the others refuses.
 */
import type { Connections } from './client.js';
import { rowsOf } from './client.js';

const SHOW = `SHOW VARIABLES
  WHERE Variable_name IN ('version', 'wsrep_on', 'wsrep_sync_wait')`;

/** The bit of `wsrep_sync_wait` for SELECT. */
const READS = 1;

const NOT_CAUSAL =
  'keyscope: this is a Galera cluster, where look-ups would miss what another node has revoked; ' +
  'set wsrep_sync_wait = 1 on every node, or use MariaDB, on which keyscope sets it itself';

/** What each SELECT begins with on this server. Throws where it would read the past. */
export async function beforeReads(connections: Connections): Promise<string> {
  const rows = rowsOf(await connections.withSession(({ query }) => query(SHOW)));
  const values = new Map(rows.map(({ Variable_name, Value }) => [Variable_name, String(Value)]));
  if (values.get('wsrep_on') !== 'ON') return '';
  // Only MariaDB sets variables for one statement, and so on whichever connection.
  const isMariadb = values.get('version')?.includes('MariaDB') ?? false;
  if (isMariadb) return 'SET STATEMENT wsrep_sync_wait = 1, wsrep_dirty_reads = 0 FOR ';
  const isCausal = (Number(values.get('wsrep_sync_wait')) & READS) === READS;
  if (!isCausal) throw new Error(NOT_CAUSAL);
  return '';
}
