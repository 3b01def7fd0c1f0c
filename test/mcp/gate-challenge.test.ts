/** What the challenges of a gate say: where the metadata is, and which scopes to ask for. */
import { describe, expect, it } from 'vitest';
import { issue } from '../support/keyring.ts';
import { call, challenge, LIST, post, refused, setUpGate } from '../support/mcp.ts';

describe('a challenge', () => {
  it('names no metadata if there are only keys', async () => {
    const { gate, keyring } = setUpGate({ resourceMetadata: false });
    const { key } = await issue(keyring);
    const bare = await refused(await gate(post(null, LIST)));
    expect(bare).toMatchObject({ status: 401, challenge: 'Bearer realm="test"' });
    const denied = await refused(await gate(post(key, call('listUsers'))));
    const params = 'error="insufficient_scope", scope="users:read"';
    expect(denied).toMatchObject({ status: 403, challenge: `Bearer realm="test", ${params}` });
  });

  // A client asked for every scope of the metadata, because no challenge told it which it needs.
  it('of a 401 names the scopes that every request needs', async () => {
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

  it('of a 403 names the scopes of what was asked for, and no others', async () => {
    const { gate, keyring } = setUpGate({ operation: 'listThreats' });
    const { key } = await issue(keyring);
    const denied = await refused(await gate(post(key, call('listUsers'))));
    const params = 'error="insufficient_scope", scope="users:read", ';
    expect(denied.challenge).toBe(challenge(params));
  });

  it.each([undefined, 'connect'] as const)(
    'names no scope if requests need none (operation: %s)',
    async (operation) => {
      const { gate } = setUpGate({ operation });
      expect((await refused(await gate(post(null, LIST)))).challenge).toBe(challenge(''));
    },
  );
});
