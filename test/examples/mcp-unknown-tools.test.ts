/** Tools that the SDK has and the gate was not told of, on servers of both generations. */
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
  /** The tools that were called. */
  readonly called: string[];
  /** The calls of the store. */
  readonly lookups: string[];
}

/** The SDK has three tools: one for the gate, one that it forgot, and one as an operation is. */
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
  // A tool that was registered with the SDK and forgotten in the policy was served without any
  // scope.
  test('serves no tool that the gate was not told of', async () => {
    const { url, key, called } = await mountForgetful(generation);
    const client = await connect(url, key);
    expect((await client.call('listThreats')).content).toEqual([
      { type: 'text', text: 'listThreats was served' },
    ]);
    // As the SDK answers a tool that nobody has: a protocol error, which ends no connection.
    for (const name of ['wipeEverything', 'connect', 'nothing']) {
      const failure = await failureOf(client.call(name));
      expect(failure).toContain('-32602');
      expect(failure).toContain('Unknown tool');
    }
    await client.call('listThreats');
    expect(called).toEqual(['listThreats', 'listThreats']);
  });

  test('looks a key up once for a batch', async () => {
    const { url, key, called, lookups } = await mountForgetful(generation);
    const batch = Array.from({ length: 50 }, (_, id) => call('listThreats', {}, id));
    lookups.length = 0;
    expect((await post(url, key, batch)).status).toBe(200);
    expect(called).toHaveLength(50);
    expect(lookups).toEqual(['findByDigest']);
  });
});
