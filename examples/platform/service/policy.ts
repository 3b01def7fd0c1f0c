/** The scopes that each operation needs: one table for REST, MCP and any further interface. */
import { definePolicy } from 'keyscope';
import { catalog } from './catalog.ts';

export const policy = definePolicy(catalog, {
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
});

export type Operation = (typeof policy.operations)[number];
