/** Reads the body of a request once, up to a limit. */

/**
 * Reads a body as text, decoded as `Request.text` does: invalid UTF-8 is replaced, and a byte order
 * mark is dropped.
 *
 * @returns `null` if it is longer than `maxBytes`; the rest is then not read. `undefined` if
 *   somebody has read it before.
 * @throws Whatever the stream throws if it breaks off.
 */
export async function readBody(
  request: Request,
  maxBytes: number,
): Promise<string | null | undefined> {
  if (request.bodyUsed) return undefined;
  try {
    const text = await readUpTo(request, maxBytes);
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

async function readUpTo(request: Request, maxBytes: number): Promise<string | null> {
  return hasLengthWithin(maxBytes, request.headers)
    ? request.text()
    : readStream(request, maxBytes);
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

async function readStream(request: Request, maxBytes: number): Promise<string | null> {
  const { body } = request;
  if (!body) return '';
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > maxBytes) {
      // Not awaited: the sender may never finish.
      reader.cancel().catch(() => {});
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}
