/** The message of a POST: read from its body, or handed over by whoever parsed the body before. */
import { readBody } from './body.js';
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
  const text = await readText(request, maxBytes);
  if (text === undefined) return { refusal: 'read_before' };
  if (text === null) return { refusal: 'too_long' };
  const message = parseMessages(text);
  return message === undefined ? { refusal: 'malformed' } : { message };
}

/** The body as text; `null` if it is too long, `undefined` if somebody has read it before. */
async function readText(request: Request, maxBytes: number): Promise<string | null | undefined> {
  if (request.bodyUsed) return undefined;
  try {
    const text = await readBody(request, maxBytes);
    return text === '' && announcesBody(request.headers) ? undefined : text;
  } catch (error) {
    // The Fetch standard has this error for a body that was read; a stream that breaks off throws
    // its own.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Whether the sender said that there is a body. On Node, one that was read looks empty. */
function announcesBody(headers: Headers): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length')) > 0;
}
