/** Guards of the adapters on a keyring without keys: every caller gets a 401. */
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';

const catalog = defineScopes({ a: { read: 'Read.' } });

const policy = definePolicy(catalog, { one: ['a:read'], two: ['a:read'], three: ['a:read'] });

/** The options for `createGuard` of each adapter. */
export const guarding = {
  keyring: createKeyring({ prefix: 'acme', policy, store: memoryStore(), peppers: 'none' }),
  realm: 'test',
};
