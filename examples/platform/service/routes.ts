/**
 * The interface as one table: method, path, operation, what it does in a sentence, what may be
 * sent, what is answered, and what is done. The REST servers, the MCP tools and the OpenAPI
 * document are made from it, and decide nothing themselves. A route's operation is its name in the
 * policy.
 */
import type { Principal } from 'keyscope';
import { toMe } from 'keyscope';
import { z } from 'zod';
import type { Domain, Page, Position } from './domain.ts';
import { CANARY_KINDS, THREAT_STATUSES, USER_ROLES } from './domain.ts';
import type { Operation } from './policy.ts';
import { Refusal } from './problem.ts';
import { shapes } from './shapes.ts';

interface Call<Query, Body, Id = string> {
  readonly domain: Domain;
  readonly principal: Principal;
  /** The entity that the guard checked: the only one that a handler may use. */
  readonly entityUuid: string;
  /** `:id` of the path; empty if the path has none. */
  readonly id: Id;
  readonly query: Query;
  readonly body: Body;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly operation: Operation;
  /** For whoever chooses among the operations, a person or a model. */
  readonly summary: string;
  /** `:id` of the path; `null` if the path has none. */
  readonly id: z.ZodString | null;
  /** Query parameters besides `entity_uuid`, which the guard reads. */
  readonly query: z.ZodObject;
  /** `null`: the route accepts no body. */
  readonly body: z.ZodObject | null;
  /** The status of success. */
  readonly status: number;
  /** What is answered, as JSON; `null` if nothing is. */
  readonly answer: z.ZodType | null;
  /** Validates, then does it. Throws `Refusal`, or the domain's `Conflict`. */
  readonly handle: (call: Call<unknown, unknown, unknown>) => unknown;
}

/** What fits a shape, including readonly lists such as the domain's. */
type Shown<T> = T extends readonly (infer E)[]
  ? readonly Shown<E>[]
  : T extends object
    ? { readonly [Field in keyof T]: Shown<T[Field]> }
    : T;

interface Row<A extends z.ZodType | null, Q extends z.ZodObject, B extends z.ZodObject> {
  readonly summary: string;
  readonly query?: Q;
  readonly body?: B;
  /** Default: 200, or 204 if nothing is answered. */
  readonly status?: number;
  readonly answer: A;
  readonly handle: (
    call: Call<z.output<Q>, z.output<B>>,
  ) => A extends z.ZodType ? Shown<z.output<A>> : void;
}

const NOTHING = z.strictObject({});

function route<
  A extends z.ZodType | null,
  Q extends z.ZodObject = typeof NOTHING,
  B extends z.ZodObject = never,
>(
  line: `${Route['method']} /${string}`,
  operation: Operation,
  { handle, query = NOTHING as Q, body, answer, ...row }: Row<A, Q, B>,
): Route {
  const [method, path] = line.split(' ') as [Route['method'], string];
  const id = path.includes('/:id') ? ID : null;
  return {
    status: answer === null ? 204 : 200,
    ...row,
    method,
    path: `/v1${path}`,
    operation,
    id,
    query,
    body: body ?? null,
    answer,
    handle: (call) =>
      handle({
        ...call,
        id: id === null ? '' : check(id, call.id, 'id'),
        query: check(query, call.query, 'query'),
        // For a route without a body the type is `never`: no handler can ask for it.
        body: body === undefined ? (undefined as never) : check(body, call.body, 'body'),
      }),
  };
}

/** Reports the first problem, and where it is; what was sent is not repeated. */
function check<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const issue = error.issues[0];
  const path = [where, ...(issue?.path ?? [])].join('.');
  throw new Refusal(
    400,
    `${path}: ${issue?.code === 'unrecognized_keys' ? 'an unknown field' : issue?.message}`,
  );
}

// ── What may be sent ──────────────────────────────────────────────────────────────────────────────────

const ID = z.string('a text').describe('Of what it is done to.');

/**
 * `entity_uuid`, which every operation accepts and the guard reads: here it is described, not
 * checked.
 */
export const entity = z
  .string()
  .regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .meta({ format: 'uuid', description: "The entity to act on. Left out, it is the key's own." });

// Half a surrogate pair and NUL are valid text in JSON but not in SQLite.
const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine(
      (value) => value.isWellFormed() && !value.includes('\0'),
      'well-formed text without NUL',
    );
const line = text(100).regex(/^\P{Cc}+$/u, '1 to 100 characters, no control characters');
const notes = text(2000);
const someOf = <T extends z.ZodRawShape>(shape: T) =>
  z
    .strictObject(shape)
    .partial()
    .refine((body) => Object.keys(body).length > 0, 'name at least one field')
    .meta({ minProperties: 1 });

const encode = ({ created_at, id }: Position): string =>
  Buffer.from(`${created_at} ${id}`).toString('base64url');

const cursor = z.string().transform((text, context): Position => {
  const [created_at, id, ...rest] = Buffer.from(text, 'base64url').toString().split(' ');
  const position = { created_at: created_at ?? '', id: id ?? '' };
  // Encoding it again refuses every text that Buffer reads leniently.
  if (rest.length > 0 || text !== encode(position)) {
    context.addIssue({ code: 'custom', message: 'pass "next" of the page before' });
  }
  return position;
});

