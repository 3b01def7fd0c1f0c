/** The challenges of a gate: the URL of the metadata, and the scopes to ask for. */
import { describe, expect, it } from 'vitest';
import { issue } from '../support/keyring.ts';
import { call, challenge, LIST, post, refused, setUpGate } from '../support/mcp.ts';

describe('a challenge of the gate', () => {
  it('omits the metadata if there are only keys', async () => {
    const { gate, keyring } = setUpGate({ resourceMetadata: false });
    const { key } = await issue(keyring);
    const bare = await refused(await gate(post(null, LIST)));
    expect(bare).toMatchObject({ status: 401, challenge: 'Bearer realm="test"' });
    const denied = await refused(await gate(post(key, call('listUsers'))));
    const params = 'error="insufficient_scope", scope="users:read"';
    expect(denied).toMatchObject({ status: 403, challenge: `Bearer realm="test", ${params}` });
  });

  it('has the prefix of the keyring as its default realm', async () => {
    const { gate } = setUpGate({ realm: undefined, resourceMetadata: false });
    const { challenge: bare } = await refused(await gate(post(null, LIST)));
    expect(bare).toBe('Bearer realm="acme"');
  });

  // Regression: without scopes in the challenge, a client asked for every scope of the metadata.
  it('names the scopes that every request needs in a 401', async () => {
    const { gate } = setUpGate({ operation: 'updateThreat' });
    const scope = 'scope="threats:read threats:write", ';
    const bare = await refused(await gate(post(null, LIST)));
    expect(bare).toMatchObject({ status: 401, challenge: challenge(scope) });
    const bad = await refused(await gate(post('x', LIST)));
    const expected = challenge(`error="invalid_token", ${scope}`);
    expect(bad).toMatchObject({ status: 401, challenge: expected });
    const malformed = await refused(await gate(post(null, LIST, { authorization: 'Bearer' })));
    expect(malformed).toMatchObject({
      status: 400,
      challenge: challenge('error="invalid_request", '),
    });
  });

  it('names exactly the scopes of the denied tool in a 403', async () => {
    const { gate, keyring } = setUpGate({ operation: 'listThreats' });
    const { key } = await issue(keyring);
    const denied = await refused(await gate(post(key, call('listUsers'))));
    const params = 'error="insufficient_scope", scope="users:read", ';
    expect(denied.challenge).toBe(challenge(params));
  });

  it.each([undefined, 'connect'] as const)(
    'omits scopes if requests need none (operation: %s)',
    async (operation) => {
      const { gate } = setUpGate({ operation });
      expect((await refused(await gate(post(null, LIST)))).challenge).toBe(challenge(''));
    },
  );
});
