/** Ends an open stream with the key that it was opened with. */
import { stopWatching } from './key-watch.js';

/** The part of an entry that streams need. */
interface WithSignal {
  readonly signal: AbortSignal;
}

/**
 * Makes a stream end with the key of its entry: what the SDK answers is passed on until the key is
 * revoked, suspended or retired, expires, or loses an entity; then the stream is closed, and its
 * source is cancelled. Answers that are no stream of events are returned as they are, and nothing
 * is watched for them.
 *
 * Not checked: whether a message is on its way at that moment; it may still arrive.
 *
 * @param response What the SDK answered.
 * @param entry What the gate returned for the same request.
 * @example
 * const entry = await gate(request);
 * if (entry instanceof Response) return entry;
 * return endWithKey(await handler.fetch(request, entry), entry);
 */
export function endWithKey(response: Response, entry: WithSignal): Response {
  const { body, status, statusText, headers } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream || body === null) return response;
  const stream = endWithSignal(body, entry.signal);
  return new Response(stream, { status, statusText, headers });
}

function endWithSignal(
  source: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  // Resolves a read that is waiting, so that the stream below closes like any other.
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          controller.enqueue(value);
          return;
        }
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      stopWatching(signal);
    },
    async cancel(reason) {
      stopWatching(signal);
      await reader.cancel(reason);
    },
  });
}
