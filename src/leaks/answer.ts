/** Answers to reports. None says more of a key than its source may know; no cache stores any. */
import { answerProblem, type Problem } from '../http/answer.js';
import { toResponse } from '../http/challenge.js';

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

const REFUSALS: Readonly<Record<RefusalReason, Problem>> = {
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
    // As RFC 6749 §5.2 has it, which RFC 7009 §2.2.1 refers to.
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

/** Answers a report that is refused. */
export function refuse(
  reason: RefusalReason,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return answerProblem(REFUSALS[reason], headers);
}

/** Answers an outage with 503, and a bug with 500. */
export function answerError(error: unknown): Response {
  const { status, headers, body } = toResponse(error, { realm: 'leaks' });
  return new Response(body, { status, headers });
}
