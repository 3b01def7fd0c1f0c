/**
 * The names of a recipe for Express, whose adapter the README's guarded routes without a
 * framework's name mean too.
 */
import type { Express } from 'express';
import { createGuard } from '../../examples/express/adapter.ts';
import { keyring, policy } from './names.ts';

export * from './names.ts';
export { createGuard };
export declare const app: Express;
export const guard = createGuard({ keyring, policy, realm: 'acme' });
