import type { KeyRecord, Mark } from 'keyscope';
import { expect, test } from 'vitest';
import { applyMark } from '../../../src/stores/marks.ts';
import { OTHER, THIRD, untyped } from '../../support/keyring.ts';
import { RECORD } from '../../support/records.ts';
import { another, dropSafeguards, stocked } from '../../support/sqlite-databases.ts';

const { keyId } = RECORD;

/** The fields that a caller without types may leave out of a mark, and their defaults. */
const SHORT: readonly (readonly [string, object, Partial<KeyRecord>])[] = [
  ['revocation', { kind: 'revoke', at: 5 }, { revokedAt: 5, seal: null }],
  ['suspension', { kind: 'suspend', at: 5 }, { suspendedAt: 5 }],
  ['retirement', { kind: 'retire', at: 5, retireAt: 6 }, { retireAt: 6 }],
];

test.each(SHORT)('a %s works without an author and a reason', (_name, mark, changes) => {
  const { store } = stocked();
  expect(store.mark(keyId, untyped<Mark>(mark))).toBe(true);
  const nobody = { endedBy: null, endReason: null, changedAt: 5 };
  expect(store.findById(keyId)).toEqual({ ...RECORD, ...changes, ...nobody });
});

test('a retirement compares withdrawals as lists, whatever their spelling', () => {
  const retire = { kind: 'retire', at: 5, retireAt: 5, by: null, reason: null } as const;
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['[ ]', []],
    [`[ "${OTHER}",\n "${THIRD}" ]`, [OTHER, THIRD]],
  ];
  for (const [json, withdrawn] of lists) {
    const { db, store } = stocked();
    db.exec(`UPDATE keyscope_keys SET withdrawn = '${json}'`);
    for (const other of [[THIRD], [THIRD, OTHER], [...withdrawn, keyId]]) {
      expect(store.mark(keyId, { ...retire, withdrawn: other }), json).toBe(false);
    }
    expect(store.mark(keyId, { ...retire, withdrawn }), json).toBe(true);
  }
});

test('a withdrawal adds to a list, whatever its spelling', () => {
  const { db, store } = stocked();
  db.exec(`UPDATE keyscope_keys SET withdrawn = '[ "${OTHER}" ]'`);
  const withdraw = { kind: 'withdraw', at: 5 } as const;
  expect(store.mark(keyId, { ...withdraw, entityId: OTHER })).toBe(false);
  expect(store.mark(keyId, { ...withdraw, entityId: THIRD })).toBe(true);
  expect(store.findById(keyId)).toMatchObject({ withdrawn: [OTHER, THIRD], changedAt: 5 });
});

// An invalid list accepted a withdrawal that was then stored nowhere, and the caller got `true`.
test.each(['none', '{}', '5', ''])('a withdrawal fails for the list %j', (json) => {
  const { db, store } = stocked();
  dropSafeguards(db);
  db.exec(`UPDATE keyscope_keys SET withdrawn = '${json}'`);
  expect(store.mark(keyId, { kind: 'withdraw', at: 5, entityId: OTHER })).toBe(false);
  const retire = { kind: 'retire', at: 5, retireAt: 5, by: null, reason: null } as const;
  expect(store.mark(keyId, { ...retire, withdrawn: [] })).toBe(false);
  // A revocation depends only on itself.
  const revoke = { kind: 'revoke', at: 6, by: null, reason: null, seal: null } as const;
  expect(store.mark(keyId, revoke)).toBe(true);
});

test('a mark changes a row as applyMark changes a record, in any order of three', () => {
  const why = { by: 'ada', reason: 'because' };
  const marks = (at: number): readonly Mark[] => [
    { kind: 'revoke', at, ...why, seal: 'end' },
    { kind: 'revoke', at, ...why, seal: 'again', replaces: 'end' },
    { kind: 'revoke', at, ...why, seal: null, replaces: RECORD.seal },
    { kind: 'suspend', at, ...why },
    { kind: 'retire', at, retireAt: at + 7, ...why },
    { kind: 'resume', at },
    { kind: 'withdraw', at, entityId: OTHER },
  ];
  // The second clock is behind.
  const orders = marks(20).flatMap((first) =>
    marks(10).flatMap((second) => marks(30).map((third) => [first, second, third])),
  );
  const { store } = stocked();
  for (const [n, order] of orders.entries()) {
    const what = order.map(({ kind }) => kind).join();
    let expected = another(n);
    store.insert(expected);
    for (const mark of order) {
      const marked = applyMark(expected, mark);
      expect(store.mark(another(n).keyId, mark), what).toBe(marked !== null);
      expected = marked ?? expected;
    }
    expect(store.findById(another(n).keyId), what).toEqual(expected);
  }
});

test('a mark of an unknown kind throws a TypeError', () => {
  const { store } = stocked();
  for (const kind of ['end', undefined, 'constructor']) {
    const marking = () => store.mark(keyId, untyped<Mark>({ kind, at: 5 }));
    expect(marking, kind).toThrow(
      new TypeError('mark: kind: pass revoke, suspend, resume, retire or withdraw'),
    );
  }
});

test('a revocation marks a row again that another program revoked, and keeps its time', () => {
  const { db, store } = stocked();
  db.exec("UPDATE keyscope_keys SET revoked_at = 900, ended_by = 'x', changed_at = 900");
  const again = { kind: 'revoke', at: 5, by: 'ada', reason: null, seal: 'end' } as const;
  for (const replaces of [undefined, null, 'other']) {
    expect(store.mark(keyId, { ...again, replaces }), String(replaces)).toBe(false);
  }
  expect(store.mark(keyId, { ...again, replaces: RECORD.seal })).toBe(true);
  expect(store.mark(keyId, { ...again, replaces: RECORD.seal })).toBe(false);
  const marked = { revokedAt: 900, changedAt: 900, endedBy: 'ada', seal: 'end' };
  expect(store.findById(keyId)).toEqual({ ...RECORD, ...marked });
});

test('a revocation that replaces a seal does not mark a key that is not revoked', () => {
  const { store } = stocked();
  const again = { kind: 'revoke', at: 5, by: null, reason: null, seal: 'end' } as const;
  expect(store.mark(keyId, { ...again, replaces: RECORD.seal })).toBe(false);
  // Nor a row without a seal.
  store.insert({ ...another(1), seal: null, revokedAt: 5 });
  expect(store.mark(another(1).keyId, { ...again, replaces: 'other' })).toBe(false);
  expect(store.findById(keyId)).toEqual(RECORD);
});
