/** The message of a POST, read by the gate or by an earlier parser. */
import { describe, expect, it } from 'vitest';
import { issue, untyped } from '../support/keyring.ts';
import { call, entered, LIST, post, RESOURCE, refused, setUpGate } from '../support/mcp.ts';

describe('the gate, on a parsedBody', () => {
  it('checks it and passes it on without reading the request', async () => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    const request = post(key, call('whoami'));
    const parsedBody = call('listThreats');
    expect(entered(await gate(request, { parsedBody })).parsedBody).toBe(parsedBody);
    expect(request.bodyUsed).toBe(false);
    const forbidden = await gate(request, { parsedBody: call('listUsers') });
    expect((await refused(forbidden)).status).toBe(403);
    const unknown = await gate(request, { parsedBody: call('nothing') });
    expect(unknown).toBeInstanceOf(Response);
  });

  it('limits its number of messages', async () => {
    const { gate, keyring, events } = setUpGate();
    const { key } = await issue(keyring);
    const ofLength = (length: number) => Array.from({ length }, () => LIST);
    entered(await gate(post(key, LIST), { parsedBody: ofLength(100) }));
    const long = await refused(await gate(post(key, LIST), { parsedBody: ofLength(101) }));
    expect(long.status).toBe(400);
    expect(events).toHaveLength(1);
  });

  it('ignores it if it is undefined or the method carries no message', async () => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    const read = entered(await gate(post(key, LIST), { parsedBody: undefined }));
    expect(read.parsedBody).toEqual(LIST);
    const request = new Request(RESOURCE, { headers: { authorization: `Bearer ${key}` } });
    expect(entered(await gate(request, { parsedBody: {} })).parsedBody).toBeUndefined();
  });

  it('still requires a credential', async () => {
    const { gate } = setUpGate();
    const answer = await gate(post(null, LIST), { parsedBody: call('whoami') });
    expect((await refused(answer)).status).toBe(401);
  });

  it('rejects a misspelt name of the option', async () => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    await expect(gate(post(key, LIST), untyped({ body: LIST }))).rejects.toThrow(
      /^gate: unknown field "body"/,
    );
  });
});

describe('the gate, on a body that was already read', () => {
  const read = async (request: Request): Promise<Request> => {
    await request.text();
    return request;
  };
  const empty = (key: string, headers: Readonly<Record<string, string>>): Request =>
    post(key, '', headers);

  // Regression: the answer was an empty 500.
  it.each([
    ['was read', (key: string) => read(post(key, LIST))],
    ['was read, of announced length', (key: string) => read(post(key, LIST, LENGTH))],
    ['looks empty, but had a length', (key: string) => empty(key, LENGTH)],
    ['looks empty, but was sent', (key: string) => empty(key, { 'transfer-encoding': 'chunked' })],
  ])('answers 500 and says what to do if it %s', async (_what, make) => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    const seen = await refused(await gate(await make(key)));
    expect(seen).toMatchObject({ status: 500, challenge: null });
    expect(JSON.parse(seen.body)).toMatchObject({
      detail: expect.stringMatching(/^A body parser .* has read .*\{ parsedBody:/) as string,
    });
  });

  it('does not reveal it to an unauthenticated caller', async () => {
    const { gate } = setUpGate();
    const request = await read(post('x', LIST));
    expect((await refused(await gate(request))).status).toBe(401);
  });

  it('recognises it on servers that fail only during the read', async () => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    const request = post(key, LIST, LENGTH);
    const unusable = () => Promise.reject(new TypeError('Body is unusable'));
    Object.defineProperty(request, 'text', { value: unusable });
    expect((await refused(await gate(request))).status).toBe(500);
  });
});

const LENGTH = { 'content-length': '10' };
