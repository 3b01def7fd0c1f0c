import type { KeyRecord, KeyStore } from 'keyscope';
import { mysqlStore, purgeEnded } from 'keyscope/stores/mysql';
import { expect, test } from 'vitest';
import { COLUMN_LIST } from '../../../src/stores/rows.ts';
import { AUTHORITY, OTHER, OWN, PLAIN, THIRD } from '../../support/keyring.ts';
import { isMariadb, numbersTo } from '../../support/mysql-clients.ts';
import {
  another,
  DRIVERS,
  type Driver,
  describeMysql,
  lineageOf,
  OWN_KEYS,
  type Place,
  retireAt,
  revokeAt,
  SLOW,
  usageOf,
  usePlace,
} from '../../support/mysql-place.ts';
import { keyringOver } from '../../support/patient-keyring.ts';

/** The reads of rows, of an index or of a temporary table, one after the other. */
const SCANS = /^Handler_read_(next|prev|rnd_next|rnd)$/;

function rowsReadIn(moved: Readonly<Record<string, number>>): number {
  let rows = 0;
  for (const [name, value] of Object.entries(moved)) if (SCANS.test(name)) rows += value;
  return rows;
}

/** A variable of `SHOW STATUS`. */
interface Variable {
  readonly Variable_name: string;
  readonly Value: string;
}

/** The server's counters for a client's connection. */
async function counters(driver: Driver, { opened }: Place): Promise<Map<string, number>> {
  const answer = (await opened.query('SHOW SESSION STATUS')) as unknown[];
  // mysql2 also returns the columns.
  const rows = (driver === 'mysql2' ? answer[0] : answer) as readonly Variable[];
  return new Map(rows.map(({ Variable_name, Value }) => [Variable_name, Number(Value)]));
}

/** Look-ups by digest and by id, with room for 1, 10, 100 or 1,000 of them; and the inspection. */
const PREPARED = 9;

const WRITE_COMMANDS = /^Com_(insert|update|delete|replace|commit|rollback|begin|set_option)/;
const WRITE_HANDLERS = /^Handler_(write|update|delete|commit)/;

