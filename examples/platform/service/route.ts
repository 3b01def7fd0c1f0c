/** The type of a route, and the function that declares one. All routes are in `routes.ts`. */
import type { Principal } from 'keyscope';
import { z } from 'zod';
import type { Domain } from './domain.ts';
import { id as ID } from './inputs.ts';
import type { Operation } from './policy.ts';
import { Refusal } from './problem.ts';

interface Call<Query, Body, Id = string> {
  readonly domain: Domain;
  readonly principal: Principal;
  /** The entity that the guard checked. A handler must not use any other. */
  readonly entityId: string;
  /** `:id` of the path; empty if the path has none. */
  readonly id: Id;
  readonly query: Query;
  readonly body: Body;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly operation: Operation;
  /** For people and models who choose an operation. */
  readonly summary: string;
  /** `:id` of the path; `null` if the path has none. */
  readonly id: z.ZodString | null;
  /** The query parameters, without `entity_uuid`, which the guard reads. */
  readonly query: z.ZodObject;
  /** `null` if the route does not accept a body. */
  readonly body: z.ZodObject | null;
  /** The status of success. */
  readonly status: number;
  /** The schema of the JSON answer; `null` if the answer has no body. */
  readonly answer: z.ZodType | null;
  /** Validates the input and runs the operation. Throws `Refusal`, or the domain's `Conflict`. */
  readonly handle: (call: Call<unknown, unknown, unknown>) => unknown;
}

/** A value that fits a shape. Its lists may be readonly, like the domain's. */
type Shown<T> = T extends readonly (infer E)[]
  ? readonly Shown<E>[]
  : T extends object
    ? { readonly [Field in keyof T]: Shown<T[Field]> }
    : T;

/** A row of the route table, without method, path and operation. */
interface Declaration<
  Answer extends z.ZodType | null,
  Query extends z.ZodObject,
  Body extends z.ZodObject,
> {
  readonly summary: string;
  readonly query?: Query;
  readonly body?: Body;
  /** Default: 200, or 204 without an answer. */
  readonly status?: number;
  readonly answer: Answer;
  readonly handle: (
    call: Call<z.output<Query>, z.output<Body>>,
  ) => Answer extends z.ZodType ? Shown<z.output<Answer>> : void;
}

const NOTHING = z.strictObject({});

/**
 * Declares a route. Its handler gets checked input. A handler whose result does not fit the shape
 * of the answer does not compile.
 */
export function route<
  Answer extends z.ZodType | null,
  Query extends z.ZodObject = typeof NOTHING,
  Body extends z.ZodObject = never,
>(
  methodAndPath: `${Route['method']} /${string}`,
  operation: Operation,
  declaration: Declaration<Answer, Query, Body>,
): Route {
  const [method, path] = methodAndPath.split(' ') as [Route['method'], string];
  const { summary, query = NOTHING as Query, body, answer, handle } = declaration;
  const { status = answer === null ? 204 : 200 } = declaration;
  const id = path.includes('/:id') ? ID : null;
  return {
    method,
    path: `/v1${path}`,
    operation,
    summary,
    id,
    query,
    body: body ?? null,
    status,
    answer,
    handle: (call) =>
      handle({
        ...call,
        id: id === null ? '' : readAs(id, call.id, 'id'),
        query: readAs(query, call.query, 'query'),
        // Without a body the type is `never`, so no handler can use it.
        body: body === undefined ? (undefined as never) : readAs(body, call.body, 'body'),
      }),
  };
}

/** Reads a value. The error has the first problem and its place, and does not repeat the input. */
function readAs<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const issue = error.issues[0];
  const path = [where, ...(issue?.path ?? [])].join('.');
  const isUnknownField = issue?.code === 'unrecognized_keys';
  throw new Refusal(400, `${path}: ${isUnknownField ? 'an unknown field' : issue?.message}`);
}
