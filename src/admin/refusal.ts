/** Answers to requests that are refused before the keyring is asked, or that it cannot judge. */
import { answerProblem, type Problem } from '../http/answer.js';
import { type DenialResponse, toResponse } from '../http/challenge.js';

/** Why a request is refused. */
export type RefusalReason =
  | 'unknown_path'
  | 'unknown_method'
  | 'cross_site'
  | 'media_type'
  | 'too_long'
  /** Only a live key has a successor. The caller's own credential is not in doubt: no 401. */
  | 'not_live'
  /** A mistake of the service, which its developer has to see at the first request. */
  | 'read_before';

const REFUSALS: Readonly<Record<RefusalReason, Problem>> = {
  unknown_path: { status: 404, title: 'Not Found', detail: 'There is nothing at this path.' },
  unknown_method: {
    status: 405,
    title: 'Method Not Allowed',
    detail: 'Send one of the methods in the Allow header.',
  },
  cross_site: {
    status: 403,
    title: 'Forbidden',
    detail:
      'Pages of another origin may not do this. In the server, name the origin of a page of your ' +
      'own: createKeyAdmin({ origins }).',
  },
  media_type: {
    status: 415,
    title: 'Unsupported Media Type',
    detail: 'Send a JSON object, if only {}, with "Content-Type: application/json".',
  },
  too_long: { status: 413, title: 'Content Too Large', detail: 'The body is too large.' },
  not_live: {
    status: 409,
    title: 'Conflict',
    detail: 'The key is not live, so it cannot be rotated; its state says why.',
    error: 'conflict',
  },
  read_before: {
    status: 500,
    title: 'Internal Server Error',
    detail:
      'A body parser in front of the key endpoints has read the body. In the server, hand it ' +
      'over, admin(request, { parsedBody: req.body }), or mount the endpoints before the parser.',
  },
};

/** Makes the answer. */
export function createRefusal(
  reason: RefusalReason,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return answerProblem(REFUSALS[reason], headers);
}

/** Answers an error: a denial, a malformed input, an outage, or a bug. */
export function createDenial(error: unknown, realm: string): Response {
  const { status, headers, body }: DenialResponse = toResponse(error, { realm });
  return new Response(body, { status, headers });
}
