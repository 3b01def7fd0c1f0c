/** Two nodes of a cluster: one may not have applied yet what the other has acknowledged. */
import type { KeyRecord, KeyStore } from 'keyscope';
import { mysqlStore } from 'keyscope/stores/mysql';
import mysql from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  missingGalera,
  type OwnMariadb,
  rootAt,
  startGalera,
} from '../../support/mariadb-servers.ts';
import { another, lineageOf, revokeAt, SLOW } from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

const suite = `a Galera cluster${missingGalera === undefined ? '' : ` (wants ${missingGalera})`}`;

describe.skipIf(missingGalera !== undefined)(suite, SLOW, () => {
  let nodes: readonly OwnMariadb[] = [];
  let pools: readonly mysql.Pool[] = [];
  function storeOn(number: number) {
    const pool = pools[number];
    if (pool === undefined) throw new Error('no such node');
    return mysqlStore(pool);
  }
  beforeAll(async () => {
    nodes = await startGalera();
    await nodes[0]?.rows('CREATE DATABASE test');
    pools = nodes.map(({ address }) => mysql.createPool({ ...rootAt(address), database: 'test' }));
    await storeOn(0).insert(RECORD);
  }, SLOW.timeout);
  afterAll(async () => {
    for (const pool of pools) await pool.end();
    for (const node of nodes) await node.remove();
  });

  function second() {
    const node = nodes[1];
    if (node === undefined) throw new Error('no second node');
    return { ...rootAt(node.address), database: 'test' };
  }

  /** Revokes a key on the first node while the second applies nothing, and looks it up there. */
  async function expectCurrent(store: Required<KeyStore>, record: KeyRecord): Promise<void> {
    const holding = await mysql.createConnection(second());
    // It receives the others' writes, but applies none.
    await holding.query('FLUSH TABLES WITH READ LOCK');
    expect(await storeOn(0).mark(record.keyId, revokeAt(5))).toBe(true);
    const finds = [
      store.findByDigest([record.digest]),
      (async () => [await store.findById(record.keyId)])(),
      store.listLineage(lineageOf(record.rootKeyId)),
    ];
    const first = Promise.race([...finds, pools[1]?.query('SELECT SLEEP(0.5)').then(() => 'none')]);
    expect(await first).toBe('none');
    await holding.query('UNLOCK TABLES');
    await holding.end();
    for (const find of finds) expect(await find).toMatchObject([{ revokedAt: 5 }]);
  }

  // Without wsrep_sync_wait, the second node answers at once, with a key that is live.
  test.each([{}, { prepare: false }, { batch: false }])(
    'never returns a state that another node has already changed: %j',
    async (options) => {
      const record = another(Object.keys(options).length + JSON.stringify(options).length);
      await storeOn(0).insert(record);
      const pool = pools[1];
      if (pool === undefined) throw new Error('no second node');
      const store = mysqlStore(pool, options);
      expect(await store.findByDigest([record.digest])).toEqual([record]);
      await expectCurrent(store, record);
    },
  );

  // The store asked only at the start whether the server is in a cluster.
  test('does so, too, on a server that joins the cluster later', async () => {
    await storeOn(0).insert(another(500));
    await storeOn(1).findById(another(500).keyId);
    const connection = await mysql.createConnection(second());
    await connection.query('SET wsrep_on = OFF');
    const store = mysqlStore(connection);
    expect(await store.findById(another(500).keyId)).toEqual(another(500));
    await connection.query('SET wsrep_on = ON');
    await expectCurrent(store, another(500));
    await connection.end();
  });

  test('lets one of two simultaneous marks on two nodes win', async () => {
    const records = Array.from({ length: 60 }, (_, index) => another(1_000 + index));
    for (const record of records) await storeOn(0).insert(record);
    const stores = [storeOn(0), storeOn(1)];
    for (const { keyId } of records) {
      const marks = stores.map(async (store, index) => store.mark(keyId, revokeAt(5 + index)));
      const written = await Promise.all(marks);
      expect(written.filter(Boolean)).toHaveLength(1);
      const winner = written.indexOf(true);
      expect(await stores[1 - winner]?.findById(keyId)).toMatchObject({ revokedAt: 5 + winner });
    }
  });
});
