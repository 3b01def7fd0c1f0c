/** The names in a block for Fastify. */
import type { FastifyInstance } from 'fastify';
import { createGuard } from '../../examples/fastify/adapter.ts';
import { keyring } from './names.ts';

export * from './names.ts';
export { createGuard };
export declare const app: FastifyInstance;
export const guard = createGuard({ keyring });
