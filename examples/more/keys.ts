/** Shared by the examples of the frameworks. Replace the store in memory with your own. */
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';

const catalog = defineScopes({ projects: { read: 'List and read projects.' } });

const policy = definePolicy(catalog, { listProjects: ['projects:read'] });
export const keyring = createKeyring({
  prefix: 'acme',
  policy,
  store: memoryStore(),
  peppers: 'none', // Or a list of secrets: see docs/operations.md.
});
