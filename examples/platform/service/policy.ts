/** The scopes that each operation needs: one table for REST, MCP and any further interface. */
import type { Keyring, OperationOf } from 'keyscope';
import { definePolicy } from 'keyscope';
import { catalog } from './catalog.ts';

const table = {
  whoami: [],
  listThreats: ['threats:read'],
  readThreat: ['threats:read'],
  updateThreat: ['threats:write'],
  listInteractions: ['interactions:read'],
  readInteraction: ['interactions:read'],
  listDecoys: ['decoys:read'],
  readDecoy: ['decoys:read'],
  updateDecoy: ['decoys:update'],
  decommissionDecoy: ['decoys:delete'],
  listCanaries: ['canaries:read'],
  readCanary: ['canaries:read'],
  createCanary: ['canaries:write'],
  updateCanary: ['canaries:write'],
  decommissionCanary: ['canaries:delete'],
  exportReport: ['reports:read'],
  listUsers: ['users:read'],
  readUser: ['users:read'],
  createUser: ['users:write'],
  deleteUser: ['users:delete'],
} as const;

/** The policy of routes and tools. */
export const policy = definePolicy(catalog, table);

/** The policy of the keyring, which also admits the exchange of a key for a token. */
export const allOperations = definePolicy(catalog, { ...table, exchangeToken: [] });

export type Operation = OperationOf<typeof policy>;

export type PlatformKeyring = Keyring<typeof catalog, OperationOf<typeof allOperations>>;
