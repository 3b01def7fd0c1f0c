/** The handler of fetch requests behind `keyscope/admin`, `keyscope/leaks` and `keyscope/mcp`. */
import { assert, hasMethods, quote } from '../core/input.js';
import { answerRefusal, detailOf, type RefusalReason } from './answer.js';

/** Answers a request; what an adapter passes next to it is `input`. */
export type FetchHandler<Input, Answer> = (request: Request, input?: Input) => Promise<Answer>;

/** Thrown to refuse a request. The handler alone catches it. */
export class Refusal {
  readonly response: Response;
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, headers?: Readonly<Record<string, string>>) {
    this.response = answerRefusal(reason, headers);
    this.reason = reason;
  }
}

/**
 * Makes a handler. Not done here: leaving the body out where the request was a `HEAD`.
 *
 * @param name What users call it, for the error on an argument that is not a fetch `Request`.
 * @param handle Answers, or throws: a {@link Refusal}, or anything else.
 * @param answerThrown Answers what is thrown and is not a refusal, or throws it onward.
 * @param report Told of a refusal that is the service's own mistake, as an error.
 */
export function createFetchHandler<Input, Answer>(
  name: string,
  handle: (request: Request, input: Input | undefined) => Promise<Answer | Response>,
  answerThrown: (error: unknown, request: Request) => Response,
  report: (error: unknown) => void = () => {},
): FetchHandler<Input, Answer | Response> {
  const instead =
    `${name}: pass a fetch Request (Hono: c.req.raw); on node:http, Express or Fastify let ` +
    'getRequestListener of @hono/node-server make one';

  function recover(error: unknown, request: Request): Response {
    if (!(error instanceof Refusal)) return answerThrown(error, request);
    const { response, reason } = error;
    if (response.status === 500) report(new TypeError(`${name}: ${detailOf(reason)}`));
    return response;
  }

  return async (request, input) => {
    assert(hasMethods(request?.headers, 'get'), instead);
    return handle(request, input).catch((error: unknown) => recover(error, request));
  };
}

/**
 * Finds the route of a path that has the method.
 *
 * @param routes Those of the path; none if there is no such path.
 * @param allowed What `Allow` says (RFC 9110 §10.2.1).
 * @throws Refusal 404 or 405.
 */
export function requireRoute<Route extends { readonly method: string }>(
  routes: readonly Route[],
  method: string,
  allowed: readonly string[],
): Route {
  if (routes.length === 0) throw new Refusal('unknown_path');
  const route = routes.find((each) => each.method === method);
  if (route !== undefined) return route;
  const reason = allowed.length === 1 ? 'only_method' : 'unknown_method';
  throw new Refusal(reason, { Allow: allowed.join(', ') });
}

/**
 * Takes what `readBody` or `readBytes` returned.
 *
 * @param ifRead Why it is refused if somebody else has read the body.
 * @throws Refusal, also if the body is too long.
 */
export function requireBody<Body>(body: Body | null | undefined, ifRead: RefusalReason): Body {
  if (body === undefined) throw new Refusal(ifRead);
  if (body === null) throw new Refusal('too_long');
  return body;
}

/**
 * Reads the path below which a handler is mounted. It is compared with paths as `URL` writes them.
 *
 * @param byDefault What is meant if there is none; also the example in the error.
 */
export function readBasePath(path: unknown, byDefault: string): string {
  if (path === undefined) return byDefault;
  const isPath = typeof path === 'string' && /^\/[^?#{}]*[^/?#{}]$/.test(path);
  assert(isPath, `basePath: pass a path such as ${byDefault}, without a slash at the end`, path);
  const { pathname } = new URL(`http://localhost${path}`);
  assert(pathname === path, `basePath: write it as ${quote(pathname)}`);
  return path;
}
