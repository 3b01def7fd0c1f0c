/** Guards of the adapters on a keyring without keys: whoever meets one gets 401. */
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';

const catalog = defineScopes({ a: { read: 'Read.' } });

const policy = definePolicy(catalog, { one: ['a:read'], two: ['a:read'], three: ['a:read'] });

/** What `createGuard` of each adapter takes. */
export const guarding = {
  keyring: createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' }),
  policy,
  realm: 'test',
};
