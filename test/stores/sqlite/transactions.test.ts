import type { KeyStore } from 'keyscope';
import { createKeyring, definePolicy } from 'keyscope';
import { purgeEnded, sqliteStore } from 'keyscope/stores/sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AUTHORITY, catalog, OWN, PEPPER, PLAIN } from '../../support/keyring.ts';
import { RECORD } from '../../support/records.ts';
import { DRIVERS, type Handle, open } from '../../support/sqlite.ts';
import {
  another,
  freshFiles,
  readValue,
  revokeAt,
  stocked,
} from '../../support/sqlite-databases.ts';

const { fresh } = freshFiles();

const WHOSE = { prefix: 'acme', entityId: OWN, after: null, limit: 10 };

const IN_TRANSACTION = 'in the middle of a transaction. Open one only for keyscope';

/** A handle of `node:sqlite` before 22.16, which does not say whether it is in a transaction. */
function silent(path: string): Handle {
  const db = open('node:sqlite', path);
  return {
    exec: (sql) => db.exec(sql),
    prepare: (sql) => db.prepare(sql),
    close: () => db.close(),
  };
}

const HANDLES = [...DRIVERS, 'node:sqlite before 22.16'] as const;
const openAs = (kind: (typeof HANDLES)[number], path: string) =>
  kind === 'node:sqlite before 22.16' ? silent(path) : open(kind, path);

describe.each(HANDLES)('in a transaction left open on a handle of %s', (kind) => {
  test('nothing is written that could be rolled back', () => {
    const db = openAs(kind, ':memory:');
    const store = sqliteStore(db);
    store.insert(RECORD);
    db.exec('BEGIN');
    const touched = { keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: {} };
    expect(() => store.insert(another(1))).toThrow(/transaction/);
    expect(() => store.mark(RECORD.keyId, revokeAt(5))).toThrow(/transaction/);
    expect(() => store.touch([touched])).toThrow(/transaction/);
    db.exec('COMMIT');
    expect(store.list(WHOSE)).toEqual([RECORD]);
    db.close();
  });

  // A key that another process had revoked was still accepted.
  test('nothing is read, because it could be out of date', async () => {
    const path = fresh();
    const db = openAs(kind, path);
    const store = sqliteStore(db);
    store.insert(RECORD);
    const elsewhere = openAs(kind, path);
    db.exec('BEGIN');
    db.prepare('SELECT 1 FROM keyscope_keys').all();
    expect(sqliteStore(elsewhere).mark(RECORD.keyId, revokeAt(5))).toBe(true);
    const lookUps = [
      () => store.findByDigest([RECORD.digest]),
      () => store.findById(RECORD.keyId),
      () => store.list(WHOSE),
      () => store.list({ ...WHOSE, addressing: true }),
      () => store.listLineage({ rootKeyId: RECORD.keyId, after: null, limit: 10 }),
      () => store.listExpiring({ before: 9, after: null, limit: 10 }),
      () => store.listAll({ after: null, limit: 10 }),
      () => store.listChanged({ since: 0, limit: 10 }),
    ];
    await expect(store.summarize(0)).rejects.toThrow(IN_TRANSACTION);
    await expect(purgeEnded(db, { endedBefore: new Date(0) })).rejects.toThrow(IN_TRANSACTION);
    for (const lookUp of lookUps) {
      expect(lookUp).toThrow(IN_TRANSACTION);
    }
    db.exec('COMMIT');
    expect(store.findById(RECORD.keyId)).toMatchObject({ keyId: RECORD.keyId, revokedAt: 5 });
    db.close();
    elsewhere.close();
  });
});

test('a failed write leaves the handle outside a transaction', () => {
  const { db, store } = stocked();
  const duplicate = () => store.insert(RECORD);
  expect(duplicate).toThrow('keyscope: a key with this id or digest exists already');
  const good = { keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: {} };
  const bad = { ...good, lastUsedAt: 'now' as unknown as number };
  expect(() => store.touch([good, bad])).toThrow();
  expect(db.isTransaction).toBe(false);
  expect(store.findById(RECORD.keyId)).toEqual(RECORD);
});

