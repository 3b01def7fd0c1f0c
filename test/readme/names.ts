/**
 * The names that blocks of the README and of docs use without declaring them, as a service would
 * have them. For the compiler only: nothing here runs.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { KeyStore, Peppers, Principal } from 'keyscope';
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import type { KeyAdmin } from 'keyscope/admin';
import type { CachedStore } from 'keyscope/cache';
import type { LeakHandler } from 'keyscope/leaks';
import type { McpTool } from 'keyscope/mcp';
import type { Pool } from 'pg';
import { OPEN_OPERATIONS } from '../support/admin.ts';

export {
  createKeyring,
  definePolicy,
  defineScopes,
  isAccessError,
  requireScopes,
  toMe,
  toResponse,
} from 'keyscope';
export { memoryStore } from 'keyscope/stores/memory';

export const catalog = defineScopes({
  threats: { read: 'List and read threats.' },
  interactions: { read: 'List and read interactions.' },
  reports: { read: 'Export the report.' },
  projects: { read: 'List and read projects.' },
  invoices: { read: 'List and read invoices.', write: 'Create and change invoices.' },
});
export const policy = definePolicy(catalog, {
  whoami: [],
  listThreats: ['threats:read'],
  exportReport: ['reports:read'],
  listProjects: ['projects:read'],
  listInvoices: ['invoices:read'],
  ...OPEN_OPERATIONS,
});
export declare const store: CachedStore;
export declare const peppers: Peppers;
export const keyring = createKeyring({ prefix: 'acme', policy, store, peppers: 'none' });

export declare const session: {
  readonly entityId: string;
  readonly scopes: readonly string[];
  readonly email: string;
};
export const authority = { entityId: session.entityId, scopes: session.scopes };
export declare function userOf(
  request: Request,
): Promise<(typeof session & { readonly role: string }) | null>;
export declare const principal: Principal;
export declare const tools: readonly (McpTool & { readonly config: object; run(): unknown })[];
export declare const keyId: string;
export declare const entityId: string;
export declare const subsidiary: string;
export declare const request: IncomingMessage & { readonly url: string };
export declare const server: Server;
export declare const pool: Pool;
export declare const connectionString: string;
export declare const url: string;
export declare const accessToken: string;
export declare const clusterKeys: string;
export declare const admin: KeyAdmin;
export declare const leaks: LeakHandler;
export declare function threats(entityId: string): readonly object[];
export declare function myStore(): KeyStore;
