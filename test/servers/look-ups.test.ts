import type { KeyStore } from 'keyscope';
import { type MysqlLoan, type MysqlPool, mysqlStore } from 'keyscope/stores/mysql';
import { type PgClient, postgresStore } from 'keyscope/stores/postgres';
import { redisStore } from 'keyscope/stores/redis';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { another, describeMysql, lending, usePlace } from '../support/mysql-place.ts';
import { describePostgres, using } from '../support/postgres-place.ts';
import { deleteUnder, ioRedis } from '../support/redis-clients.ts';
import { describeOn, SERVERS } from '../support/servers.ts';
import { longestTurnOf } from '../support/turns.ts';

const POSTGRES = using('pg Pool of 10');
const MYSQL = usePlace('mysql2 pool');
const describeRedis = await describeOn('redis');

/** A store, and how many of its queries are in flight. */
interface Counted {
  readonly store: Required<KeyStore>;
  /** The most at once since the last call. */
  most(): number;
}

/** Counts the unanswered calls of a client's method. */
function countCalls<Call extends (...args: never[]) => PromiseLike<unknown>>(call: Call) {
  let open = 0;
  let highest = 0;
  const counted = async (...args: never[]) => {
    open += 1;
    highest = Math.max(highest, open);
    try {
      return await call(...args);
    } finally {
      open -= 1;
    }
  };
  function most(): number {
    const was = highest;
    highest = 0;
    return was;
  }
  return { counted: counted as unknown as Call, most };
}

function onPostgres(maxLookUpQueries?: number): Counted {
  const pool = POSTGRES.client as PgClient;
  const { counted, most } = countCalls<PgClient['query']>((query) => pool.query(query));
  const client = { connect: () => {}, query: counted };
  return { store: postgresStore(client, { maxLookUpQueries }), most };
}

function onMysql(maxLookUpQueries?: number): Counted {
  const pool = MYSQL.opened.client as MysqlPool;
  type Execute = (loan: MysqlLoan, ...given: Parameters<MysqlLoan['execute']>) => Promise<unknown>;
  const { counted, most } = countCalls<Execute>((loan, ...given) => loan.execute(...given));
  const client = lending(pool, (loan) => ({
    ...loan,
    execute: (...given) => counted(loan, ...given),
  }));
  return { store: mysqlStore(client, { maxLookUpQueries }), most };
}

function onRedis(): Pick<Counted, 'store'> {
  const { client } = ioRedis(SERVERS.redis);
  const prefix = `keyscope-test-${crypto.randomUUID()}:`;
  onTestFinished(async () => {
    client.disconnect();
    await deleteUnder(SERVERS.redis, prefix);
  });
  return { store: redisStore(client, { prefix }) };
}

const KEPT = Array.from({ length: 2_000 }, (_, i) => another(i));
const UNKNOWN = Array.from({ length: 14_000 }, (_, i) => another(KEPT.length + i));

describePostgres('look-ups in PostgreSQL', () => areBounded(onPostgres));
describeMysql('look-ups in MySQL', () => areBounded(onMysql));

function areBounded(open: (maxLookUpQueries?: number) => Counted): void {
  beforeAll(async () => {
    const { store } = open();
    await Promise.all(KEPT.map(async (record) => store.insert(record)));
  }, 120_000);

  // Each was a separate query, however many there were.
  test('by id share a query, and each caller gets its own', async () => {
    const { store, most } = open();
    await store.findById('0e0e0e0e-0000-4000-8000-00000000ffff');
    most();
    const some = [...KEPT.slice(0, 150), ...UNKNOWN.slice(0, 150)];
    const ids = [...some.map(({ keyId }) => keyId), 'no id'];
    const found = await Promise.all(ids.map(async (keyId) => store.findById(keyId)));
    expect(most()).toBe(1);
    expect(found.slice(0, 150)).toEqual(KEPT.slice(0, 150));
    expect(found.slice(150)).toEqual(found.slice(150).map(() => null));
  });

  test.each([undefined, 1, 2])('are limited to maxLookUpQueries: %s', async (max) => {
    const { store, most } = open(max);
    await store.findByDigest(['none']);
    most();
    const rows = await Promise.all(
      [...KEPT, ...UNKNOWN].map(async ({ keyId, digest }, i) =>
        i % 4 === 0 ? [await store.findById(keyId)] : store.findByDigest([digest]),
      ),
    );
    expect(most()).toBe(max ?? 4);
    expect(rows.filter(([row]) => row)).toHaveLength(KEPT.length);
  });
}

// Comparing each row with the digests of every caller blocked the event loop for 19 s.
describe('16,000 look-ups of different keys in one turn', () => {
  const MANY = Array.from({ length: 16_000 }, (_, i) => another(100_000 + i));
  const ROUNDS = 5;
  const LIMIT_MS = 300;

  describePostgres('in PostgreSQL', () => leaveTheLoop(onPostgres));
  describeMysql('in MySQL', () => leaveTheLoop(onMysql));
  describeRedis('in Redis', () => leaveTheLoop(onRedis));

  function leaveTheLoop(open: () => Pick<Counted, 'store'>): void {
    test('leave the event loop to others', { timeout: 120_000 }, async ({ task }) => {
      const { store } = open();
      for (const part of inParts(MANY, 1_000)) {
        await Promise.all(part.map(async (record) => store.insert(record)));
      }
      const turns: number[] = [];
      for (let round = 0; round < ROUNDS; round++) turns.push(await longestTurn(store));
      turns.sort((a, b) => a - b);
      console.log(`${task.suite?.name}: blocked for ${turns.map(Math.round).join(', ')} ms`);
      // The least, because anything else that runs on this machine makes all of them longer.
      expect(turns[0]).toBeLessThanOrEqual(LIMIT_MS);
    });
  }

  async function longestTurn(store: KeyStore): Promise<number> {
    const found: unknown[] = [];
    const longest = await longestTurnOf(async () => {
      const asked = MANY.map(async ({ digest }) => store.findByDigest([digest]));
      for (const [row] of await Promise.all(asked)) found.push(row?.keyId);
    });
    expect(found).toEqual(MANY.map(({ keyId }) => keyId));
    return longest;
  }
});

function inParts<T>(all: readonly T[], size: number): T[][] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, i) => all.slice(i * size, (i + 1) * size));
}