describeMysql.each(DRIVERS)('over a connection of %s', SLOW, (driver) => {
  const place = usePlace(`${driver} connection`);

  /** How much each counter increased while `act` ran. */
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

  test('a verification is one query, and writes nothing', async () => {
    const keyring = keyringOver(mysqlStore(place.opened.client));
    const { key } = await keyring.issue(PLAIN, AUTHORITY);
    await keyring.verify(key);
    const moved = await counted(async () => {
      for (let i = 0; i < 10; i++) await keyring.verify(key);
    });
    expect(moved).toMatchObject({ Com_select: 10, Com_stmt_execute: 10, Handler_read_key: 10 });
    // A read-only statement ends in a commit of nothing. MySQL first says whether a transaction is
    // open, in a statement of its own.
    const { Handler_commit, Com_set_option, ...rest } = moved;
    expect(Handler_commit ?? 0).toBeLessThanOrEqual(10);
    expect(Com_set_option ?? 0).toBe(isMariadb ? 0 : 10);
    const names = Object.keys(rest);
    expect(names.filter((name) => WRITE_COMMANDS.test(name))).toEqual([]);
    expect(names.filter((name) => WRITE_HANDLERS.test(name))).toEqual([]);
  });

  test('all look-ups of a turn are one statement by default', async () => {
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

  /** Every method, with look-ups of every size. */
  async function useAll(store: Required<KeyStore>, from: number): Promise<void> {
    const records = Array.from({ length: 400 }, (_, i) => another(from + i));
    const first = records[0] ?? another(from);
    await store.insert(first);
    await store.insert({ ...another(from + 1), accessibleEntities: [OWN, THIRD] });
    for (const size of [1, 2, 9, 10, 11, 50, 99, 100, 101, 400]) {
      const some = records.slice(0, size);
      await store.findByDigest(some.map(({ digest }) => digest));
      await Promise.all(some.map(async ({ keyId }) => store.findById(keyId)));
      await store.touch(some.map((record) => usageOf(record, size, { 'a:b': size })));
    }
    for (const addressing of [false, true]) {
      await store.list({ ...OWN_KEYS, addressing });
      await store.list({ ...OWN_KEYS, addressing, after: { createdAt: 1, keyId: OTHER } });
    }
    await store.listLineage(lineageOf(first.keyId));
    await store.listAll({ after: null, limit: 9 });
    await store.listExpiring({ before: 9, after: null, limit: 9 });
    await store.listChanged({ since: 9, limit: 9 });
    await store.summarize(9);
    await store.mark(first.keyId, retireAt(5));
    await store.mark(first.keyId, revokeAt(5));
  }

  // 135 on each connection of each instance exceeded a server's limit with a few hundred instances.
  test(`at most ${PREPARED} statements are prepared on a connection`, async () => {
    const { Com_stmt_prepare = 0 } = await counted(() => useAll(place.store, 700_000));
    console.log(`statements that a connection of ${driver} has prepared: ${Com_stmt_prepare}`);
    expect(Com_stmt_prepare).toBeGreaterThan(0);
    expect(Com_stmt_prepare).toBeLessThanOrEqual(PREPARED);
  });

  test('no statement is prepared with prepare: false', async () => {
    const unprepared = mysqlStore(place.opened.client, { prepare: false });
    // Whichever test runs first: the migration does not count.
    await place.store.findById(OTHER);
    const moved = await counted(() => useAll(unprepared, 800_000));
    expect(moved).toMatchObject({ Com_insert: 3 });
    expect(Object.keys(moved).filter((name) => name.startsWith('Com_stmt'))).toEqual([]);
  });

  test('only a summary scans the whole table', async () => {
    const { store } = place;
    const own = { ...another(500_000), entityId: OTHER, expiresAt: 50 };
    await store.insert(own);
    const accessibleEntities = [OWN, THIRD];
    for (let i = 0; i < 300; i++) {
      const given = { accessibleEntities, changedAt: i, expiresAt: 1000 + i };
      await store.insert({ ...another(500_001 + i), ...given });
    }
    await place.rows('ANALYZE TABLE keyscope_keys, keyscope_addressing');
    const guests = { ...OWN_KEYS, entityId: THIRD, addressing: true };
    const after = { createdAt: 9, keyId: OTHER };
    const acts: readonly (() => Promise<unknown>)[] = [
      async () => store.findByDigest([own.digest]),
      async () => store.findByDigest([own.digest, another(1).digest, another(2).digest]),
      async () => store.findById(own.keyId),
      async () => store.list({ ...OWN_KEYS, entityId: OTHER }),
      async () => store.list({ ...OWN_KEYS, entityId: OTHER, after }),
      async () => store.list(OWN_KEYS),
      async () =>
        store.list({ ...OWN_KEYS, after: { createdAt: 1, keyId: another(500_200).keyId } }),
      async () => store.list(guests),
      async () => store.list({ ...guests, after: { createdAt: 1, keyId: another(500_200).keyId } }),
      async () => store.listLineage(lineageOf(own.keyId)),
      async () => store.listAll({ after: null, limit: 9 }),
      async () => store.listAll({ after: `all.${another(500_200).keyId}`, limit: 9 }),
      async () => store.listExpiring({ before: 2000, after: null, limit: 9 }),
      async () => store.listExpiring({ before: 2000, after: `expiring.1100.${OTHER}`, limit: 9 }),
      async () => store.listChanged({ since: 200, limit: 3 }),
      async () =>
        store.listChanged({ since: 9, after: { changedAt: 200, keyId: OTHER }, limit: 3 }),
      async () => store.mark(own.keyId, retireAt(5)),
      async () => store.mark(own.keyId, { kind: 'withdraw', at: 5, entityId: THIRD }),
      async () => store.mark(own.keyId, revokeAt(5)),
      async () => store.touch([usageOf(own, 5, { 'a:b': 5 })]),
      async () => store.insert(another(600_000)),
    ];
    async function expectFew(act: () => Promise<unknown>, few: number): Promise<void> {
      const moved = await counted(act);
      expect(rowsReadIn(moved), `${act}: ${JSON.stringify(moved)}`).toBeLessThanOrEqual(few);
    }
    for (const act of acts) await expectFew(act, 20);
    // It migrates first. To see that no view hides a table, MySQL reads the names of all views.
    const views = Number(await place.value('SELECT COUNT(*) FROM information_schema.VIEWS'));
    const purge = () => purgeEnded(place.opened.client, { endedBefore: new Date(0) });
    await expectFew(purge, isMariadb ? 20 : 20 + views);
    const summary = await counted(async () => store.summarize(5));
    const { Handler_read_rnd_next = 0, Handler_read_next = 0 } = summary;
    expect(Handler_read_rnd_next + Handler_read_next).toBeGreaterThan(300);
  });

  test('a part of a lineage of 20,000 keys reads no more rows wherever it begins', async () => {
    const from = 0xa00000;
    const { keyId: rootKeyId } = another(0xffffff);
    await place.store.insert(another(0xffffff));
    // The odd ones are rotations, the even ones were issued under the first.
    const others: Readonly<Record<string, string>> = {
      key_id: `CONCAT('00', LOWER(HEX(${from} + seq)), SUBSTRING(key_id, 9))`,
      digest: "CONCAT('s1$', seq)",
      root_key_id: "IF(seq % 2, root_key_id, CONCAT('0', seq))",
      issued_under: 'IF(seq % 2, NULL, root_key_id)',
    };
    const columns = COLUMN_LIST.replace(/\w+/g, (column) => others[column] ?? column);
    await place.rows(`INSERT INTO keyscope_keys (${COLUMN_LIST}) SELECT ${columns}
      FROM keyscope_keys CROSS JOIN ${numbersTo(20_000)} WHERE key_id = '${rootKeyId}'`);
    const limit = 100;
    for (const last of [0, 1, 5_000, 10_001, 19_900, 19_950]) {
      const after = last === 0 ? null : another(from + last).keyId;
      let ids: string[] = [];
      const moved = await counted(async () => {
        const part = await place.store.listLineage({ rootKeyId, after, limit });
        ids = part.map(({ keyId }) => keyId);
      });
      const numbers = Array.from(
        { length: Math.min(limit, 20_000 - last) },
        (_, i) => last + 1 + i,
      );
      const expected = numbers.map((number) => another(from + number).keyId);
      if (expected.length < limit) expected.push(rootKeyId);
      expect(ids).toEqual(expected);
      // At most 100 from each index; those of both are then sorted, each in a temporary table.
      const { Handler_read_next: fromIndexes } = moved;
      expect(fromIndexes, JSON.stringify(moved)).toBeLessThanOrEqual(2 * limit);
      expect(rowsReadIn(moved), JSON.stringify(moved)).toBeLessThanOrEqual(8 * limit);
    }
  });
});
