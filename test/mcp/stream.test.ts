/** Streams that end when their key ends. */
import { endWithKey } from 'keyscope/mcp';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AUTHORITY, issue, START } from '../support/keyring.ts';
import { entered, LIST, post, setUpGate } from '../support/mcp.ts';

const HEADERS = { 'content-type': 'text/event-stream', 'mcp-session-id': 's' };

beforeEach(() => void vi.useFakeTimers({ now: START }));
afterEach(() => void vi.useRealTimers());

/** A stream to which a test writes. */
function createSource() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const cancel = vi.fn();
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
    cancel,
  });
  return {
    body,
    cancel,
    send: (text: string) => controller?.enqueue(new TextEncoder().encode(text)),
    close: () => controller?.close(),
    fail: (error: Error) => controller?.error(error),
  };
}

async function setUpStream() {
  const { gate, keyring } = setUpGate({}, { now: Date.now });
  const { key, info } = await issue(keyring);
  const entry = entered(await gate(post(key, LIST)));
  const source = createSource();
  const response = endWithKey(new Response(source.body, { status: 200, headers: HEADERS }), entry);
  const revoke = () => keyring.revoke(info.keyId, AUTHORITY);
  return { entry, source, response, revoke };
}

describe('endWithKey', () => {
  it('passes a stream on unchanged and closes it when the key ends', async () => {
    const { source, response, revoke } = await setUpStream();
    expect(response.status).toBe(200);
    expect(response.headers.get('mcp-session-id')).toBe('s');
    const text = response.text();
    source.send('data: 1\n\n');
    await vi.advanceTimersByTimeAsync(60_000);
    source.send('data: 2\n\n');
    await revoke();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await text).toBe('data: 1\n\ndata: 2\n\n');
    expect(source.cancel).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('closes a stream whose key ended before the first read', async () => {
    const { entry, revoke } = await setUpStream();
    await revoke();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(entry.signal.aborted).toBe(true);
    const late = createSource();
    const response = endWithKey(new Response(late.body, { headers: HEADERS }), entry);
    expect(await response.text()).toBe('');
    expect(late.cancel).toHaveBeenCalledTimes(1);
  });

  it.each<[string, (set: Awaited<ReturnType<typeof setUpStream>>) => unknown]>([
    ['closes', ({ source }) => source.close()],
    ['breaks', ({ source }) => source.fail(new Error('away'))],
    ['is cancelled', ({ response }) => response.body?.cancel()],
  ])('stops watching once the stream %s', async (_what, end) => {
    const set = await setUpStream();
    expect(vi.getTimerCount()).toBe(1);
    await end(set);
    if (!set.response.bodyUsed) await set.response.text().catch(() => {});
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
    expect(set.entry.signal.aborted).toBe(false);
  });

  it('returns other answers unchanged without watching the key', async () => {
    const { gate, keyring } = setUpGate();
    const entry = entered(await gate(post((await issue(keyring)).key, LIST)));
    const json = Response.json({});
    const empty = new Response(null, { headers: HEADERS });
    const untyped = new Response(createSource().body);
    for (const response of [json, empty, untyped])
      expect(endWithKey(response, entry)).toBe(response);
    expect(vi.getTimerCount()).toBe(0);
  });
});
