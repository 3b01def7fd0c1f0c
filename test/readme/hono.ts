/** The names in a block for Hono. */
import type { Hono } from 'hono';
import { createGuard, type Guarded } from '../../examples/hono/adapter.ts';
import { keyring } from './names.ts';

export * from './names.ts';
export { createGuard };
export declare const app: Hono<Guarded>;
export const guard = createGuard({ keyring });
