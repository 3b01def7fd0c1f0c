import { isAccessError } from 'keyscope';
import {
  migrate,
  type PgClient,
  type PostgresClient,
  postgresStore,
} from 'keyscope/stores/postgres';
import { storeContract } from 'keyscope/testing';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { AUTHORITY, HOUR, issue, setUp } from '../../support/keyring.ts';
import { everythingIn, expectNoSecretIn } from '../../support/leaks.ts';
import {
  type Opened,
  ofPg,
  ofPostgresJs,
  pgPool,
  postgresJs,
  type Settings,
  sharedPglite,
} from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describeKind,
  describePostgres,
  KINDS,
  RECORD,
  using,
} from '../../support/postgres-place.ts';

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

// It was sent a hundred times within a millisecond, or again and again after its callers had given
// up.
test('a statement that is rolled back is retried with pauses, for five seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  try {
    let sent = 0;
    const query = async () => {
      sent += 1;
      throw Object.assign(new Error('could not serialize access'), { code: '40001' });
    };
    const refused = expect(migrate({ connect: () => {}, query })).rejects.toThrow(
      'keyscope: PostgreSQL: could not serialize access',
    );
    await vi.advanceTimersByTimeAsync(4_900);
    const before = sent;
    expect(before).toBeGreaterThan(20);
    expect(before).toBeLessThan(1000);
    await vi.advanceTimersByTimeAsync(10_000);
    await refused;
    expect(sent).toBeLessThan(2 * before);
  } finally {
    vi.useRealTimers();
  }
});

// pg-promise and TypeORM's QueryRunner have both methods: "Cannot read properties of undefined".
test('a client that answers without rows is rejected', async () => {
  const told = 'keyscope: PostgreSQL: the client must return rows as objects, and texts unchanged';
  for (const answer of [{}, { rows: 'x' }, [], null, undefined]) {
    const client = { connect() {}, query: async () => answer } as unknown as PostgresClient;
    await expect(migrate(client)).rejects.toThrow(told);
  }
});

describe('an error without a message', () => {
  test('is replaced by its code, if it has one', async () => {
    // Like Node's, if a name with two addresses refuses connections.
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    const client: PgClient = { connect: () => {}, query: () => Promise.reject(refused) };
    await expect(migrate(client)).rejects.toThrow('keyscope: PostgreSQL: ECONNREFUSED');
    // Like Neon's Pool, whose errors are events.
    const silent: PgClient = { connect: () => {}, query: () => Promise.reject(new Event('error')) };
    await expect(migrate(silent)).rejects.toThrow('keyscope: PostgreSQL: the connection failed');
  });
});

describePostgres('a client that changes text', () => {
  const parsing = (settings: Settings, parse: (raw: string) => unknown) => {
    const text = { to: 25, from: [25], serialize: (written: unknown) => written, parse };
    return ofPostgresJs(postgresJs(settings, { types: { text } as never }));
  };
  const ways: Readonly<Record<string, (settings: Settings) => Opened>> = {
    'pg in its parser': (settings) =>
      ofPg(
        pgPool(settings, {
          types: { getTypeParser: (() => (raw: string) => raw.slice(0, -1)) as never },
        }),
      ),
    'postgres.js in a transform': (settings) =>
      ofPostgresJs(
        postgresJs(settings, {
          transform: { value: { from: (raw: unknown) => String(raw).slice(0, -1) } },
        }),
      ),
    // The error was that null or a number is not iterable: valid JSON, but not ours.
    'postgres.js in a type that parses to null': (settings) => parsing(settings, () => null),
    'postgres.js in a type that parses to a number': (settings) =>
      parsing(settings, (raw) => raw.length),
  };
  test.each(Object.entries(ways))(
    'is rejected without quoting what it made of a row: %s',
    async (_way, opener) => {
      await alone('pg Pool of 10', async ({ client, schema }) => {
        await postgresStore(client).insert(RECORD);
        const told =
          'keyscope: PostgreSQL: the client must return rows as objects, and texts unchanged. ' +
          'Pass one without types or transforms that change texts';
        const { client: changed, end } = opener(schema.settings);
        await expect(async () => postgresStore(changed).findById(RECORD.keyId)).rejects.toThrow(
          new Error(told),
        );
        await end();
      });
    },
  );
});

