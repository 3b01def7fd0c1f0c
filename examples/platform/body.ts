/** Reads a body from Node's own request, where no framework does. */
import type { IncomingMessage } from 'node:http';
import { BODY_LIMIT, refused } from './problem.ts';

/** Rejects with 413 as soon as more is sent than anybody may send, whether or not that ever ends. */
export async function readBody(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Not destroyed where this stops early: the answer takes the same connection.
    for await (const chunk of req.iterator({ destroyOnReturn: false })) {
      length += chunk.length;
      if (length > BODY_LIMIT) break;
      chunks.push(chunk);
    }
  } catch {
    // The client has gone: nobody's error, and nobody's answer.
    throw refused(400);
  }
  if (length > BODY_LIMIT) throw refused(413);
  return Buffer.concat(chunks);
}
