/** Answers to reports. None says more of a key than its source may know; no cache stores any. */
import { toResponse } from '../text/challenge.js';

/** Why a report is refused, before anything of a key is looked at. */
export type RefusalReason =
  | 'unknown_path'
  | 'unknown_method'
  | 'not_signed'
  | 'wrong_secret'
  | 'malformed'
  | 'unknown_type'
  | 'too_long'
  | 'read_before';

interface Refusal {
  readonly status: number;
  /** The status phrase, which `about:blank` requires as the title (RFC 9457 §4.2.1). */
  readonly title: string;
  readonly detail: string;
  /** As RFC 6749 §5.2 has it, which RFC 7009 §2.2.1 refers to. */
  readonly error?: 'invalid_request';
}

const REFUSALS: Readonly<Record<RefusalReason, Refusal>> = {
  unknown_path: { status: 404, title: 'Not Found', detail: 'There is nothing at this path.' },
  unknown_method: {
    status: 405,
    title: 'Method Not Allowed',
    detail: 'Send the method in the Allow header.',
  },
  not_signed: {
    status: 403,
    title: 'Forbidden',
    detail: 'The signature is missing, not of these bytes, or of no key that is in use.',
  },
  wrong_secret: {
    status: 401,
    title: 'Unauthorized',
    detail: 'The Authorization header does not have the secret that was agreed on.',
  },
  malformed: {
    status: 400,
    title: 'Bad Request',
    detail: 'The body is not what this protocol sends.',
    error: 'invalid_request',
  },
  unknown_type: {
    status: 400,
    title: 'Bad Request',
    detail: 'A type of token is not among those that can be revoked here.',
  },
  too_long: { status: 413, title: 'Content Too Large', detail: 'The body is too large.' },
  read_before: {
    status: 500,
    title: 'Internal Server Error',
    detail:
      'A body parser in front of the leak handler has read the body, whose very bytes are ' +
      'signed. In the server, mount the handler before the parser.',
  },
};

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Answers a report that is refused. */
export function refuse(
  reason: RefusalReason,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { status, title, detail, error } = REFUSALS[reason];
  const problem = { type: 'about:blank', title, status, detail, error };
  const type = { 'Content-Type': 'application/problem+json' };
  const all = { ...type, ...NO_STORE, ...headers };
  return new Response(JSON.stringify(problem), { status, headers: all });
}

/** Answers with a body. */
export function answerJson(body: object): Response {
  const headers = { 'Content-Type': 'application/json', ...NO_STORE };
  return new Response(JSON.stringify(body), { status: 200, headers });
}

/** Answers without a body. */
export function answerEmpty(status: 200 | 204): Response {
  return new Response(null, { status, headers: NO_STORE });
}

/** Answers an outage with 503, and a bug with 500. */
export function answerError(error: unknown): Response {
  const { status, headers, body } = toResponse(error, { realm: 'leaks' });
  return new Response(body, { status, headers });
}