const whole = 'a whole number from 1 to 100';
const paging = z.strictObject({
  // In a query it is text; a tool's argument keeps its type.
  limit: z
    .preprocess(
      (sent) => (typeof sent === 'string' && /^[1-9][0-9]{0,2}$/.test(sent) ? Number(sent) : sent),
      z.int(whole).min(1, whole).max(100, whole),
    )
    .default(20)
    .describe('How many at the most. Left out, it is 20.'),
  after: cursor
    .optional()
    .transform((position) => position ?? null)
    .describe('"next" of the page before.'),
});

// ── What is done ──────────────────────────────────────────────────────────────────────────────────────

const listed = <T>({ items, next }: Page<T>) => ({ items, next: next && encode(next) });

/** The same for an id that never existed, one that is gone, and one of another entity. */
function found<T>(row: T | null): T {
  if (row === null) throw new Refusal(404, 'There is nothing with this id.');
  return row;
}
const gone = (ended: boolean): void => void found(ended || null);

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
    handle: ({ domain, entityUuid, query }) => listed(domain.listThreats(entityUuid, query)),
  }),
  route('GET /threats/:id', 'readThreat', {
    summary: 'Read one threat.',
    answer: shapes.Threat,
    handle: ({ domain, entityUuid, id }) => found(domain.readThreat(entityUuid, id)),
  }),
  route('PATCH /threats/:id', 'updateThreat', {
    summary: "Update a threat's triage status and notes.",
    body: someOf({ status: z.enum(THREAT_STATUSES), notes }),
    answer: shapes.Threat,
    handle: ({ domain, entityUuid, id, body }) => found(domain.updateThreat(entityUuid, id, body)),
  }),

  route('GET /interactions', 'listInteractions', {
    summary: 'List the interactions captured by decoys, newest first.',
    query: paging,
    answer: shapes.Interactions,
    handle: ({ domain, entityUuid, query }) => listed(domain.listInteractions(entityUuid, query)),
  }),
  route('GET /interactions/:id', 'readInteraction', {
    summary: 'Read one interaction.',
    answer: shapes.Interaction,
    handle: ({ domain, entityUuid, id }) => found(domain.readInteraction(entityUuid, id)),
  }),

  route('GET /decoys', 'listDecoys', {
    summary: 'List decoys, newest first.',
    query: paging,
    answer: shapes.Decoys,
    handle: ({ domain, entityUuid, query }) => listed(domain.listDecoys(entityUuid, query)),
  }),
  route('GET /decoys/:id', 'readDecoy', {
    summary: 'Read one decoy with its breadcrumbs.',
    answer: shapes.DecoyWithBreadcrumbs,
    handle: ({ domain, entityUuid, id }) => found(domain.readDecoy(entityUuid, id)),
  }),
  route('POST /decoys/:id/software-update', 'updateDecoy', {
    summary:
      "Trigger a software update of a decoy. It goes on after the answer; 'readDecoy' shows it.",
    status: 202,
    answer: shapes.Decoy,
    handle: ({ domain, entityUuid, id }) => found(domain.updateDecoy(entityUuid, id)),
  }),
  route('DELETE /decoys/:id', 'decommissionDecoy', {
    summary: 'Decommission a decoy, for good.',
    answer: null,
    handle: ({ domain, entityUuid, id }) => gone(domain.decommissionDecoy(entityUuid, id)),
  }),

  route('GET /canaries', 'listCanaries', {
    summary: 'List canaries, newest first.',
    query: paging,
    answer: shapes.Canaries,
    handle: ({ domain, entityUuid, query }) => listed(domain.listCanaries(entityUuid, query)),
  }),
  route('GET /canaries/:id', 'readCanary', {
    summary: 'Read one canary.',
    answer: shapes.Canary,
    handle: ({ domain, entityUuid, id }) => found(domain.readCanary(entityUuid, id)),
  }),
  route('POST /canaries', 'createCanary', {
    summary: 'Create a canary.',
    body: z.strictObject({ name: line, kind: z.enum(CANARY_KINDS), notes: notes.default('') }),
    status: 201,
    answer: shapes.Canary,
    handle: ({ domain, entityUuid, body }) => domain.createCanary(entityUuid, body),
  }),
  route('PATCH /canaries/:id', 'updateCanary', {
    summary: 'Update the name or the notes of a canary.',
    body: someOf({ name: line, notes }),
    answer: shapes.Canary,
    handle: ({ domain, entityUuid, id, body }) => found(domain.updateCanary(entityUuid, id, body)),
  }),
  route('DELETE /canaries/:id', 'decommissionCanary', {
    summary: 'Decommission a canary, for good.',
    answer: null,
    handle: ({ domain, entityUuid, id }) => gone(domain.decommissionCanary(entityUuid, id)),
  }),

  route('GET /reports/executive', 'exportReport', {
    summary: 'Export the executive report.',
    answer: shapes.Report,
    handle: ({ domain, entityUuid }) => domain.exportReport(entityUuid),
  }),

  route('GET /users', 'listUsers', {
    summary: 'List console users, newest first.',
    query: paging,
    answer: shapes.Users,
    handle: ({ domain, entityUuid, query }) => listed(domain.listUsers(entityUuid, query)),
  }),
  route('GET /users/:id', 'readUser', {
    summary: 'Read one console user.',
    answer: shapes.User,
    handle: ({ domain, entityUuid, id }) => found(domain.readUser(entityUuid, id)),
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
    handle: ({ domain, entityUuid, body }) => domain.createUser(entityUuid, body),
  }),
  route('DELETE /users/:id', 'deleteUser', {
    summary: 'Delete a console user, for good.',
    answer: null,
    handle: ({ domain, entityUuid, id }) => gone(domain.deleteUser(entityUuid, id)),
  }),
];
