/** Answers to requests that are refused for reasons other than their credential. */
import { answerProblem, type Problem } from '../http/answer.js';

/** Why a request is refused. */
export type RefusalReason =
  | 'malformed'
  | 'unknown_tool'
  | 'foreign_session'
  | 'too_long'
  /** A mistake of the service, which its developer has to see at the first request. */
  | 'read_before';

const UNKNOWN_TOOL = 'The server has no such tool, or did not name it to its gate.';

const REFUSALS: Readonly<Record<RefusalReason, Problem>> = {
  malformed: {
    status: 400,
    title: 'Bad Request',
    detail: 'Send one JSON-RPC message, or a batch of at most 100.',
  },
  unknown_tool: { status: 400, title: 'Bad Request', detail: UNKNOWN_TOOL },
  foreign_session: {
    status: 404,
    title: 'Not Found',
    detail: 'There is no such session; start a new one.',
  },
  too_long: { status: 413, title: 'Content Too Large', detail: 'The body is too large.' },
  read_before: {
    status: 500,
    title: 'Internal Server Error',
    detail:
      'A body parser in front of the MCP gate has read the body. In the server, hand it over, ' +
      'gate(request, { parsedBody: req.body }), or mount the gate before the parser.',
  },
};

/** "Invalid params", which MCP asks for in answers to calls of unknown tools. */
const INVALID_PARAMS = -32_602;

/** Makes the answer. The request carried a credential, so no cache may store it. */
export function createRefusal(reason: RefusalReason): Response {
  return answerProblem(REFUSALS[reason]);
}

/**
 * Refuses a call of a tool that the gate was not told of. A single request gets the JSON-RPC error
 * that the SDK would answer, because a client of a model shows that to the model; a batch, and a
 * message that expects no answer, get a status.
 */
export function refuseUnknownTool(id: string | number | undefined): Response {
  if (id === undefined) return createRefusal('unknown_tool');
  const error = { code: INVALID_PARAMS, message: `Unknown tool. ${UNKNOWN_TOOL}` };
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
  return new Response(JSON.stringify({ jsonrpc: '2.0', id, error }), { headers });
}
