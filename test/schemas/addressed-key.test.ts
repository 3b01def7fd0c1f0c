/** Another entity's key, as the entity that it addresses sees it. */
import fastify from 'fastify';
import { addressedKeyJsonSchema, addressedKeySchema, keyInfoSchema } from 'keyscope/schemas';
import { describe, expect, test } from 'vitest';
import { authority, createVectorKeyring, type Fields, NOW } from '../support/schemas.ts';
import { uuid } from '../support/vectors.ts';

const GUEST = { entityId: uuid(1) };
const keyring = createVectorKeyring();

/** Two keys that address the guest, which withdrew from the second. */
const shown = (async () => {
  const input = { name: 'ci', scopes: ['threats:read'], accessibleEntities: [uuid(1), uuid(2)] };
  await keyring.issue({ ...input, expiresAt: 'never' }, authority);
  const second = await keyring.issue({ ...input, expiresAt: new Date(NOW + 1) }, authority);
  await keyring.withdraw(second.info.keyId, GUEST);
  return (await keyring.list({ addressing: true }, GUEST)).keys;
})();

function asJson(value: unknown): Fields {
  return JSON.parse(JSON.stringify(value)) as Fields;
}

describe('an addressed key', () => {
  test('is accepted as the core shows it, before and after JSON.stringify', async () => {
    const keys = await shown;
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      expect(addressedKeySchema.parse(key)).toEqual(asJson(key));
      expect(addressedKeySchema.parse(asJson(key))).toEqual(asJson(key));
    }
  });

  test('passes through Fastify with the JSON Schema of its response', async () => {
    const keys = await shown;
    const app = fastify();
    const schema = { response: { 200: { type: 'array', items: addressedKeyJsonSchema } } };
    app.get('/', { schema }, () => keys);
    const { body } = await app.inject('/');
    expect(JSON.parse(body)).toEqual(asJson(keys));
  });

  test.each<[string, Fields]>([
    ['a field that only the owner sees', { metadata: {} }],
    ['its creator', { createdBy: 'ada' }],
    ['its last use', { lastUsedAt: null }],
    ['no owner', { entityId: undefined }],
    ['a time in milliseconds', { createdAt: NOW }],
    ['an unknown state', { state: 'withdrawn' }],
    ['a wildcard', { scopes: ['threats:*'] }],
  ])('is refused with %s', async (_what, change) => {
    const keys = await shown;
    const changed = asJson({ ...keys[0], ...change });
    expect(addressedKeySchema.safeParse(changed).success).toBe(false);
  });

  test('differs from a key that the entity owns', async () => {
    const { keys } = await keyring.list({}, authority);
    expect(keyInfoSchema.array().safeParse(keys).success).toBe(true);
    expect(addressedKeySchema.safeParse(keys[0]).success).toBe(false);
  });
});
