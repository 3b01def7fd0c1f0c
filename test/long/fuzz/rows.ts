/** Rows: any value that a store might return. */
import assert from 'node:assert/strict';
import type { KeyRecord } from 'keyscope';
import { createKeyring, isStoreError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import type { Target } from './judge.ts';
import { inner, isEqual, requireData, requireDenial, settled, timed } from './judge.ts';
import { AUTHORITY, base, LIVE, LIVE_ID, OTHER, OWN, type Ring, START, store } from './subject.ts';

const { readRecord } = await inner<typeof import('../../../src/core/record.js')>('core/record');

/** The row of the live key. */
export const ROW: KeyRecord = { ...((await store.findById(LIVE_ID)) as KeyRecord) };

const UNSEALED = [
  'revokedAt',
  'suspendedAt',
  'retireAt',
  'withdrawn',
  'endedBy',
  'endReason',
  'changedAt',
  'lastUsedAt',
  'scopesUsed',
];
const SEALED = Object.keys(ROW).filter((name) => !UNSEALED.includes(name)) as (keyof KeyRecord)[];

function sealedPart(row: KeyRecord): readonly unknown[] {
  return SEALED.map((name) => row[name]);
}

/** Makes a keyring over a store that answers everything with one row. */
function ringOver(row: KeyRecord): Ring {
  const hostile = {
    findByDigest: () => [row],
    findById: () => row,
    list: () => [row],
    mark: () => true,
  };
  return timed(createKeyring({ ...base, store: { ...memoryStore(), ...hostile } }));
}

/** Checks that a row that was read as a record is one, and reads the same again. */
function checkRecord(row: KeyRecord): void {
  requireData(row);
  assert.deepEqual(Object.keys(row).sort(), Object.keys(ROW).sort());
  assert.equal(readRecord(row), row);
  const text = JSON.stringify(row);
  assert.equal(JSON.stringify(readRecord(JSON.parse(text))), text);
  assert.ok(row.accessibleEntities.includes(row.entityId));
  assert.ok(!row.scopes.some((scope) => scope.includes('*')));
}

export const record: Target = {
  seeds: [
    ROW,
    { ...ROW, revokedAt: START },
    { ...ROW, retireAt: START + 1, lastUsedAt: START, scopesUsed: { 'threats:read': START } },
    { ...ROW, scopes: ['*:*'] },
    { ...ROW, seal: null, digest: `s1$${'0'.repeat(64)}` },
    {
      ...ROW,
      expiresAt: null,
      rotatedFrom: OTHER,
      justification: 'a',
      metadata: JSON.parse('{ "__proto__": "a" }') as unknown,
    },
  ],
  words: [
    ...Object.keys(ROW),
    OWN,
    OTHER,
    LIVE_ID,
    ROW.digest,
    String(ROW.seal),
    'threats:read',
    '*',
    'toString',
    '__proto__',
  ],
  async check(given) {
    const row = readRecord(given);
    if (row !== null) checkRecord(row);
    // The sealed fields are unchanged, and no other field has ended the key.
    const isMarked = row?.revokedAt !== null || row.suspendedAt !== null;
    const isAlive = !isMarked && (row.retireAt === null || row.retireAt > START);
    const isSound = row !== null && isAlive && isEqual(sealedPart(row), sealedPart(ROW));
    const over = ringOver(given as KeyRecord);
    const verified = await settled(over.verify(LIVE));
    const rotated = await settled(over.rotate(LIVE_ID, { overlapMs: 0 }, AUTHORITY));
    const found = await settled(over.get(LIVE_ID, AUTHORITY));
    const listed = await settled(over.list({}, AUTHORITY));
    assert.equal('value' in verified, isSound);
    assert.equal('value' in rotated, isSound && row.retireAt === null);
    for (const { error } of [verified, rotated, found, listed]) {
      if (error === undefined || isStoreError(error)) continue;
      requireDenial(error, ['invalid_token', 'not_found', 'conflict']);
    }
  },
};
