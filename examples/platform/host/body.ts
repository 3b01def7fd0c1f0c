/** Reads a body from Node's own request, if no framework does. */
import type { IncomingMessage } from 'node:http';
import { BODY_LIMIT, refused } from '../service/problem.ts';

/** Rejects with 413 as soon as more is sent than is allowed, whether or not that ever ends. */
export async function readBody(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Not destroyed if this stops early: the answer uses the same connection.
    const pieces: AsyncIterable<Buffer> = req.iterator({ destroyOnReturn: false });
    for await (const chunk of pieces) {
      length += chunk.length;
      if (length > BODY_LIMIT) break;
      chunks.push(chunk);
    }
  } catch {
    // The client has gone: not an error of the service, and nobody waits for an answer.
    throw refused(400);
  }
  if (length > BODY_LIMIT) throw refused(413);
  return Buffer.concat(chunks);
}
