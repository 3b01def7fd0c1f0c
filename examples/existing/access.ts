import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { postgresStore } from 'keyscope/stores/postgres';
import { db } from './product.ts';

const catalog = defineScopes({
  projects: { read: 'List projects.' },
  invoices: { read: 'List invoices.', write: 'Create invoices.' },
});
const policy = definePolicy(catalog, {
  listProjects: ['projects:read'],
  listInvoices: ['invoices:read'],
  createInvoice: ['invoices:write'],
});

export const store = postgresStore(db.$client);
export const keyring = createKeyring({
  prefix: 'acme',
  deployment: 'acme production', // Set it once. Changing it ends every key.
  policy,
  store,
  peppers: [{ id: '2026-11', secret: process.env.PEPPER ?? '' }],
  entityIds: 'text', // The ids of your organizations, whatever they look like.
  maxLifetimeMs: 366 * 86_400_000, // No key lives longer than a year.
});
