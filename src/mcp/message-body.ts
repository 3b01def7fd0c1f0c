/** The message of a POST: read from its body, or handed over by whoever parsed the body before. */
import { readBody } from '../http/body.js';
import { Refusal, requireBody } from '../http/fetch-handler.js';
import { isTooLong, parseMessages } from './messages.js';

/** What somebody else has read of a request. */
export interface McpGateInput {
  /**
   * The body, if a parser in front of the gate has read it: `req.body` of Express or of Fastify.
   * The gate checks this and reads nothing; the limit of its length is the parser's. `undefined`:
   * nobody has read the body.
   */
  readonly parsedBody?: unknown;
}

/**
 * Reads the message. Not checked: whether it is JSON-RPC; the SDK does that.
 *
 * @throws Refusal if there is no message. Whatever the stream throws if it breaks off.
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
