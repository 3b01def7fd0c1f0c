/** Reads the body of a request or a response once, up to a limit. */

/** What a request and a response have in common. */
type Message = Pick<Request, 'arrayBuffer' | 'body' | 'bodyUsed' | 'headers' | 'text'>;

/**
 * Reads a body as text, decoded as `Request.text` does: invalid UTF-8 is replaced, and a byte order
 * mark is dropped.
 *
 * @returns `null` if it is longer than `maxBytes`; the rest is then not read. `undefined` if
 *   somebody has read it before.
 * @throws Whatever the stream throws if it breaks off.
 */
export function readBody(message: Message, maxBytes: number): Promise<string | null | undefined> {
  return readOnce(message, async () => {
    if (hasLengthWithin(maxBytes, message.headers)) return message.text();
    const bytes = await readStream(message, maxBytes);
    return bytes && new TextDecoder().decode(bytes);
  });
}

/** The same as it was sent, byte for byte. */
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

/**
 * Whether the request announces a length within the limit. HTTP servers enforce that length (RFC
 * 9112 §6.3, RFC 9113 §8.1.1), so such a body can be read without a stream, which on Node makes a
 * whole tool call a third slower. If the body is encoded, the length is not that of what is read.
 */
function hasLengthWithin(maxBytes: number, headers: Headers): boolean {
  const isCoded = headers.has('transfer-encoding') || headers.has('content-encoding');
  const length = Number.parseInt(headers.get('content-length') ?? '', 10);
  // Without a length this is NaN, and the comparison is false.
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
