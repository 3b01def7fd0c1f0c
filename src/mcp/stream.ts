/** Ends an open stream when its key ends. */
import { stopWatching } from './key-watch.js';

/** The part of an entry that streams need. */
interface WithSignal {
  readonly signal: AbortSignal;
}

/**
 * Makes a stream end with the key of its entry. When the key is revoked, suspended or retired,
 * expires, or loses an entity, the stream closes and its source is cancelled. Answers that are not
 * event streams are returned unchanged, without watching the key.
 *
 * Not checked: a message that is in transit at that moment may still arrive.
 *
 * @param response The answer of the SDK.
 * @param entry The entry that the gate returned for the same request.
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
  // Resolves a pending read, so that the stream below closes normally.
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
