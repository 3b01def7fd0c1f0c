/** A key whose record cannot be read, as management shows it. */
import type { KeyRecord, KeyStore } from 'keyscope';
import { damagedKeyJsonSchema, damagedKeySchema, keyInfoSchema } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, test } from 'vitest';
import { untyped } from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';
import { createValidator, createVectorKeyring, type Fields } from '../support/schemas.ts';
import type { Json } from '../support/vectors.ts';

const broken: Partial<KeyRecord> = { scopes: untyped<string[]>('*:*') };

describe('a damaged key', () => {
  test.each<[string, Partial<KeyRecord>]>([
    ['damaged', broken],
    ['unknown_format', { ...broken, format: 2 }],
    ['revoked', { ...broken, revokedAt: 5, seal: null }],
  ])('is accepted as the core shows it: %s', async (state, change) => {
    const row = { ...RECORD, ...change };
    const store: KeyStore = { ...memoryStore(), list: () => [row] };
    const { entityId } = row;
    const { keys } = await createVectorKeyring(store).list({}, { entityId });
    expect(keys).toEqual([{ state, keyId: row.keyId, entityId }]);
    expect(damagedKeySchema.parse(keys[0])).toEqual(keys[0]);
    const isValid = await createValidator(damagedKeyJsonSchema);
    expect(await isValid(untyped<Json>(keys[0]))).toBe(true);
    // A list distinguishes the two.
    expect(keyInfoSchema.safeParse(keys[0]).success).toBe(false);
  });

  const { keyId, entityId } = RECORD;
  test.each<[string, Fields]>([
    ['the state of a key that can be read', { state: 'live', keyId, entityId }],
    ['no entity', { state: 'damaged', keyId }],
    ['a field that cannot be read', { state: 'damaged', keyId, entityId, name: 'ci' }],
    ['a malformed key id', { state: 'damaged', keyId: 'x', entityId }],
  ])('is refused with %s', async (_what, fields) => {
    expect(damagedKeySchema.safeParse(fields).success).toBe(false);
    const isValid = await createValidator(damagedKeyJsonSchema);
    expect(await isValid(untyped<Json>(fields))).toBe(false);
  });
});
