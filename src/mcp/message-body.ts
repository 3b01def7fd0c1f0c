/** The message of a POST: read from its body, or handed over by whoever parsed the body before. */
import { readBody } from '../http/body.js';
import { isTooLong, parseMessages } from './messages.js';
import type { RefusalReason } from './refusal.js';

/** What somebody else has read of a request. */
export interface McpGateInput {
  /**
   * The body, if a parser in front of the gate has read it: `req.body` of Express or of Fastify.
   * The gate checks this and reads nothing; the limit of its length is the parser's. `undefined`:
   * nobody has read the body.
   */
  readonly parsedBody?: unknown;
}

/** Either a message or a batch, or why there is none. */
interface ReadMessage {
  readonly message?: unknown;
  readonly refusal?: RefusalReason;
}

/**
 * Reads the message. Not checked: whether it is JSON-RPC; the SDK does that.
 *
 * @throws Whatever the stream throws if it breaks off.
 */
export async function readMessage(
  request: Request,
  maxBytes: number,
  { parsedBody }: McpGateInput,
): Promise<ReadMessage> {
  if (parsedBody !== undefined) {
    return isTooLong(parsedBody) ? { refusal: 'malformed' } : { message: parsedBody };
  }
  const text = await readBody(request, maxBytes);
  if (text === undefined) return { refusal: 'read_before' };
  if (text === null) return { refusal: 'too_long' };
  const message = parseMessages(text);
  return message === undefined ? { refusal: 'malformed' } : { message };
}
