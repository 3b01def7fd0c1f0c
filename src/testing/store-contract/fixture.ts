/** The fixture of a test: a store, and records that no other test uses. */
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore, LineageQuery, ListQuery, SchemeSummary } from '../../core/store.js';
import { same } from '../assertions.js';

/** The fixture of one test. Await the store's answers: they may be synchronous. */
export interface StoreFixture {
  readonly store: KeyStore;
  readonly entityId: string;
  /** The prefix of this test's keys. */
  readonly prefix: string;
  /** The part of this test's digests before the `$`. No other test has it. */
  readonly scheme: string;
  /**
   * Makes a record with a new key id and digest that was never rotated and addresses its own
   * entity. It is not frozen, because callers need not freeze their arguments.
   */
  record(given?: Partial<KeyRecord>): KeyRecord;
  /** Makes such a record and inserts it. */
  add(given?: Partial<KeyRecord>): Promise<KeyRecord>;
  /** Fails unless look-ups by key id and by digest return exactly `expected`. */
  holds(expected: KeyRecord, when: string): Promise<void>;
  /** Lists the first 100 keys of this test's entity, or what `given` says instead. */
  list(given?: Partial<ListQuery>): Promise<readonly KeyRecord[]>;
  /** Lists the first 100 keys of a lineage, or what `given` says instead. */
  lineage(rootKeyId: string, given?: Partial<LineageQuery>): Promise<readonly KeyRecord[]>;
  /**
   * Returns the rows of a summary at `now` with this test's scheme or the scheme `of`. Returns none
   * if the store lacks `summarize`.
   */
  summaryOf(now?: number, of?: string): Promise<readonly SchemeSummary[]>;
}

/** A time far from the present, which reveals a store that uses its own clock. */
export const TIME = 1_000_000_000_000;

/** The last time that a `Date` can hold; the first is its negative. */
export const LAST = 8_640_000_000_000_000;

/** A day in milliseconds. */
export const DAY = 86_400_000;

/** A random UUID. */
export function uuid(): string {
  return globalThis.crypto.randomUUID();
}

/** A random UUID that begins with letters, to catch comparisons that fold case. */
export function letteredUuid(): string {
  return `abcd${uuid().slice(4)}`;
}

/** 64 random hexadecimal digits, as in a digest. */
export function randomHex(): string {
  return `${uuid()}${uuid()}`.replaceAll('-', '');
}

/** Makes the fixture of one test. Ids are random, so tests may share one database. */
export function createStoreFixture(store: KeyStore): StoreFixture {
  const entityId = letteredUuid();
  const prefix = `t_${randomHex().slice(0, 8)}`;
  const scheme = `h1.t-${randomHex().slice(0, 20)}`;

  function record(given: Partial<KeyRecord> = {}): KeyRecord {
    const { keyId = uuid(), entityId: owner = entityId } = given;
    const own = { keyId, rootKeyId: keyId, entityId: owner, accessibleEntities: [owner] };
    // Letters at both ends, to catch comparisons that fold case or truncate text.
    const digest = `${scheme}$ab${randomHex().slice(4)}cd`;
    return { ...PLAIN, prefix, digest, seal: randomHex(), ...own, ...given };
  }

  async function add(given: Partial<KeyRecord> = {}): Promise<KeyRecord> {
    const made = record(given);
    await store.insert(made);
    return made;
  }

  async function holds(expected: KeyRecord, when: string): Promise<void> {
    same(await store.findById(expected.keyId), expected, `${when}: findById`);
    same(await store.findByDigest([expected.digest]), [expected], `${when}: findByDigest`);
  }

  async function list(given: Partial<ListQuery> = {}): Promise<readonly KeyRecord[]> {
    return store.list({ prefix, entityId, after: null, limit: 100, ...given });
  }

  async function lineage(
    rootKeyId: string,
    given: Partial<LineageQuery> = {},
  ): Promise<readonly KeyRecord[]> {
    return store.listLineage({ rootKeyId, after: null, limit: 100, ...given });
  }

  async function summaryOf(now = TIME, of = scheme): Promise<readonly SchemeSummary[]> {
    const rows = await store.summarize?.(now);
    return (rows ?? []).filter((row) => row.scheme === of);
  }

  return { store, entityId, prefix, scheme, record, add, holds, list, lineage, summaryOf };
}

/** The fields that the records of all tests share. */
const PLAIN: Omit<
  KeyRecord,
  'keyId' | 'rootKeyId' | 'prefix' | 'digest' | 'entityId' | 'accessibleEntities'
> = {
  format: 1,
  hint: 'KrPP',
  name: 'integration',
  scopes: ['threats:read', 'decoys:read'],
  justification: null,
  metadata: {},
  createdAt: TIME,
  createdBy: null,
  expiresAt: null,
  rotatedFrom: null,
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
