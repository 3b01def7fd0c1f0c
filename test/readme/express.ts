/** The names for Express recipes. The README's routes that name no framework use them too. */
import type { Express } from 'express';
import { createGuard } from '../../examples/express/adapter.ts';
import { keyring, policy } from './names.ts';

export * from './names.ts';
export { createGuard };
export declare const app: Express;
export const guard = createGuard({ keyring, policy, realm: 'acme' });
