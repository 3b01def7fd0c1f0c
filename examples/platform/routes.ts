/**
 * The REST interface as one table: method, path, operation, what may be sent, what is done. The servers wire it,
 * and decide nothing of their own. A route's operation is its name in the policy.
 */
import type { Principal } from 'keyscope';
import { toMe } from 'keyscope';
import { z } from 'zod';
import type { Domain, Page, Position } from './domain.ts';
import { CANARY_KINDS, THREAT_STATUSES, USER_ROLES } from './domain.ts';
import type { Operation } from './policy.ts';
import { Refusal } from './problem.ts';

export interface Result {
  readonly status: number;
  /** Sent as JSON; `undefined` for an answer without a body. */
  readonly body?: unknown;
}

interface Call<Query, Body> {
  readonly domain: Domain;
  readonly principal: Principal;
  /** The entity that the guard checked: the only one that a handler may use. */
  readonly entityUuid: string;
  /** `:id` of the path; empty where the path has none. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly operation: Operation;
  /** Query parameters, beside `entity_uuid`, which the guard reads. */
  readonly query: z.ZodObject;
  /** `null`: the route takes no body. */
  readonly body: z.ZodObject | null;
  /** Validates, then does it. Throws `Refusal`, or the domain's `Conflict`. */
  readonly handle: (call: Call<unknown, unknown>) => Result;
}

const NOTHING = z.strictObject({});

function route<Q extends z.ZodObject = typeof NOTHING, B extends z.ZodObject = never>(
  line: `${Route['method']} /${string}`,
  operation: Operation,
  input: { readonly query?: Q; readonly body?: B },
  handle: (call: Call<z.output<Q>, z.output<B>>) => Result,
): Route {
  const [method, path] = line.split(' ') as [Route['method'], string];
  const query: z.ZodObject = input.query ?? NOTHING;
  const body = input.body ?? null;
  return {
    method,
    path: `/v1${path}`,
    operation,
    query,
    body,
    handle: (call) =>
      handle({
        ...call,
        query: check(query, call.query, 'query') as z.output<Q>,
        body: (body === null ? undefined : check(body, call.body, 'body')) as z.output<B>,
      }),
  };
}

/** The first thing that is wrong, and where; what was sent is not repeated. */
function check(schema: z.ZodType, value: unknown, where: string): unknown {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const issue = error.issues[0];
  const path = [where, ...(issue?.path ?? [])].join('.');
  throw new Refusal(400, `${path}: ${issue?.code === 'unrecognized_keys' ? 'an unknown field' : issue?.message}`);
}

// ── What may be sent ──────────────────────────────────────────────────────────────────────────────────

// Half a surrogate pair and NUL are texts in JSON and none in SQLite.
const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'well-formed text without NUL');
const line = text(100).regex(/^\P{Cc}+$/u, '1 to 100 characters, no control characters');
const notes = text(2000);
const someOf = <T extends z.ZodRawShape>(shape: T) =>
  z
    .strictObject(shape)
    .partial()
    .refine((body) => Object.keys(body).length > 0, 'name at least one field');

const encode = ({ created_at, id }: Position): string => Buffer.from(`${created_at} ${id}`).toString('base64url');

const cursor = z.string().transform((text, context): Position => {
  const [created_at, id, ...rest] = Buffer.from(text, 'base64url').toString().split(' ');
  const position = { created_at: created_at ?? '', id: id ?? '' };
  // Encoding it again refuses every text that Buffer reads generously.
  if (rest.length > 0 || text !== encode(position)) {
    context.addIssue({ code: 'custom', message: 'pass "next" of the page before' });
  }
  return position;
});

const paging = z.strictObject({
  limit: z
    .string()
    .regex(/^(?:[1-9][0-9]?|100)$/, 'a whole number from 1 to 100')
    .transform(Number)
    .default(20),
  after: cursor.nullable().default(null),
});

// ── What is answered ──────────────────────────────────────────────────────────────────────────────────

const listed = (page: Page<unknown>): Result => ({
  status: 200,
  body: { items: page.items, next: page.next && encode(page.next) },
});

