import type { KeyRecord, KeyStore } from 'keyscope';
import { mysqlStore } from 'keyscope/stores/mysql';
import { expect, test } from 'vitest';
import { AUTHORITY, OTHER, OWN, PLAIN } from '../../support/keyring.ts';
import {
  another,
  DRIVERS,
  type Driver,
  describeMysql,
  type Place,
  SLOW,
  usageOf,
  usePlace,
} from '../../support/mysql-place.ts';
import { keyringOver } from '../../support/patient-keyring.ts';

/** A variable of `SHOW STATUS`. */
interface Variable {
  readonly Variable_name: string;
  readonly Value: string;
}

/** What the server has counted on a client's connection. */
async function counters(driver: Driver, { opened }: Place): Promise<Map<string, number>> {
  const answer = (await opened.query('SHOW SESSION STATUS')) as unknown[];
  // mysql2 has the columns beside the rows.
  const rows = (driver === 'mysql2' ? answer[0] : answer) as readonly Variable[];
  return new Map(rows.map(({ Variable_name, Value }) => [Variable_name, Number(Value)]));
}

const WRITE_COMMANDS = /^Com_(insert|update|delete|replace|commit|rollback|begin|set_option)/;
const WRITE_HANDLERS = /^Handler_(write|update|delete|commit)/;

describeMysql.each(DRIVERS)('over a connection of %s', SLOW, (driver) => {
  const place = usePlace(`${driver} connection`);

  /** By how much each counter moved while `act` ran. */
  async function counted(act: () => Promise<unknown>): Promise<Record<string, number>> {
    const before = await counters(driver, place);
    await act();
    const after = await counters(driver, place);
    const moved: Record<string, number> = {};
    for (const [name, value] of after) {
      const difference = value - (before.get(name) ?? 0);
      if (difference !== 0) moved[name] = difference;
    }
    return moved;
  }

  test('a verification is one statement, and writes nothing', async () => {
    const keyring = keyringOver(mysqlStore(place.opened.client));
    const { key } = await keyring.issue(PLAIN, AUTHORITY);
    await keyring.verify(key);
    const moved = await counted(async () => {
      for (let i = 0; i < 10; i++) await keyring.verify(key);
    });
    expect(moved).toMatchObject({ Com_select: 10, Com_stmt_execute: 10, Handler_read_key: 10 });
    // A read-only statement ends in a commit of nothing.
    const { Handler_commit, ...rest } = moved;
    expect(Handler_commit ?? 0).toBeLessThanOrEqual(10);
    const names = Object.keys(rest);
    expect(names.filter((name) => WRITE_COMMANDS.test(name))).toEqual([]);
    expect(names.filter((name) => WRITE_HANDLERS.test(name))).toEqual([]);
  });

  test('all look-ups of a turn are one statement, unless told otherwise', async () => {
    const records = Array.from({ length: 20 }, (_, i) => another(i));
    for (const record of records) await place.store.insert(record);
    const findOne = async (store: KeyStore, { digest }: KeyRecord) => {
      const [found] = await store.findByDigest([digest]);
      return found?.digest;
    };
    const findAll = (store: KeyStore) =>
      Promise.all(records.map((record) => findOne(store, record)));
    const oneByOne = mysqlStore(place.opened.client, { batch: false });
    await oneByOne.findById(OTHER);
    expect(await findAll(place.store)).toEqual(records.map(({ digest }) => digest));
    expect(await counted(() => findAll(place.store))).toMatchObject({ Com_select: 1 });
    expect(await counted(() => findAll(oneByOne))).toMatchObject({ Com_select: 20 });
  });

  test('few statements are prepared, however many digests a look-up has', async () => {
    const digests = Array.from({ length: 40 }, (_, i) => another(700_000 + i).digest);
    await place.store.findById(OTHER);
    const { Com_stmt_prepare = 0 } = await counted(async () => {
      for (let n = 1; n <= digests.length; n++) await place.store.findByDigest(digests.slice(0, n));
    });
    // Of 1, 2, 4, … 64 digests.
    expect(Com_stmt_prepare).toBeLessThanOrEqual(7);
  });

  test('nothing but a summary reads the table from end to end', async () => {
    const { store } = place;
    const own = { ...another(500_000), entityUuid: OTHER };
    await store.insert(own);
    for (let i = 0; i < 300; i++) await store.insert(another(500_001 + i));
    await place.rows('ANALYZE TABLE keyscope_keys');
    const after = { createdAt: 9, keyId: OTHER };
    const acts: readonly (() => Promise<unknown>)[] = [
      async () => store.findByDigest([own.digest]),
      async () => store.findByDigest([own.digest, another(1).digest, another(2).digest]),
      async () => store.findById(own.keyId),
      async () => store.list({ entityUuid: OTHER, after: null, limit: 10 }),
      async () => store.list({ entityUuid: OTHER, after, limit: 10 }),
      async () => store.list({ entityUuid: OWN, after: null, limit: 10 }),
      async () => store.markEnded(own.keyId, { retireAt: 5 }),
      async () => store.touch([usageOf(own, 5, { 'a:b': 5 })]),
      async () => store.insert(another(600_000)),
    ];
    for (const act of acts) {
      const moved = await counted(act);
      let rowsRead = 0;
      for (const [name, value] of Object.entries(moved)) {
        if (/^Handler_read_(next|prev|rnd_next|rnd)$/.test(name)) rowsRead += value;
      }
      expect(rowsRead, `${act}: ${JSON.stringify(moved)}`).toBeLessThanOrEqual(20);
    }
    const summary = await counted(async () => store.summarize(5));
    const { Handler_read_rnd_next = 0, Handler_read_next = 0 } = summary;
    expect(Handler_read_rnd_next + Handler_read_next).toBeGreaterThan(300);
  });
});
