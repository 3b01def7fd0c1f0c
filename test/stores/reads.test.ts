import { expect, test } from 'vitest';
import { readChangesStart } from '../../src/stores/reads.js';
import { RECORD } from '../support/records.ts';

const { keyId } = RECORD;
const JUST_BEFORE = { changedAt: 9, keyId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

test.each([{}, { after: null }, { after: undefined }])(
  'starts the first part after the millisecond before: %o',
  (given) => {
    expect(readChangesStart({ ...given, since: 10, limit: 5 })).toEqual(JUST_BEFORE);
  },
);

test('starts the next part after the last key, but not before `since`', () => {
  const startAfter = (changedAt: number) =>
    readChangesStart({ since: 10, after: { changedAt, keyId }, limit: 5 });
  expect(startAfter(10)).toEqual({ changedAt: 10, keyId });
  expect(startAfter(11)).toEqual({ changedAt: 11, keyId });
  expect(startAfter(9)).toEqual(JUST_BEFORE);
});
