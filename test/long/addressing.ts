/**
 * `npm run lab -- addressing`: a million keys of a thousand entities that all address one more. At
 * least 99 of 100 of that entity's pages of 100 keys have to take at most 20 ms, first and last
 * pages alike. A new key with 1,000 entities has to be written within 2 s. Prints the figures; the
 * exit code says whether all were fast enough. `-- --quick` makes a tenth of the keys. Needs
 * PostgreSQL, where it creates a schema and drops it.
 *
 * The figures are fair: ids are spread over their index like random ones, so the keys of a page are
 * not adjacent in it. Pages are read in random order. The rows, some 700 MB, exceed the server's
 * cache in its default configuration.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { KeyRecord } from 'keyscope';
import { migrate, postgresStore } from 'keyscope/stores/postgres';
import pg from 'pg';

const { KEYSCOPE_TEST_POSTGRES = 'postgres://postgres@127.0.0.1:5432/test' } = process.env;
const KEYS = process.argv.includes('--quick') ? 100_000 : 1_000_000;
const PAGES = 1_000;
const INSERTS = 50;
const PAGE_MS = 20;
const INSERT_MS = 2_000;
const PREFIX = 'acme';
const START = 1_700_000_000_000;
/** The entity that all keys address. */
const ADDRESSED = '0b0b0b0b-0000-4000-8000-00000000000b';

const FILL = `
  INSERT INTO keyscope_keys (
    format, key_id, prefix, hint, name, digest, entity_id, accessible_entities, scopes, metadata,
    created_at, root_key_id, seal, withdrawn, scopes_used)
  SELECT
    1, key_id, '${PREFIX}', 'KrPP', 'integration', 's1$' || repeat(md5(i || 'd'), 2), entity,
    ARRAY[entity, '${ADDRESSED}'], '{threats:read,decoys:read}', '{"team":"red"}',
    ${START} + i, key_id, repeat(md5(i || 's'), 2), '{}', '{}'
  FROM (
    SELECT i, md5(i || 'k')::uuid AS key_id, md5((i % 1000) || 'e')::uuid::text AS entity
    FROM generate_series(1, ${KEYS}) AS i
  ) AS made;
  INSERT INTO keyscope_addressing (entity_id, prefix, created_at, key_id)
  SELECT '${ADDRESSED}', prefix, created_at, key_id FROM keyscope_keys`;

interface Position {
  readonly createdAt: number;
  readonly keyId: string;
}

/** The position before every older key. */
function positionAt(createdAt: number): Position {
  return { createdAt, keyId: '00000000-0000-0000-0000-000000000000' };
}

/** Reads the page after a position, or the first. */
type ReadPage = (after: Position | null) => Promise<readonly KeyRecord[]>;

function pageReader(pool: pg.Pool): ReadPage {
  const store = postgresStore(pool);
  return async (after) =>
    store.list({ prefix: PREFIX, entityId: ADDRESSED, addressing: true, after, limit: 101 });
}

/** Milliseconds that each call took, in order. */
async function timesOf(count: number, act: (index: number) => unknown): Promise<readonly number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await act(i);
    times.push(performance.now() - start);
  }
  return times.sort((first, second) => first - second);
}

/** Prints the times of a kind of call, and returns whether they are within `limit`. */
function report(what: string, times: readonly number[], limit: number): boolean {
  const quantile = (part: number): number => times[Math.ceil(part * times.length) - 1] ?? NaN;
  const figures = [0.5, 0.99, 1].map((part) => quantile(part).toFixed(2).padStart(8));
  const isFast = quantile(0.99) <= limit;
  const verdict = isFast ? '' : `  more than ${limit} ms`;
  console.log(`${what.padEnd(42)}${figures.join('')}${verdict}`);
  return isFast;
}

async function fill(pool: pg.Pool): Promise<void> {
  const start = performance.now();
  await migrate(pool);
  await pool.query(FILL);
  await pool.query('VACUUM ANALYZE keyscope_keys, keyscope_addressing');
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(`${KEYS.toLocaleString('en')} keys in ${seconds} s`);
}

/** Checks that pages are complete, in order, and start at the right key. */
async function checkPages(readPage: ReadPage): Promise<void> {
  const first = await readPage(null);
  const middle = await readPage(positionAt(START + KEYS / 2));
  const newest = [START + KEYS, START + KEYS / 2 - 1];
  for (const [index, page] of [first, middle].entries()) {
    const times = page.map(({ createdAt }) => createdAt);
    const expected = Array.from({ length: 101 }, (_, place) => Number(newest[index]) - place);
    assert.deepEqual(times, expected);
  }
}

/** Draws a random position, down to the deepest. */
function anywhere(): Position {
  return positionAt(START + 101 + Math.floor(Math.random() * (KEYS - 101)));
}

/** A key with the maximum number of entities, all of them new. */
function recordWithManyEntities(): KeyRecord {
  const keyId = randomUUID();
  const entityId = randomUUID();
  const digits = keyId.replaceAll('-', '');
  return {
    format: 1,
    keyId,
    prefix: PREFIX,
    hint: 'KrPP',
    name: 'integration',
    digest: `s1$${digits}${digits}`,
    entityId,
    accessibleEntities: [entityId, ...Array.from({ length: 999 }, () => randomUUID())],
    scopes: ['threats:read'],
    justification: null,
    metadata: {},
    createdAt: Date.now(),
    createdBy: null,
    expiresAt: null,
    rotatedFrom: null,
    rootKeyId: keyId,
    issuedUnder: null,
    trust: null,
    seal: null,
    revokedAt: null,
    suspendedAt: null,
    retireAt: null,
    withdrawn: [],
    endedBy: null,
    endReason: null,
    changedAt: null,
    lastUsedAt: null,
    scopesUsed: {},
  };
}

async function measure(pool: pg.Pool): Promise<boolean> {
  const readPage = pageReader(pool);
  const store = postgresStore(pool);
  await checkPages(readPage);
  const oldest = positionAt(START + 102);
  console.log(`${''.padEnd(42)}${['p50', 'p99', 'max'].map((n) => n.padStart(8)).join('')}  ms`);
  const fast = [
    report('the first page', await timesOf(PAGES, () => readPage(null)), PAGE_MS),
    report('a page anywhere', await timesOf(PAGES, () => readPage(anywhere())), PAGE_MS),
    report('the last page', await timesOf(PAGES, () => readPage(oldest)), PAGE_MS),
    report(
      'a new key with 1,000 entities',
      await timesOf(INSERTS, () => store.insert(recordWithManyEntities())),
      INSERT_MS,
    ),
  ];
  return !fast.includes(false);
}

const schema = `keyscope_addressing_${randomUUID().replaceAll('-', '').slice(0, 8)}`;
const connectionString = KEYSCOPE_TEST_POSTGRES;
const pool = new pg.Pool({ connectionString, options: `-c search_path=${schema}` });
await pool.query(`CREATE SCHEMA ${schema}`);
try {
  await fill(pool);
  const isFast = await measure(pool);
  process.exitCode = isFast ? 0 : 1;
} finally {
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
}
