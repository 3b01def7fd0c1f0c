/** The answers of the endpoints that handlers mount. No cache may store them. */
import { type ChallengeOptions, TITLES, toResponse } from './challenge.js';

type Headers = Readonly<Record<string, string>>;

const NO_STORE = { 'Cache-Control': 'no-store' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Answers with a body. */
export function answerJson(status: number, body: object, headers: Headers = {}): Response {
  const all = { ...JSON_TYPE, ...NO_STORE, ...headers };
  return new Response(JSON.stringify(body), { status, headers: all });
}

/** Answers with headers only. */
export function answerNothing(headers: Headers = {}, status: 200 | 204 = 204): Response {
  return new Response(null, { status, headers: { ...NO_STORE, ...headers } });
}

/**
 * Answers a denial, malformed input, an outage or a bug.
 *
 * @param detail Replaces the sentence of `toResponse`.
 */
export function answerError(
  error: unknown,
  challenge: ChallengeOptions,
  detail?: string,
): Response {
  const { status, headers, body } = toResponse(error, challenge);
  if (detail === undefined) return new Response(body, { status, headers });
  const problem = { ...(JSON.parse(body) as object), detail };
  return new Response(JSON.stringify(problem), { status, headers });
}

/** Checks the tag, because polyfills and other realms have classes of their own. */
export function isResponse<T>(value: T | Response): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]';
}

/** The answer to a request that is refused for a reason other than its credential. */
export interface Problem {
  readonly status: keyof typeof TITLES;
  readonly detail: string;
  /** A code for programs, where a protocol has one. */
  readonly error?: string;
}

/** Answers with a problem document (RFC 9457). */
export function answerProblem({ status, detail, error }: Problem, headers: Headers = {}): Response {
  const problem = { type: 'about:blank', title: TITLES[status], status, detail, error };
  return answerJson(status, problem, { 'Content-Type': 'application/problem+json', ...headers });
}
