/** Adapter guards on a keyring without keys: every request gets 401. */
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';

const catalog = defineScopes({ a: { read: 'Read.' } });

const policy = definePolicy(catalog, { one: ['a:read'], two: ['a:read'], three: ['a:read'] });

/** The options for each adapter's `createGuard`. */
export const guarding = {
  keyring: createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' }),
  policy,
  realm: 'test',
};