// It waited synchronously for the lock of another process: no request was served for up to five
// seconds.
describe.each(DRIVERS)('usage, on %s, while another process has the lock', (driver) => {
  const entry = { keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } };
  let db: Handle;
  let rival: Handle;
  let store: KeyStore;
  beforeEach(() => {
    const path = fresh();
    db = open(driver, path);
    rival = open(driver, path);
    store = sqliteStore(db);
    store.insert(RECORD);
    rival.exec('BEGIN IMMEDIATE');
  });
  afterEach(() => {
    vi.useRealTimers();
    db.close();
    rival.close();
  });

  test('blocks nobody, and is written once the lock is released', async () => {
    const answer = store.touch([entry]);
    expect(answer).toBeInstanceOf(Promise);
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(5000);
    expect(store.findById(RECORD.keyId)).toEqual(RECORD);
    rival.exec('COMMIT');
    await answer;
    expect(store.findById(RECORD.keyId)).toMatchObject({ lastUsedAt: 5, scopesUsed: { 'a:b': 5 } });
  });

  test('gives up after a second', async () => {
    vi.useFakeTimers();
    const given = expect(store.touch([entry])).rejects.toThrow('database is locked');
    await vi.advanceTimersByTimeAsync(900);
    await given;
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(5000);
  });

  test('stays in the keyring, which writes it with a later flush', async () => {
    vi.useFakeTimers();
    const policy = definePolicy(catalog, { list: ['threats:read'] });
    const keyring = createKeyring({ prefix: 'acme', policy, store, peppers: [PEPPER] });
    rival.exec('COMMIT');
    const { key, info } = await keyring.issue(PLAIN, AUTHORITY);
    await keyring.admit(`Bearer ${key}`, { operation: 'list' });
    rival.exec('BEGIN IMMEDIATE');
    const flushed = expect(keyring.flush()).rejects.toThrow('store.touch failed');
    await vi.advanceTimersByTimeAsync(900);
    await flushed;
    rival.exec('COMMIT');
    await keyring.flush();
    const shown = await keyring.get(info.keyId, AUTHORITY);
    expect(shown).toMatchObject({ lastUsedAt: expect.any(Date) as Date });
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(5000);
  });

  test('keeps a timeout that the service has set', async () => {
    db.exec('PRAGMA busy_timeout = 123');
    const answer = store.touch([entry]);
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(123);
    rival.exec('COMMIT');
    await answer;
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(123);
  });
});

// They waited synchronously, so every request of the process waited too: 5 s for a lock of 5 s.
describe.each(DRIVERS)('a write, on %s, while another process has the lock', (driver) => {
  const revoke = revokeAt(5);
  let db: Handle;
  let rival: Handle;
  let store: KeyStore;
  beforeEach(() => {
    const path = fresh();
    db = open(driver, path);
    rival = open(driver, path);
    store = sqliteStore(db);
    store.insert(RECORD);
    rival.exec('BEGIN IMMEDIATE');
  });
  afterEach(() => {
    db.close();
    rival.close();
  });

  test('blocks no look-up, and is written once the lock is released', async () => {
    const next = another(1);
    const inserted = store.insert(next);
    const revoked = store.mark(RECORD.keyId, revoke);
    expect(inserted).toBeInstanceOf(Promise);
    expect(store.findByDigest([RECORD.digest])).toEqual([RECORD]);
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(5000);
    rival.exec('COMMIT');
    await inserted;
    expect(await revoked).toBe(true);
    expect(store.findById(next.keyId)).toEqual(next);
    expect(store.findById(RECORD.keyId)).toMatchObject({ revokedAt: 5 });
  });

  test('is not written once its caller has given up', async () => {
    const gone = new AbortController();
    const revoked = store.mark(RECORD.keyId, revoke, { signal: gone.signal });
    gone.abort(new Error('nobody waits'));
    rival.exec('COMMIT');
    await expect(revoked).rejects.toThrow('nobody waits');
    expect(store.findById(RECORD.keyId)).toEqual(RECORD);
  });

  test('retries for as long as the handle would wait', async () => {
    db.exec('PRAGMA busy_timeout = 50');
    await expect(store.mark(RECORD.keyId, revoke)).rejects.toThrow('database is locked');
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(50);
  });
});
