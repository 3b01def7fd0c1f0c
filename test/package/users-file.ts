/** The code of a user, compiled against the installed package: some entries, and one mistake. */
import { createKeyring, definePolicy, defineScopes, type Me, type Principal, toMe } from 'keyscope';
import { createMcpGate } from 'keyscope/mcp';
import { secureDocument } from 'keyscope/openapi';
import { meSchema } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { adapterContract, storeContract } from 'keyscope/testing';

const catalog = defineScopes(
  { threats: { read: 'Read threats.' }, users: { delete: 'Delete users.' } },
  { reserved: ['users:*'] },
);
const policy = definePolicy(catalog, { listThreats: ['threats:read'] });
const keyring = createKeyring({ prefix: 'acme', policy, store: memoryStore(), peppers: 'none' });

export async function use(principal: Principal): Promise<Me> {
  const authority = { entityId: principal.entityId, scopes: 'all' } as const;
  await keyring.issue({ name: 'a', scopes: ['threats:*'], expiresAt: 'never' }, authority);
  // @ts-expect-error a scope that the catalog does not have
  await keyring.issue({ name: 'a', scopes: ['threats:raed'], expiresAt: 'never' }, authority);
  policy.authorize(principal, 'listThreats');
  return meSchema.parse(toMe(principal));
}

const written = { openapi: '3.1.0', info: { title: 'a', version: '1' }, paths: {} };
export const document = secureDocument(written, { policy, elsewhere: ['listThreats'] });
export const gate = createMcpGate({
  keyring,
  tools: [{ name: 'listThreats' }],
  resource: 'https://api.example.com/mcp',
});
export { adapterContract, sqliteStore, storeContract };
