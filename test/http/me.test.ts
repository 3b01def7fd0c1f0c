import { type Principal, toMe } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { AUTHORITY, NOWHERE, OTHER, OWN, readThrough, setUp, untyped } from '../support/keyring.ts';

async function principalOfTwoEntities(): Promise<Principal> {
  const { keyring } = setUp();
  const scopes = ['threats:read', 'decoys:read'] as const;
  const input = { name: 'ci', scopes, expiresAt: 'never', accessibleEntities: [OTHER] } as const;
  const { key } = await keyring.issue(input, { ...AUTHORITY, entities: [OTHER] });
  return keyring.verify(key);
}

describe('toMe', () => {
  it('shows exactly four fields of a principal, in their order', async () => {
    const principal = await principalOfTwoEntities();
    const fields = [
      `"entity_uuid":"${OWN}"`,
      `"key_id":"${principal.keyId}"`,
      '"scopes":["threats:read","decoys:read"]',
      `"accessible_entities":["${OWN}","${OTHER}"]`,
    ];
    expect(JSON.stringify(toMe(principal))).toBe(`{${fields.join()}}`);
  });

  it('omits fields that a later version adds to principals', async () => {
    const principal = await principalOfTwoEntities();
    const later = { ...principal, ownerEmail: 'somebody@example.com' };
    expect(toMe(later)).toEqual(toMe(principal));
  });

  it('shows a scope that the catalog no longer has', async () => {
    const { key, store } = await readThrough((inner) => inner);
    const { keyring } = setUp({ store, catalog: untyped({ all: [], expand: () => [] }) });
    expect(toMe(await keyring.verify(key)).scopes).toEqual(['threats:read']);
  });

  // For `undefined`, the error was the engine's, about reading a property.
  it.each([undefined, null, 'key', {}, { keyId: 7 }, { keyId: NOWHERE.toUpperCase() }])(
    'refuses %j, which cannot be a principal',
    (value) => {
      const message = 'toMe: pass the principal that verify, authenticate or admit returned';
      expect(() => toMe(untyped(value))).toThrow(new TypeError(message));
    },
  );
});
