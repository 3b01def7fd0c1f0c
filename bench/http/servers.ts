/**
 * The servers that the HTTP part loads: one route on four frameworks, each bare, behind a
 * middleware that does nothing, behind the hand-written check, behind keyscope, and behind what
 * people install for it.
 */
import { onExpress } from './express.ts';
import { onFastify } from './fastify.ts';
import { onHono } from './hono.ts';
import { onNode } from './node.ts';
import type { Serve } from './route.ts';

/** Framework → case → its server. */
export const SERVERS: Readonly<Record<string, Readonly<Record<string, Serve>>>> = {
  'node:http': onNode,
  Hono: onHono,
  Fastify: onFastify,
  Express: onExpress,
};