describe.each(KINDS)('with %s', (kind) => {
  describeKind(kind)('the error of a rejected write', () => {
    test('quotes no digest and no seal', async () => {
      await alone(kind, async ({ client, sql }) => {
        const store = postgresStore(client);
        await store.insert(RECORD);
        await sql("ALTER TABLE keyscope_keys ADD CHECK (name <> 'refused')");
        const refusals = [
          RECORD,
          { ...another(1), digest: RECORD.digest },
          { ...another(2), name: 'refused' },
          { ...another(3), name: null as unknown as string },
          { ...another(4), metadata: { a: '\0' } },
          { ...another(5), keyId: 'no uuid' },
          { ...another(6), createdAt: 1e300 },
          { ...another(7), createdAt: 8.64e15 + 1 },
          { ...another(8), withdrawn: [RECORD.entityId] },
        ];
        for (const record of refusals) {
          const error: unknown = await Promise.resolve(store.insert(record)).then(
            undefined,
            (reason: unknown) => reason,
          );
          expect(everythingIn(error)).toMatch(/keyscope: PostgreSQL: \w+/);
          expectNoSecretIn(error, record);
          expect((error as { code: unknown }).code).toMatch(/^[0-9A-Z]{5}$/);
        }
      });
    });
  });
});

// For a service whose role or database has a stricter isolation: the loser of a rotation was
// answered with 503 instead of 409, and so was a batch of usage that met another.
describe.each(['repeatable read', 'serializable'])('at isolation %s', (isolation) => {
  const settings = { default_transaction_isolation: isolation };

  describePostgres('the store', () => {
    const used = using('pg Pool of 10', settings);
    storeContract(test, () => used.store);
  });

  describePostgres('concurrent writes', () => {
    test('are all answered: one of many ends a key, and all usage is written', async () => {
      await alone(
        'pg Pool of 10',
        async ({ client }) => {
          const { rows } = await (client as PgClient).query({ text: 'SHOW transaction_isolation' });
          expect(rows).toEqual([{ transaction_isolation: isolation }]);
          const store = postgresStore(client);
          await store.insert(RECORD);
          const used = Array.from({ length: 20 }, async (_, i) =>
            store.touch([{ keyId: RECORD.keyId, lastUsedAt: i, scopesUsed: { [`s:a${i}`]: i } }]),
          );
          await Promise.all(used);
          const ends = Array.from({ length: 20 }, async (_, i) =>
            store.mark(RECORD.keyId, { kind: 'revoke', at: i, by: null, reason: null, seal: null }),
          );
          expect((await Promise.all(ends)).filter((ended) => ended)).toHaveLength(1);
          const row = await store.findById(RECORD.keyId);
          expect([row?.lastUsedAt, Object.keys(row?.scopesUsed ?? {}).length]).toEqual([19, 20]);
        },
        settings,
      );
    });

    test('of two rotations let one win, and the other learns that it lost', async () => {
      await alone(
        'pg Pool of 10',
        async ({ client }) => {
          const { keyring } = setUp({ store: postgresStore(client) });
          for (let round = 0; round < 10; round++) {
            const { info } = await issue(keyring);
            const rotate = (overlapMs: number) =>
              keyring.rotate(info.keyId, { overlapMs }, AUTHORITY);
            const ends = await Promise.allSettled([rotate(HOUR), rotate(2 * HOUR)]);
            const lost = ends.filter((end) => end.status === 'rejected');
            const codes = lost.map(({ reason }) => isAccessError(reason) && reason.code);
            expect(codes).toEqual(['conflict']);
          }
        },
        settings,
      );
    });
  });
});
