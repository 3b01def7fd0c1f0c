/** The names for Hono recipes. */
import type { Hono } from 'hono';
import { createGuard, type Guarded } from '../../examples/hono/adapter.ts';
import { keyring, policy } from './names.ts';

export * from './names.ts';
export { createGuard };
export declare const app: Hono<Guarded>;
export const guard = createGuard({ keyring, policy, realm: 'acme' });
