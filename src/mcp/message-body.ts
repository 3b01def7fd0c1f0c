/** Reads the message of a POST from its body or from an earlier parser. */
import type { Problem } from '../http/answer.js';
import { readBody } from '../http/body.js';
import { Refusal, requireBody } from '../http/fetch-handler.js';
import { isTooLong, parseMessage } from './messages.js';

const MALFORMED: Problem = {
  status: 400,
  detail: 'Send one JSON-RPC message, or a batch of at most 100.',
};

/** A mistake of the service, which its developer must see at the first request. */
const READ_BEFORE: Problem = {
  status: 500,
  detail:
    'A body parser in front of the MCP gate has read the body. In the server, pass it on with ' +
    'gate(request, { parsedBody: req.body }), or mount the gate before the parser.',
};

/** The second argument of a gate. */
export interface McpGateInput {
  /**
   * The body, if a parser in front of the gate has read it, such as `req.body` of Express or
   * Fastify. The gate then reads nothing, and the parser's own length limit applies. Leave it
   * `undefined` if nothing has read the body.
   */
  readonly parsedBody?: unknown;
}

/**
 * Reads the message. Not checked: whether it is JSON-RPC, which the SDK checks.
 *
 * @throws Refusal if the message is missing or malformed; the stream's own error if the body breaks
 *   off.
 */
export async function readMessage(
  request: Request,
  maxBytes: number,
  { parsedBody }: McpGateInput,
): Promise<unknown> {
  const message = parsedBody === undefined ? await parseBody(request, maxBytes) : parsedBody;
  if (message === undefined || isTooLong(message)) throw new Refusal(MALFORMED);
  return message;
}

async function parseBody(request: Request, maxBytes: number): Promise<unknown> {
  return parseMessage(requireBody(await readBody(request, maxBytes), READ_BEFORE));
}
