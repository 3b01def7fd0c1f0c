/**
 * Galera clusters. One node may not have applied yet what another has acknowledged, so a look-up
 * there could accept a revoked key. With `wsrep_sync_wait`, a node first waits for everything that
 * the cluster had acknowledged; a node that has lost the others refuses.
 */
import type { Connections } from './client.js';
import { rowsOf } from './client.js';

const SHOW = `SHOW VARIABLES
  WHERE Variable_name IN ('version', 'wsrep_on', 'wsrep_sync_wait')`;

/** The bit of `wsrep_sync_wait` for SELECT. */
const READS = 1;

const NOT_CAUSAL =
  'keyscope: this is a Galera cluster whose nodes may read old data, so look-ups would miss ' +
  'revocations. Set wsrep_sync_wait = 1 on every node, or use MariaDB, where keyscope sets it';

/** Returns the text that each SELECT begins with on this server. Throws if reads could be stale. */
export async function beforeReads(connections: Connections): Promise<string> {
  const rows = rowsOf(await connections.withSession(({ query }) => query(SHOW)));
  const values = new Map(rows.map(({ Variable_name, Value }) => [Variable_name, String(Value)]));
  if (values.get('wsrep_on') !== 'ON') return '';
  // Only MariaDB can set a variable for a single statement, which works on any connection.
  const isMariadb = values.get('version')?.includes('MariaDB') ?? false;
  if (isMariadb) return 'SET STATEMENT wsrep_sync_wait = 1, wsrep_dirty_reads = 0 FOR ';
  const isCausal = (Number(values.get('wsrep_sync_wait')) & READS) === READS;
  if (!isCausal) throw new Error(NOT_CAUSAL);
  return '';
}
