/** The recipe for tenants without UUIDs, with the real package. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installedIn } from '../support/installed.ts';
import { AUTHORITY, denied, issue, OTHER, PLAIN, setUp, typeError } from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';
import { readProjectFile } from '../support/source.ts';

interface Printed {
  entityOf(tenantId: string): string;
}
interface Uuid {
  v5(value: string, namespace: string): string;
}

const { describe, load } = installedIn('recipes', 'uuid');
const [, NAMESPACE = ''] = /NAMESPACE = '([^']*)'/.exec(readProjectFile('docs/recipes.md')) ?? [];

/** UUIDv5 from RFC 9562 §5.5, without the package. */
function nameBased(namespace: string, name: string): string {
  const bytes = Buffer.from(namespace.replaceAll('-', ''), 'hex');
  const digest = createHash('sha1').update(bytes).update(name).digest().subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex');
  return hex.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
}

describe('the entity of a tenant', () => {
  let recipes: Recipes;
  let entityOf: Printed['entityOf'];
  let uuid: Uuid;
  beforeAll(async () => {
    recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['entities.ts']);
    ({ entityOf } = (await recipes.load('entities.ts')) as Printed);
    uuid = (await load('uuid')) as Uuid;
  });
  afterAll(() => recipes.remove());

  test('is the UUIDv5 of its id, as the RFC computes it', () => {
    // RFC 9562, Appendix A.4.
    const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';
    const vector = '2ed6657d-e927-568b-95e1-2665a8aea6a2';
    expect(nameBased(dns, 'www.example.com')).toBe(vector);
    expect(uuid.v5('www.example.com', dns)).toBe(vector);
    for (const id of ['7', 'tenant-42', 'Zürich', '日本', 'x'.repeat(1000)]) {
      expect(entityOf(id)).toBe(nameBased(NAMESPACE, id));
      expect(entityOf(id)).toBe(entityOf(id));
    }
  });

  test('works as a keyscope entity: its key acts for it and for no other tenant', async () => {
    const { keyring } = setUp();
    const entityId = entityOf('42');
    const { key, info } = await keyring.issue(PLAIN, { entityId, scopes: 'all' });
    expect((await keyring.verify(key)).entityId).toBe(entityId);
    const revoking = () => keyring.revoke(info.keyId, { entityId: entityOf('43') });
    await denied(revoking, 'not_found', 'foreign_key');
    await keyring.revoke(info.keyId, { entityId: entityOf('42') });
  });

  test('differs in another namespace, where it has no keys', async () => {
    const { keyring } = setUp();
    await keyring.issue(PLAIN, { ...AUTHORITY, entityId: entityOf('42') });
    const moved = uuid.v5('42', OTHER);
    expect(moved).not.toBe(entityOf('42'));
    expect((await keyring.list({}, { entityId: moved })).keys).toEqual([]);
  });

  test('differs for every other spelling', () => {
    const spellings = ['7', '07', ' 7', '7 ', 'a', 'A', 'é', 'é'.normalize('NFD')];
    expect(new Set(spellings.map(entityOf)).size).toBe(spellings.length);
  });

  test.each(['', undefined, null, 42, '\ud800'])('does not exist for an invalid id: %j', (id) => {
    expect(() => entityOf(id as string)).toThrow();
  });

  test('is not confused with the id itself', async () => {
    const { keyring } = setUp();
    await issue(keyring);
    await typeError(() => keyring.list({}, { entityId: '42' }), /entityId/);
  });
});
