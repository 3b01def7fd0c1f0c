/** The messages of a request, and the tool calls among them. */
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { issue, OTHER, recording } from '../support/keyring.ts';
import {
  call,
  entered,
  LIST,
  post,
  RESOURCE,
  refused,
  setUpGate,
  type Tool,
} from '../support/mcp.ts';

describe('the gate, on the messages of a request', () => {
  it('refuses a whole batch if one call is denied', async () => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    entered(await gate(post(key, [LIST, call('listThreats'), call('whoami', {}, 2)])));
    for (const batch of [
      [call('listThreats'), call('listUsers', {}, 2)],
      [call('listUsers'), call('listThreats', {}, 2)],
      [LIST, LIST, call('listThreats', { entity_uuid: OTHER })],
    ]) {
      expect((await refused(await gate(post(key, batch)))).status).toBe(403);
    }
  });

  it('accepts at most 100 messages', async () => {
    const { store, calls } = recording(memoryStore());
    const { gate, keyring, events } = setUpGate({}, { store });
    const { key } = await issue(keyring);
    const batchOf = (count: number) =>
      Array.from({ length: count }, (_, index) => call('whoami', {}, index));
    calls.length = 0;
    expect((await refused(await gate(post(key, batchOf(101))))).status).toBe(400);
    expect(calls).toEqual(['findByDigest']);
    expect(events.slice(1)).toEqual([]);
    entered(await gate(post(key, batchOf(100))));
  });

  it('leaves messages without a tool call to the SDK', async () => {
    const { gate, keyring, events } = setUpGate();
    const { key } = await issue(keyring);
    const bodies = [
      { method: 'tools/call/x', params: { name: 'listUsers' } },
      { method: 'prompts/get', params: { name: 'listUsers' } },
      [[call('listUsers')]],
      null,
      5,
      [],
    ];
    for (const body of bodies) {
      expect(entered(await gate(post(key, body))).parsedBody).toEqual(body);
    }
    expect(events).toHaveLength(1);
  });

  // Regression: a tool that was registered with the SDK but missing here was served without any
  // scope, and an operation that is not a tool was admitted as one.
  it.each([
    ['with an unknown name', 'nothing'],
    ['named like a property', 'constructor'],
    ['named like an operation without a tool', 'connect'],
    ['without a name', undefined],
    ['whose name is a list', ['listThreats']],
  ])("gives MCP's answer for unknown tools to a call of a tool %s", async (_what, name) => {
    const { gate, keyring, events } = setUpGate();
    const { key } = await issue(keyring);
    for (const id of [7, 'seven', 0]) {
      const answer = await gate(post(key, { ...call(name), id }));
      if (!(answer instanceof Response)) throw new Error('was let in');
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const error = { code: -32_602, message: expect.stringMatching(/^Unknown tool\./) as string };
      expect(await answer.json()).toEqual({ jsonrpc: '2.0', id, error });
    }
    // A batch or notification gets a status, and no call of a batch is admitted.
    const { id: _id, ...notification } = call(name) as { id: unknown };
    for (const body of [notification, [call('listThreats'), call(name)]]) {
      const seen = await refused(await gate(post(key, body)));
      expect(seen).toMatchObject({ status: 400, challenge: null });
      expect(seen.body).toContain('did not name it to its gate');
    }
    const told = events.slice(1).map((event) => 'reason' in event && event.reason);
    expect(told).toEqual(Array.from({ length: 5 }, () => 'unknown_tool'));
  });

  it('answers an unauthenticated caller with 401, whatever it calls', async () => {
    const { gate } = setUpGate();
    for (const name of ['nothing', 'connect', 'listThreats']) {
      expect((await refused(await gate(post('x', call(name))))).status).toBe(401);
    }
  });

  it('knows only the tools from when it was made', async () => {
    const named = [{ name: 'whoami' }] as const;
    const list: Tool[] = [...named];
    const { gate, keyring } = setUpGate({ tools: list });
    list.push({ name: 'listThreats' });
    const { key } = await issue(keyring);
    entered(await gate(post(key, call('whoami'))));
    expect(await gate(post(key, call('listThreats')))).toBeInstanceOf(Response);
  });

  // The SDK cannot read the body again.
  it.each(['no json', '{"a":', '', null])('answers 400 to the body %j', async (body) => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    const headers = { authorization: `Bearer ${key}` };
    const request = new Request(RESOURCE, { method: 'POST', headers, body });
    const seen = await refused(await gate(request));
    expect(seen).toMatchObject({ status: 400, challenge: null });
    expect(JSON.parse(seen.body)).toMatchObject({
      detail: expect.stringMatching(/^Send one JSON-RPC message/) as string,
    });
  });
});
