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

// ── Refusals ────────────────────────────────────────────────────────────────────────────────────

/** The answer to a refused request. */
interface Problem {
  readonly status: keyof typeof TITLES;
  readonly detail: string;
  /** A code for programs, where a protocol has one. */
  readonly error?: string;
}

/** The reasons to refuse a request, which are the rows of the table. */
export type RefusalReason =
  | 'unknown_path'
  | 'unknown_method'
  | 'only_method'
  | 'too_long'
  | 'media_type'
  | 'cross_site'
  | 'not_live'
  | 'not_signed'
  | 'wrong_secret'
  | 'malformed_report'
  | 'unknown_type'
  | 'malformed_message'
  | 'unknown_tool'
  | 'foreign_session'
  | 'read_before_admin'
  | 'read_before_gate'
  | 'read_before_leaks';

/** Refusals for any reason other than the credential. */
const REFUSALS: Readonly<Record<RefusalReason, Problem>> = {
  unknown_path: { status: 404, detail: 'There is nothing at this path.' },
  unknown_method: { status: 405, detail: 'Send one of the methods in the Allow header.' },
  only_method: { status: 405, detail: 'Send the method in the Allow header.' },
  too_long: { status: 413, detail: 'The body is too large.' },
  media_type: {
    status: 415,
    detail: 'Send a JSON object, if only {}, with "Content-Type: application/json".',
  },
  cross_site: {
    status: 403,
    detail:
      'Pages of another origin may not do this. To allow a page of your own, add its origin in ' +
      'the server: createKeyAdmin({ origins }).',
  },
  /** Only a live key can be rotated. Not 401, because the caller's own credential is valid. */
  not_live: {
    status: 409,
    detail: 'The key is not live, so it cannot be rotated; its state says why.',
    error: 'conflict',
  },
  not_signed: {
    status: 403,
    detail: 'The signature is missing, does not match these bytes, or is by a key not in use.',
  },
  wrong_secret: {
    status: 401,
    detail: 'The Authorization header does not contain the agreed secret.',
  },
  /** With the code of RFC 6749 §5.2, which RFC 7009 §2.2.1 refers to. */
  malformed_report: {
    status: 400,
    detail: 'The body does not follow this protocol.',
    error: 'invalid_request',
  },
  unknown_type: { status: 400, detail: 'The report has a token type that cannot be revoked here.' },
  malformed_message: {
    status: 400,
    detail: 'Send one JSON-RPC message, or a batch of at most 100.',
  },
  unknown_tool: {
    status: 400,
    detail: 'The server has no such tool, or did not name it to its gate.',
  },
  foreign_session: { status: 404, detail: 'There is no such session; start a new one.' },
  // Mistakes of the service, which its developer must see at the first request.
  read_before_admin: {
    status: 500,
    detail:
      'A body parser in front of the key endpoints has read the body. In the server, pass it on ' +
      'with admin(request, { parsedBody: req.body }), or mount the endpoints before the parser.',
  },
  read_before_gate: {
    status: 500,
    detail:
      'A body parser in front of the MCP gate has read the body. In the server, pass it on with ' +
      'gate(request, { parsedBody: req.body }), or mount the gate before the parser.',
  },
  read_before_leaks: {
    status: 500,
    detail:
      'A body parser in front of the leak handler has read the body, but the signature is over ' +
      'its exact bytes. In the server, mount the handler before the parser.',
  },
};

/** Returns the sentence of a refusal, for answers in another format. */
export function detailOf(reason: RefusalReason): string {
  return REFUSALS[reason].detail;
}

/** Answers with a problem document (RFC 9457). */
export function answerRefusal(reason: RefusalReason, headers: Headers = {}): Response {
  const { status, detail, error } = REFUSALS[reason];
  const problem = { type: 'about:blank', title: TITLES[status], status, detail, error };
  return answerJson(status, problem, { 'Content-Type': 'application/problem+json', ...headers });
}
