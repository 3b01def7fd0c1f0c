/** The messages of a request, and the tool calls that the gate admits among them. */
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { issue, OTHER, recording } from '../support/keyring.ts';
import { call, entered, LIST, post, RESOURCE, refused, setUpGate } from '../support/mcp.ts';

describe('the messages of a request', () => {
  it('are refused together if one call of a batch is denied', async () => {
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

  it('are at most 100', async () => {
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

  it('are left to the SDK if they call no known tool', async () => {
    const { gate, keyring, events } = setUpGate();
    const { key } = await issue(keyring);
    const bodies = [
      call('nothing'),
      call('constructor'),
      call(5),
      { method: 'tools/call' },
      { method: 'tools/call', params: null },
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

  // The SDK could not read the body again.
  it.each(['no json', '{"a":', '', null])('are answered with 400 if they are %j', async (body) => {
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
