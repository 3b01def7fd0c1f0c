import { createKeyAdmin, type KeyAdminOperation } from 'keyscope/admin';
import { keyring } from './access.ts';
import { personOf } from './product.ts';

/** What each role may put into a key. */
const GRANTS = { admin: ['*:*'], member: ['*:read'] } as const;
const OF_MEMBERS: readonly KeyAdminOperation[] = ['listKeys', 'getKey', 'issueKey'];

export const settings = createKeyAdmin({
  keyring,
  basePath: '/settings/keys',
  async authorityOf(request, operation) {
    const person = await personOf(request.headers.get('Cookie'));
    if (person === null) return null; // 401
    const { organizationId, email, role } = person;
    const isAllowed = role === 'admin' || OF_MEMBERS.includes(operation);
    if (!isAllowed || operation === 'issueKeylessKey') return 'forbidden'; // 403
    return { entityId: organizationId, scopes: GRANTS[role], actor: email };
  },
  onError: console.error,
});
