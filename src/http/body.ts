/** Reads the body of a request or a response once, up to a limit. */

/** The members that a request and a response share. */
type Message = Pick<Request, 'arrayBuffer' | 'body' | 'bodyUsed' | 'headers' | 'text'>;

/**
 * Reads a body as text, and decodes it like `Request.text`: replaces invalid UTF-8 and drops a byte
 * order mark.
 *
 * @returns `null` if the body is longer than `maxBytes`; the rest is not read. `undefined` if the
 *   body has been read before.
 * @throws The error of the stream if it breaks off.
 */
export function readBody(message: Message, maxBytes: number): Promise<string | null | undefined> {
  return readOnce(message, async () => {
    if (hasLengthWithin(maxBytes, message.headers)) return message.text();
    const bytes = await readStream(message, maxBytes);
    return bytes && new TextDecoder().decode(bytes);
  });
}

/** Does the same, but returns the bytes as sent. */
export function readBytes(
  message: Message,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null | undefined> {
  return readOnce(message, async () => {
    const isShort = hasLengthWithin(maxBytes, message.headers);
    return isShort ? new Uint8Array(await message.arrayBuffer()) : readStream(message, maxBytes);
  });
}

async function readOnce<Body extends { readonly length: number }>(
  message: Message,
  read: () => Promise<Body | null>,
): Promise<Body | null | undefined> {
  if (message.bodyUsed) return undefined;
  try {
    const body = await read();
    return body?.length === 0 && announcesBody(message.headers) ? undefined : body;
  } catch (error) {
    // The Fetch standard's error for a body that has been read. A stream that breaks off throws its
    // own.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Checks whether the sender announced a body. On Node, a body that has been read looks empty. */
function announcesBody(headers: Headers): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length')) > 0;
}

/**
 * Checks whether the request announces a length within the limit. HTTP servers enforce that length
 * (RFC 9112 §6.3, RFC 9113 §8.1.1), so such a body can be read without a stream, which on Node
 * makes a whole tool call a third slower. For an encoded body, the announced length is not the
 * length of the decoded one.
 */
function hasLengthWithin(maxBytes: number, headers: Headers): boolean {
  const isCoded = headers.has('transfer-encoding') || headers.has('content-encoding');
  const length = Number.parseInt(headers.get('content-length') ?? '', 10);
  // NaN without a length, which makes the comparison false.
  return !isCoded && length <= maxBytes;
}

async function readStream(
  { body }: Message,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (!body) return new Uint8Array();
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(chunks, size);
    size += value.byteLength;
    if (size > maxBytes) {
      // Not awaited: the sender may never finish.
      reader.cancel().catch(() => {});
      return null;
    }
    chunks.push(value);
  }
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let end = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, end);
    end += chunk.byteLength;
  }
  return bytes;
}
