/**
 * The interface as one table: method, path, operation, summary, input, answer and handler of each
 * route. The REST servers, the MCP tools and the OpenAPI document all come from this table. The
 * policy says which scopes an operation needs.
 */
import { toMe } from 'keyscope';
import { z } from 'zod';
import { encodeCursor, line, notes, paging, someOf } from './inputs.ts';
import { Refusal } from './problem.ts';
import { CANARY_KINDS, THREAT_STATUSES, USER_ROLES } from './records.ts';
import type { Route } from './route.ts';
import { route } from './route.ts';
import type { Page } from './rows.ts';
import { shapes } from './shapes.ts';

interface Listed<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

function listed<Item>({ items, next }: Page<Item>): Listed<Item> {
  return { items, next: next && encodeCursor(next) };
}

/** The same answer for an unknown id, a deleted one, and one of another entity. */
function notFound(): Refusal {
  return new Refusal(404, 'There is nothing with this id.');
}

function requireFound<T>(row: T | null): T {
  if (row === null) throw notFound();
  return row;
}

function requireEnded(ended: boolean): void {
  if (!ended) throw notFound();
}

export const routes: readonly Route[] = [
  route('GET /me', 'whoami', {
    summary:
      'Who this key is: its entity, its id, its scopes, and the entities that it can address.',
    answer: shapes.Me,
    handle: ({ principal }) => toMe(principal),
  }),

  route('GET /threats', 'listThreats', {
    summary: 'List threats, newest first.',
    query: paging,
    answer: shapes.Threats,
    handle: ({ domain, entityId, query }) => listed(domain.listThreats(entityId, query)),
  }),
  route('GET /threats/:id', 'readThreat', {
    summary: 'Read one threat.',
    answer: shapes.Threat,
    handle: ({ domain, entityId, id }) => requireFound(domain.readThreat(entityId, id)),
  }),
  route('PATCH /threats/:id', 'updateThreat', {
    summary: "Update a threat's triage status and notes.",
    body: someOf({ status: z.enum(THREAT_STATUSES), notes }),
    answer: shapes.Threat,
    handle: ({ domain, entityId, id, body }) =>
      requireFound(domain.updateThreat(entityId, id, body)),
  }),

  route('GET /interactions', 'listInteractions', {
    summary: 'List the interactions captured by decoys, newest first.',
    query: paging,
    answer: shapes.Interactions,
    handle: ({ domain, entityId, query }) => listed(domain.listInteractions(entityId, query)),
  }),
  route('GET /interactions/:id', 'readInteraction', {
    summary: 'Read one interaction.',
    answer: shapes.Interaction,
    handle: ({ domain, entityId, id }) => requireFound(domain.readInteraction(entityId, id)),
  }),

  route('GET /decoys', 'listDecoys', {
    summary: 'List decoys, newest first.',
    query: paging,
    answer: shapes.Decoys,
    handle: ({ domain, entityId, query }) => listed(domain.listDecoys(entityId, query)),
  }),
  route('GET /decoys/:id', 'readDecoy', {
    summary: 'Read one decoy with its breadcrumbs.',
    answer: shapes.DecoyWithBreadcrumbs,
    handle: ({ domain, entityId, id }) => requireFound(domain.readDecoy(entityId, id)),
  }),
  route('POST /decoys/:id/software-update', 'updateDecoy', {
    summary:
      "Trigger a software update of a decoy. It goes on after the answer; 'readDecoy' shows it.",
    status: 202,
    answer: shapes.Decoy,
    handle: ({ domain, entityId, id }) => requireFound(domain.updateDecoy(entityId, id)),
  }),
  route('DELETE /decoys/:id', 'decommissionDecoy', {
    summary: 'Decommission a decoy, for good.',
    answer: null,
    handle: ({ domain, entityId, id }) => requireEnded(domain.decommissionDecoy(entityId, id)),
  }),

  route('GET /canaries', 'listCanaries', {
    summary: 'List canaries, newest first.',
    query: paging,
    answer: shapes.Canaries,
    handle: ({ domain, entityId, query }) => listed(domain.listCanaries(entityId, query)),
  }),
  route('GET /canaries/:id', 'readCanary', {
    summary: 'Read one canary.',
    answer: shapes.Canary,
    handle: ({ domain, entityId, id }) => requireFound(domain.readCanary(entityId, id)),
  }),
  route('POST /canaries', 'createCanary', {
    summary: 'Create a canary.',
    body: z.strictObject({ name: line, kind: z.enum(CANARY_KINDS), notes: notes.default('') }),
    status: 201,
    answer: shapes.Canary,
    handle: ({ domain, entityId, body }) => domain.createCanary(entityId, body),
  }),
  route('PATCH /canaries/:id', 'updateCanary', {
    summary: 'Update the name or the notes of a canary.',
    body: someOf({ name: line, notes }),
    answer: shapes.Canary,
    handle: ({ domain, entityId, id, body }) =>
      requireFound(domain.updateCanary(entityId, id, body)),
  }),
  route('DELETE /canaries/:id', 'decommissionCanary', {
    summary: 'Decommission a canary, for good.',
    answer: null,
    handle: ({ domain, entityId, id }) => requireEnded(domain.decommissionCanary(entityId, id)),
  }),

  route('GET /reports/executive', 'exportReport', {
    summary: 'Export the executive report.',
    answer: shapes.Report,
    handle: ({ domain, entityId }) => domain.exportReport(entityId),
  }),

  route('GET /users', 'listUsers', {
    summary: 'List console users, newest first.',
    query: paging,
    answer: shapes.Users,
    handle: ({ domain, entityId, query }) => listed(domain.listUsers(entityId, query)),
  }),
  route('GET /users/:id', 'readUser', {
    summary: 'Read one console user.',
    answer: shapes.User,
    handle: ({ domain, entityId, id }) => requireFound(domain.readUser(entityId, id)),
  }),
  route('POST /users', 'createUser', {
    summary: 'Create a console user.',
    body: z.strictObject({
      email: z.email().max(254).toLowerCase(),
      name: line,
      role: z.enum(USER_ROLES),
    }),
    status: 201,
    answer: shapes.User,
    handle: ({ domain, entityId, body }) => domain.createUser(entityId, body),
  }),
  route('DELETE /users/:id', 'deleteUser', {
    summary: 'Delete a console user, for good.',
    answer: null,
    handle: ({ domain, entityId, id }) => requireEnded(domain.deleteUser(entityId, id)),
  }),
];
