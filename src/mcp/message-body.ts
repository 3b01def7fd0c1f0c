/** Reads the message of a POST from its body or from an earlier parser. */
import { readBody } from '../http/body.js';
import { Refusal, requireBody } from '../http/fetch-handler.js';
import { isTooLong, parseMessages } from './messages.js';

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
  if (parsedBody !== undefined) {
    if (isTooLong(parsedBody)) throw new Refusal('malformed_message');
    return parsedBody;
  }
  const text = requireBody(await readBody(request, maxBytes), 'read_before_gate');
  const message = parseMessages(text);
  if (message === undefined) throw new Refusal('malformed_message');
  return message;
}
