/** Tools that the SDK has and the gate does not know, on servers of both generations. */
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { issue, recording } from '../support/keyring.ts';
import { call, setUpGate } from '../support/mcp.ts';
import { connect1, connect2, failureOf, post } from '../support/mcp-clients.ts';
import { handleBehind, mount, serveStateless } from '../support/mcp-mounted.ts';
import { stopAll } from '../support/mcp-servers.ts';

afterEach(stopAll);

interface Mounted {
  readonly url: string;
  readonly key: string;
  /** The called tools. */
  readonly called: string[];
  /** The calls of the store. */
  readonly lookups: string[];
}

/** The SDK has three tools: a known one, a forgotten one, and one named like an operation. */
async function mountForgetful(generation: '1.x' | '2.x'): Promise<Mounted> {
  const { store, calls: lookups } = recording(memoryStore());
  const { gate, keyring } = setUpGate({}, { store });
  const { key } = await issue(keyring);
  const called: string[] = [];
  const names = ['listThreats', 'wipeEverything', 'connect'];
  const onCall = (name: string): void => void called.push(name);
  const url = await mount(handleBehind(gate, serveStateless(generation, { names, onCall })));
  return { url, key, called, lookups };
}

describe.each([
  ['1.x', connect1],
  ['2.x', connect2],
] as const)('a server of %s', (generation, connect) => {
  // A tool that was registered with the SDK but missing in the policy once needed no scope.
  test('does not serve a tool that the gate does not know', async () => {
    const { url, key, called } = await mountForgetful(generation);
    const client = await connect(url, key);
    expect((await client.call('listThreats')).content).toEqual([
      { type: 'text', text: 'listThreats was served' },
    ]);
    // Like the SDK's answer to an unknown tool: a protocol error that keeps the connection.
    for (const name of ['wipeEverything', 'connect', 'nothing']) {
      const failure = await failureOf(client.call(name));
      expect(failure).toContain('-32602');
      expect(failure).toContain('Unknown tool');
    }
    await client.call('listThreats');
    expect(called).toEqual(['listThreats', 'listThreats']);
  });

  test('looks up a key once for a batch', async () => {
    const { url, key, called, lookups } = await mountForgetful(generation);
    const batch = Array.from({ length: 50 }, (_, id) => call('listThreats', {}, id));
    lookups.length = 0;
    expect((await post(url, key, batch)).status).toBe(200);
    expect(called).toHaveLength(50);
    expect(lookups).toEqual(['findByDigest']);
  });
});
