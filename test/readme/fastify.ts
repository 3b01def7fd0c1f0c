/** The names for Fastify recipes. */
import type { FastifyInstance } from 'fastify';
import { createGuard } from '../../examples/fastify/adapter.ts';
import { keyring, policy } from './names.ts';

export * from './names.ts';
export { createGuard };
export declare const app: FastifyInstance;
export const guard = createGuard({ keyring, policy, realm: 'acme' });
