/** The names in a block for Express. A block that names no framework gets these, too. */
import type { Express } from 'express';
import { createGuard } from '../../examples/express/adapter.ts';
import { keyring } from './names.ts';

export * from './names.ts';
export { createGuard };
export declare const app: Express;
export const guard = createGuard({ keyring });
