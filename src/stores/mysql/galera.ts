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
  WHERE Variable_name IN ('version', 'in_transaction', 'wsrep_on', 'wsrep_sync_wait')`;

/** The bit of `wsrep_sync_wait` for SELECT. */
const READS = 1;

const NOT_CAUSAL =
  'keyscope: this is a Galera cluster whose nodes may read old data, so look-ups would miss ' +
  'revocations. Set wsrep_sync_wait = 1 on every node, or use MariaDB, where keyscope sets it';

/** Inspects the server. Throws if reads could be stale. */
export async function readModeOf(connections: Connections): Promise<ReadMode> {
  const rows = rowsOf(await connections.withSession(({ query }) => query(SHOW)));
  const values = new Map(rows.map(({ Variable_name, Value }) => [Variable_name, String(Value)]));
  // Only MariaDB has this variable.
  const isBlind = !values.has('in_transaction');
  if (values.get('wsrep_on') !== 'ON') return { prefix: '', isBlind };
  // Only MariaDB can set a variable for a single statement, which works on any connection.
  const isMariadb = values.get('version')?.includes('MariaDB') ?? false;
  const prefix = isMariadb ? 'SET STATEMENT wsrep_sync_wait = 1, wsrep_dirty_reads = 0 FOR ' : '';
  const isCausal = (Number(values.get('wsrep_sync_wait')) & READS) === READS;
  if (!isMariadb && !isCausal) throw new Error(NOT_CAUSAL);
  return { prefix, isBlind };
}
