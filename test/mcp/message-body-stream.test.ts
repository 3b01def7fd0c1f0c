/** How the gate reads the body of a request, and how far. */
import { describe, expect, it } from 'vitest';
import { issue } from '../support/keyring.ts';
import { call, entered, post, RESOURCE, refused, setUpGate } from '../support/mcp.ts';

/** Returns the chunk at an index; undefined ends the body. */
type Chunks = (index: number) => Uint8Array | undefined;

interface Streamed {
  readonly request: Request;
  readonly seen: { sent: number; cancelled: boolean };
}

/** Makes a request whose body is sent chunk by chunk, on demand. */
function stream(
  key: string | null,
  chunks: Chunks,
  more: Readonly<Record<string, string>> = {},
): Streamed {
  const seen = { sent: 0, cancelled: false };
  const source = {
    pull(controller: ReadableStreamDefaultController<Uint8Array>): void {
      const chunk = chunks(seen.sent);
      seen.sent += 1;
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
    cancel(): void {
      seen.cancelled = true;
    },
  };
  // No read-ahead.
  const body = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
  const authorization = key === null ? undefined : { authorization: `Bearer ${key}` };
  const headers = { ...authorization, ...more };
  const init = { method: 'POST', headers, body, duplex: 'half' } as const;
  return { seen, request: new Request(RESOURCE, init) };
}

/** Splits a body into chunks of one size. */
function cut(bytes: Uint8Array, size: number): Chunks {
  return (index) => {
    const start = index * size;
    return start < bytes.length ? bytes.subarray(start, start + size) : undefined;
  };
}

const SPACES = new Uint8Array(100).fill(32);

/** A call of exactly 300 bytes. The letter `ü` takes two. */
const CALL = call('listThreats', { note: 'ü' });
const TEXT_OF_300 = JSON.stringify(CALL).padEnd(299);
const BYTES = new TextEncoder().encode(TEXT_OF_300);

describe('the gate, on the body of a request', () => {
  it('does not read it for other methods than POST', async () => {
    const { gate, keyring, events } = setUpGate();
    const { key } = await issue(keyring);
    const request = new Request(RESOURCE, {
      method: 'PUT',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(call('listUsers')),
    });
    expect(entered(await gate(request)).parsedBody).toBeUndefined();
    expect(await request.json()).toEqual(call('listUsers'));
    expect(events).toHaveLength(1);
  });

  it('reads it like the SDKs, with any type, with or without a content-length', async () => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    const text = JSON.stringify(call('listUsers'));
    for (const body of [
      `\uFEFF${text}`,
      ` \r\n\t${text}`,
      text.replace('"tools/call"', '"tools/list","method":"tools/\\u0063all"'),
    ]) {
      const length = String(new TextEncoder().encode(body).length);
      const announcements: readonly Readonly<Record<string, string>>[] = [
        {},
        { 'content-type': 'text/plain' },
        { 'content-length': length },
      ];
      for (const headers of announcements) {
        expect((await refused(await gate(post(key, body, headers)))).status).toBe(403);
      }
    }
  });

  it('does not read the body of an unauthenticated request', async () => {
    const { gate } = setUpGate();
    const { seen, request } = stream(null, () => new Uint8Array(1000));
    expect((await refused(await gate(request))).status).toBe(401);
    expect(seen.sent).toBe(0);
  });

  it('stops reading at the limit, over any number of chunks', async () => {
    expect(BYTES).toHaveLength(300);
    const { gate, keyring } = setUpGate({ maxBodyBytes: 300 });
    const { key } = await issue(keyring);
    const exact = stream(key, cut(BYTES, 1));
    expect(entered(await gate(exact.request)).parsedBody).toEqual(CALL);
    expect((await refused(await gate(post(key, `${TEXT_OF_300} `)))).status).toBe(413);
    const endless = stream(key, () => SPACES);
    expect((await refused(await gate(endless.request))).status).toBe(413);
    expect(endless.seen.cancelled).toBe(true);
    expect(endless.seen.sent).toBeLessThan(10);
  });

  it('counts the bytes unless the server enforces the content-length', async () => {
    const { gate, keyring } = setUpGate({ maxBodyBytes: 300 });
    const { key } = await issue(keyring);
    const long: Chunks = (index) => (index < 50 ? SPACES : undefined);
    const announcements: readonly Readonly<Record<string, string>>[] = [
      { 'content-length': '301' },
      { 'content-length': '' },
      { 'content-length': 'x' },
      { 'content-length': '5', 'transfer-encoding': 'chunked' },
      { 'content-length': '5', 'content-encoding': 'gzip' },
    ];
    for (const headers of announcements) {
      const { seen, request } = stream(key, long, headers);
      expect((await refused(await gate(request))).status).toBe(413);
      expect(seen.sent).toBeLessThan(10);
    }
    const { request } = stream(key, cut(BYTES, 100), { 'content-length': '300' });
    expect(entered(await gate(request)).parsedBody).toEqual(CALL);
    expect(request.bodyUsed).toBe(true);
  });

  it.each<Readonly<Record<string, string>>>([{}, { 'content-length': '100' }])(
    'rejects if the body breaks off (%j)',
    async (headers) => {
      const { gate, keyring } = setUpGate();
      const { key } = await issue(keyring);
      const breakOff = (): never => {
        throw new Error('the client went away');
      };
      const { request } = stream(key, breakOff, headers);
      await expect(gate(request)).rejects.toThrow('the client went away');
    },
  );
});
