/**
 * What differs between servers for reads.
 *
 * In a Galera cluster, one node may not have applied yet what another has acknowledged, so a
 * look-up there could accept a revoked key. With `wsrep_sync_wait`, a node first waits for
 * everything that the cluster had acknowledged; a node that has lost the others refuses.
 */
import type { Connections } from './client.js';
import { rowsOf } from './client.js';
import type { ReadMode } from './freshness.js';

const SHOW = `SHOW VARIABLES
  WHERE Variable_name IN ('in_transaction', 'wsrep_on', 'wsrep_sync_wait')`;

/** The bit of `wsrep_sync_wait` for SELECT. */
const READS = 1;

/** Only MariaDB can set a variable for a single statement, which works on any connection. */
const CAUSALLY = 'SET STATEMENT wsrep_sync_wait = 1, wsrep_dirty_reads = 0 FOR ';

const NOT_CAUSAL =
  'keyscope: this is a Galera cluster whose nodes may read old data, so look-ups would miss ' +
  'revocations. Set wsrep_sync_wait = 1 on every node, or use MariaDB, where keyscope sets it';

/** Inspects the server. Throws if reads could be stale. */
export async function readModeOf(connections: Connections): Promise<ReadMode> {
  const rows = rowsOf(await connections.withSession(({ query }) => query(SHOW)));
  const values = new Map(rows.map(({ Variable_name, Value }) => [Variable_name, String(Value)]));
  // Only MariaDB has this variable.
  const isMariadb = values.has('in_transaction');
  const waits = values.get('wsrep_sync_wait');
  // Also outside a cluster, because the server may join one while the service runs.
  if (isMariadb) return { prefix: waits === undefined ? '' : CAUSALLY, isBlind: false };
  const isCausal = (Number(waits) & READS) === READS;
  if (values.get('wsrep_on') === 'ON' && !isCausal) throw new Error(NOT_CAUSAL);
  return { prefix: '', isBlind: true };
}