/** The same for an id that never was, one that is gone, and one of another entity. */
const found = (row: unknown, status = 200): Result => {
  if (row === null) throw new Refusal(404, 'There is nothing with this id.');
  return { status, body: row };
};
const gone = (ended: boolean): Result => (ended ? { status: 204 } : found(null));

export const routes: readonly Route[] = [
  route('GET /me', 'whoami', {}, ({ principal }) => ({ status: 200, body: toMe(principal) })),

  route('GET /threats', 'listThreats', { query: paging }, ({ domain, entityUuid, query }) =>
    listed(domain.listThreats(entityUuid, query)),
  ),
  route('GET /threats/:id', 'readThreat', {}, ({ domain, entityUuid, id }) => found(domain.readThreat(entityUuid, id))),
  route(
    'PATCH /threats/:id',
    'updateThreat',
    { body: someOf({ status: z.enum(THREAT_STATUSES), notes }) },
    ({ domain, entityUuid, id, body }) => found(domain.updateThreat(entityUuid, id, body)),
  ),

  route('GET /interactions', 'listInteractions', { query: paging }, ({ domain, entityUuid, query }) =>
    listed(domain.listInteractions(entityUuid, query)),
  ),
  route('GET /interactions/:id', 'readInteraction', {}, ({ domain, entityUuid, id }) =>
    found(domain.readInteraction(entityUuid, id)),
  ),

  route('GET /decoys', 'listDecoys', { query: paging }, ({ domain, entityUuid, query }) =>
    listed(domain.listDecoys(entityUuid, query)),
  ),
  route('GET /decoys/:id', 'readDecoy', {}, ({ domain, entityUuid, id }) => found(domain.readDecoy(entityUuid, id))),
  route('POST /decoys/:id/software-update', 'updateDecoy', {}, ({ domain, entityUuid, id }) =>
    found(domain.updateDecoy(entityUuid, id), 202),
  ),
  route('DELETE /decoys/:id', 'decommissionDecoy', {}, ({ domain, entityUuid, id }) =>
    gone(domain.decommissionDecoy(entityUuid, id)),
  ),

  route('GET /canaries', 'listCanaries', { query: paging }, ({ domain, entityUuid, query }) =>
    listed(domain.listCanaries(entityUuid, query)),
  ),
  route('GET /canaries/:id', 'readCanary', {}, ({ domain, entityUuid, id }) =>
    found(domain.readCanary(entityUuid, id)),
  ),
  route(
    'POST /canaries',
    'createCanary',
    { body: z.strictObject({ name: line, kind: z.enum(CANARY_KINDS), notes: notes.default('') }) },
    ({ domain, entityUuid, body }) => ({ status: 201, body: domain.createCanary(entityUuid, body) }),
  ),
  route(
    'PATCH /canaries/:id',
    'updateCanary',
    { body: someOf({ name: line, notes }) },
    ({ domain, entityUuid, id, body }) => found(domain.updateCanary(entityUuid, id, body)),
  ),
  route('DELETE /canaries/:id', 'decommissionCanary', {}, ({ domain, entityUuid, id }) =>
    gone(domain.decommissionCanary(entityUuid, id)),
  ),

  route('GET /reports/executive', 'exportReport', {}, ({ domain, entityUuid }) => ({
    status: 200,
    body: domain.exportReport(entityUuid),
  })),

  route('GET /users', 'listUsers', { query: paging }, ({ domain, entityUuid, query }) =>
    listed(domain.listUsers(entityUuid, query)),
  ),
  route('GET /users/:id', 'readUser', {}, ({ domain, entityUuid, id }) => found(domain.readUser(entityUuid, id))),
  route(
    'POST /users',
    'createUser',
    { body: z.strictObject({ email: z.email().max(254).toLowerCase(), name: line, role: z.enum(USER_ROLES) }) },
    ({ domain, entityUuid, body }) => ({ status: 201, body: domain.createUser(entityUuid, body) }),
  ),
  route('DELETE /users/:id', 'deleteUser', {}, ({ domain, entityUuid, id }) => gone(domain.deleteUser(entityUuid, id))),
];
