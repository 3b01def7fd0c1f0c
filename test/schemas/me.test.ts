/** The body of `GET /me`: the schema and its JSON Schema against the core, over one table. */
import type { KeyRecord, KeyStore, Me } from 'keyscope';
import { digestKey, isAccessError, isStoreError, toMe } from 'keyscope';
import { meJsonSchema, meSchema } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, test } from 'vitest';
import { RECORD } from '../support/records.ts';
import { createValidator, createVectorKeyring, type InputVector, KEY } from '../support/schemas.ts';
import { failures, readVectors, unfold } from '../support/vectors.ts';

const { tests: vectors } = readVectors<{ readonly tests: readonly InputVector[] }>('me');

type Body = Partial<Record<keyof Me, unknown>>;

/** A store that returns one row: the record of a real key with the vector's values. */
function storeWith(body: Body): KeyStore {
  const row: unknown = {
    ...RECORD,
    digest: digestKey(KEY),
    seal: null,
    keyId: body.key_id,
    entityId: body.entity_uuid,
    accessibleEntities: body.accessible_entities,
    scopes: body.scopes,
  };
  return { ...memoryStore(), findByDigest: () => [row as KeyRecord] };
}

describe('the vectors of /me', () => {
  test('hold for the schema', async () => {
    const failed = await failures(vectors, ({ input, result }) => {
      const body = unfold(input);
      const parsed = meSchema.safeParse(body);
      expect(parsed.success).toBe(result === 'accept');
      if (parsed.success) expect(JSON.stringify(parsed.data)).toBe(JSON.stringify(body));
    });
    expect(failed).toEqual([]);
  });

  // Through a stored record.
  test('hold for the core, which shows the same bytes or refuses the row', async () => {
    const asked = vectors.filter(
      ({ flags }) => !flags.includes('Shape') && !flags.includes('Syntax'),
    );
    expect(asked.length).toBeGreaterThan(45);
    const failed = await failures(asked, async ({ input, result }) => {
      const body = unfold(input);
      const keyring = createVectorKeyring(storeWith(body as Body));
      try {
        expect(JSON.stringify(toMe(await keyring.verify(KEY)))).toBe(JSON.stringify(body));
        expect(result).toBe('accept');
      } catch (error) {
        if (!isAccessError(error) && !isStoreError(error)) throw error;
        expect(result).toBe('refuse');
      }
    });
    expect(failed).toEqual([]);
  });

  test('hold for the JSON Schema, which cannot detect that the own entity is missing', async () => {
    const isValid = await createValidator(meJsonSchema);
    const failed = await failures(vectors, async ({ input, result, flags, comment }) => {
      // Fastify drops a `__proto__` before its validator sees it.
      if (flags.includes('Prototype') && result === 'refuse') return;
      const isMissing = comment.endsWith('the own entity is missing');
      expect(await isValid(unfold(input))).toBe(result === 'accept' || isMissing);
    });
    expect(failed).toEqual([]);
  });
});
