/** The fetch handler behind `keyscope/admin`, `keyscope/leaks` and `keyscope/mcp`. */
import { assert, hasMethods, quote } from '../core/input.js';
import { answerProblem, type Problem } from './answer.js';

/** Answers a request. An adapter passes additional data as `input`. */
export type FetchHandler<Input, Answer> = (request: Request, input?: Input) => Promise<Answer>;

/** Thrown to refuse a request. Only the handler catches it. */
export class Refusal {
  readonly problem: Problem;
  readonly response: Response;

  constructor(problem: Problem, headers?: Readonly<Record<string, string>>) {
    this.problem = problem;
    this.response = answerProblem(problem, headers);
  }
}

const UNKNOWN_PATH: Problem = { status: 404, detail: 'There is nothing at this path.' };
const ONLY_METHOD: Problem = { status: 405, detail: 'Send the method in the Allow header.' };
const UNKNOWN_METHOD: Problem = {
  status: 405,
  detail: 'Send one of the methods in the Allow header.',
};
const TOO_LONG: Problem = { status: 413, detail: 'The body is too large.' };

/**
 * Makes a handler. It does not omit the body of an answer to a `HEAD` request.
 *
 * @param name The public name, for the error on an argument that is not a fetch `Request`.
 * @param handle Answers, or throws a {@link Refusal} or anything else.
 * @param answerThrown Answers anything thrown except a refusal, or rethrows it.
 * @param report Called with an error if a refusal is the service's own mistake.
 */
export function createFetchHandler<Input, Answer>(
  name: string,
  handle: (request: Request, input: Input | undefined) => Promise<Answer | Response>,
  answerThrown: (error: unknown, request: Request) => Response,
  report: (error: unknown) => void = () => {},
): FetchHandler<Input, Answer | Response> {
  const instead =
    `${name}: pass a fetch Request (Hono: c.req.raw); on node:http, Express or Fastify, wrap the ` +
    'handler in getRequestListener of @hono/node-server';

  function recover(error: unknown, request: Request): Response {
    if (!(error instanceof Refusal)) return answerThrown(error, request);
    const { problem, response } = error;
    if (problem.status === 500) report(new TypeError(`${name}: ${problem.detail}`));
    return response;
  }

  return async (request, input) => {
    assert(hasMethods(request?.headers, 'get'), instead);
    return handle(request, input).catch((error: unknown) => recover(error, request));
  };
}

/**
 * Finds the route with the method among the routes of a path.
 *
 * @param routes The routes of the path. Empty if the path is unknown.
 * @param allowed The methods for the `Allow` header (RFC 9110 §10.2.1).
 * @throws Refusal 404 or 405.
 */
export function requireRoute<Route extends { readonly method: string }>(
  routes: readonly Route[],
  method: string,
  allowed: readonly string[],
): Route {
  if (routes.length === 0) throw new Refusal(UNKNOWN_PATH);
  const route = routes.find((each) => each.method === method);
  if (route !== undefined) return route;
  const problem = allowed.length === 1 ? ONLY_METHOD : UNKNOWN_METHOD;
  throw new Refusal(problem, { Allow: allowed.join(', ') });
}

/**
 * Returns the result of `readBody` or `readBytes`.
 *
 * @param ifRead The answer if something else has read the body.
 * @throws Refusal, also if the body is too long.
 */
export function requireBody<Body>(body: Body | null | undefined, ifRead: Problem): Body {
  if (body === undefined) throw new Refusal(ifRead);
  if (body === null) throw new Refusal(TOO_LONG);
  return body;
}

/**
 * Reads the path where a handler is mounted, in the form that `URL` gives it.
 *
 * @param byDefault The default path, and the example in the error.
 */
export function readBasePath(path: unknown, byDefault: string): string {
  if (path === undefined) return byDefault;
  const isPath = typeof path === 'string' && /^\/[^?#{}]*[^/?#{}]$/.test(path);
  assert(isPath, `basePath: pass a path such as ${byDefault}, without a slash at the end`, path);
  const { pathname } = new URL(`http://localhost${path}`);
  assert(pathname === path, `basePath: write it as ${quote(pathname)}`);
  return path;
}
