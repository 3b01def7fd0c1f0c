/** A job without a secret at the gate, with the real clients and servers of both SDKs. */
import type { Keyring } from 'keyscope';
import { createMcpGate } from 'keyscope/mcp';
import { afterEach, describe, expect, it } from 'vitest';
import { setUpKeyless } from '../support/keyless.ts';
import { AUTHORITY, untyped } from '../support/keyring.ts';
import { METADATA_URL, type Operation, policy, RESOURCE, tools } from '../support/mcp.ts';
import { failureOf, PAIRS } from '../support/mcp-clients.ts';
import { handleBehind, mount, serveStateless } from '../support/mcp-mounted.ts';
import { stopAll } from '../support/mcp-servers.ts';

afterEach(stopAll);

async function arrange(generation: (typeof PAIRS)[number][0]) {
  const verifier = { audience: RESOURCE };
  const world = await setUpKeyless({ verifier, policy: untyped(policy) });
  const { info, tokenOf } = world;
  const keyring = untyped<Keyring<typeof policy.catalog, Operation>>(world.keyring);
  const called: string[] = [];
  const names = tools.map(({ name }) => name);
  const served = { names, onCall: (name: string) => called.push(name) };
  const gate = createMcpGate({
    keyring,
    tools,
    resource: RESOURCE,
    resourceMetadata: METADATA_URL,
  });
  const url = await mount(handleBehind(gate, serveStateless(generation, served)));
  const aud = `${RESOURCE}#${info.keyId}`;
  return { ...world, url, called, token: tokenOf({ aud }), tokenAs: tokenOf, aud };
}

describe.each(PAIRS)('a server of SDK %s, with a client of %s', (generation, _client, connect) => {
  it('serves a job the tools that its key allows', async () => {
    const { url, token, called } = await arrange(generation);
    const client = await connect(url, token);
    const { content } = await client.call('listThreats');
    expect(content).toEqual([{ type: 'text', text: 'listThreats was served' }]);
    expect(await failureOf(client.call('listUsers'))).toMatch(/403|Insufficient/);
    expect(called).toEqual(['listThreats']);
  });

  it('refuses the tokens of another branch, another resource and a suspended key', async () => {
    const { url, tokenAs, aud, keyring, info, token } = await arrange(generation);
    const other = `https://api.acme.example#${info.keyId}`;
    for (const refused of [tokenAs({ aud, ref: 'refs/heads/x' }), tokenAs({ aud: other })]) {
      expect(await failureOf(connect(url, refused))).toContain('401');
    }
    await keyring.suspend(info.keyId, AUTHORITY);
    expect(await failureOf(connect(url, token))).toContain('401');
  });
});
