/** The endpoints accept the same input as the core, over the vectors for `issue`. */
import { createKeyAdmin, type KeyAdmin } from 'keyscope/admin';
import { expect, test } from 'vitest';
import { answered, malformed, post } from '../support/admin.ts';
import { authority, createVectorKeyring, type Fields, inputVectors } from '../support/schemas.ts';
import { failures, unfold, uuid } from '../support/vectors.ts';

const authorityOf = () => authority;

/** An authority with every scope and two entities, which is enough for most vectors. */
const WIDE = {
  name: 'wide',
  scopes: ['threats:*', 'constructor:read', 'users:read', 'users:delete'],
  expiresAt: 'never',
  accessibleEntities: [uuid(1), uuid(2)],
  justification: 'Off-boarding.',
} as const;

/** The expected refusal: by field, or 413 for input that is too long to be read. */
async function expectRefused(admin: KeyAdmin, path: string, body: string, field: string) {
  const answer = admin(post(path, body));
  if (Buffer.byteLength(body) > 128 * 1024) await answered(answer, 413);
  else await malformed(answer, field);
}

test('POST /keys answers the vectors with 201, or with 400 and the field', async () => {
  const admin = createKeyAdmin({ keyring: createVectorKeyring(), authorityOf });
  let made = 0;
  const failed = await failures(inputVectors, async ({ input, result, field = '' }) => {
    const body = JSON.stringify(unfold(input));
    if (result === 'refuse') return expectRefused(admin, '/keys', body, field);
    await answered(admin(post('/keys', body)), 201);
    made += 1;
  });
  expect(failed).toEqual([]);
  expect(made).toBeGreaterThan(50);
});

test('POST /keys/{keyId}/rotate refuses the same input as POST /keys', async () => {
  const keyring = createVectorKeyring();
  const admin = createKeyAdmin({ keyring, authorityOf });
  const refused = inputVectors.filter(({ field = '', result, input }) => {
    const isTable = typeof input === 'object' && input !== null && !Array.isArray(input);
    const isShared = ['name', 'expiresAt', 'accessibleEntities', 'input'].includes(field);
    return result === 'refuse' && isTable && isShared;
  });
  const failed = await failures(refused, async ({ input, field = '' }) => {
    const unfolded = unfold(input) as Fields;
    // The successor inherits fields that a new key must have.
    if (field !== 'input' && !Object.hasOwn(unfolded, field)) return;
    const { info } = await keyring.issue(WIDE, authority);
    const { metadata: _metadata, ...rest } = unfolded;
    const body = JSON.stringify({ overlapMs: 0, ...rest });
    await expectRefused(admin, `/keys/${info.keyId}/rotate`, body, field);
  });
  expect(failed).toEqual([]);
  expect(refused.length).toBeGreaterThan(50);
});
