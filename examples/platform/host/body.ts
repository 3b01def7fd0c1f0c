/** Reads a body from Node's request, where no framework does. */
import type { IncomingMessage } from 'node:http';
import { BODY_LIMIT, refused } from '../service/problem.ts';

/** Reads a body. Rejects with 413 as soon as it is too long, without waiting for its end. */
export async function readBody(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Stopping early must not destroy the request, whose connection carries the answer.
    const pieces: AsyncIterable<Buffer> = req.iterator({ destroyOnReturn: false });
    for await (const chunk of pieces) {
      length += chunk.length;
      if (length > BODY_LIMIT) break;
      chunks.push(chunk);
    }
  } catch {
    // The client has gone. That is not an error of the service, and nobody gets the answer.
    throw refused(400);
  }
  if (length > BODY_LIMIT) throw refused(413);
  return Buffer.concat(chunks);
}
