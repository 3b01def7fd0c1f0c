/** Sessions of stateful transports, and the callers that may use them. */
import type { Principal } from 'keyscope';
import type { McpEntry, McpGate } from 'keyscope/mcp';
import { describe, expect, it } from 'vitest';
import { sessionOwnerOf } from '../../src/mcp/session-owner.js';
import { AUTHORITY, issue, OTHER, OWN } from '../support/keyring.ts';
import {
  call,
  entered,
  issueForTwo,
  LIST,
  post,
  RESOURCE,
  refused,
  setUpGate,
  tokenFor,
} from '../support/mcp.ts';

/** Sends a message in a session. */
function callIn(
  sessionId: string,
  gate: McpGate,
  credential: string | null,
): Promise<McpEntry | Response> {
  return gate(post(credential, LIST, { 'mcp-session-id': sessionId }));
}

describe('a session', () => {
  it('is open only to the key that started it, because its id is not a credential', async () => {
    const owners = new Map<string, string>();
    const { gate, keyring } = setUpGate({ sessionOwner: async (id) => owners.get(id) });
    const one = await issue(keyring);
    const two = await issue(keyring);
    owners.set('s1', one.info.keyId);
    entered(await callIn('s1', gate, one.key));
    expect((await refused(await callIn('s1', gate, null))).status).toBe(401);
    const foreign = await refused(await callIn('s1', gate, two.key));
    const unknown = await refused(await callIn('s2', gate, two.key));
    expect(foreign).toEqual(unknown);
    expect(foreign.status).toBe(404);
    for (const method of ['GET', 'DELETE']) {
      const headers = { authorization: `Bearer ${two.key}`, 'mcp-session-id': 's1' };
      const request = new Request(RESOURCE, { method, headers });
      expect((await refused(await gate(request))).status).toBe(404);
    }
    entered(await gate(post(two.key, call('listThreats'))));
    await keyring.revoke(one.info.keyId, AUTHORITY);
    expect((await refused(await callIn('s1', gate, one.key))).status).toBe(401);
  });

  // Regression: a token without scopes shared the sessions of its key, so it could replay earlier
  // results and end the session.
  it('is shared neither by a key and its tokens, nor by tokens with other rights', async () => {
    const owners = new Map<string, string>();
    const { gate, keyring } = setUpGate({ sessionOwner: (id) => owners.get(id) });
    const { key, info } = await issueForTwo(keyring);
    const all = await keyring.verify(key);
    const credentials = {
      key,
      all: await tokenFor(all),
      withoutScopes: await tokenFor({ ...all, scopes: [] }),
      ofOneEntity: await tokenFor({ ...all, accessibleEntities: [OWN] }),
      ofTheOther: await tokenFor({ ...all, scopes: [], accessibleEntities: [OTHER] }),
    };
    for (const [id, credential] of Object.entries(credentials)) {
      owners.set(id, entered(await gate(post(credential, LIST))).sessionOwner);
    }
    expect(owners.get('key')).toBe(`${info.keyId} ${OTHER}`);
    for (const [name, credential] of Object.entries(credentials)) {
      for (const id of owners.keys()) {
        const answer = await callIn(id, gate, credential);
        if (id === name) expect(entered(answer).sessionOwner).toBe(owners.get(id));
        else expect([name, id, (await refused(answer)).status]).toEqual([name, id, 404]);
      }
    }
  });

  // An entity may have an id that looks like a scope, or like a kind of credential.
  it('is not shared by callers whose rights read the same when they are joined', () => {
    const rights: readonly Partial<Principal>[] = [
      { via: 'jwt', scopes: ['a:b'], accessibleEntities: ['o', 'c:d'] },
      { via: 'jwt', scopes: ['a:b', 'c:d'], accessibleEntities: ['o'] },
      { via: 'jwt', scopes: [], accessibleEntities: ['a:b', 'c:d', 'o'] },
      { via: 'key', scopes: [], accessibleEntities: ['o', 'jwt', 'a:b', 'c:d'] },
    ];
    const owners = rights.map((given) =>
      sessionOwnerOf({ keyId: OWN, entityId: 'o', ...given } as Principal),
    );
    expect(new Set(owners).size).toBe(rights.length);
  });

  // Regression: results for an entity could be replayed to a key from which it had withdrawn.
  it('is closed once an entity has withdrawn, but a new session is open', async () => {
    const owners = new Map<string, string>();
    const { gate, keyring } = setUpGate({ sessionOwner: (id) => owners.get(id) });
    const { key, info } = await issueForTwo(keyring);
    const token = await tokenFor(await keyring.verify(key));
    const start = async (id: string, credential: string) =>
      owners.set(id, entered(await gate(post(credential, LIST))).sessionOwner);
    for (const [id, credential] of Object.entries({ key, token })) {
      await start(id, credential);
      entered(await callIn(id, gate, credential));
    }
    await keyring.withdraw(info.keyId, { entityId: OTHER });
    for (const [id, credential] of Object.entries({ key, token })) {
      expect((await refused(await callIn(id, gate, credential))).status).toBe(404);
      await start(`new ${id}`, credential);
      entered(await callIn(`new ${id}`, gate, credential));
    }
    expect(owners.get('new key')).toBe(info.keyId);
  });

  it('is open to a token with the same entities in another order', async () => {
    const { gate, keyring } = setUpGate({}, { checkParent: false });
    const all = await keyring.verify((await issueForTwo(keyring)).key);
    const ownerFor = async (accessibleEntities: readonly string[]): Promise<string> => {
      const token = await tokenFor({ ...all, accessibleEntities });
      return entered(await gate(post(token, LIST))).sessionOwner;
    };
    expect(await ownerFor([OWN, OTHER])).toBe(await ownerFor([OTHER, OWN]));
  });

  // Regression: without the option, a stateful server served every session to every key.
  it('is open to nobody without the sessionOwner option', async () => {
    const { gate, keyring } = setUpGate();
    const { key, info } = await issue(keyring);
    for (const id of ['any', '', info.keyId]) {
      const seen = await refused(await callIn(id, gate, key));
      expect(seen).toMatchObject({ status: 404, challenge: null });
    }
    expect((await refused(await callIn('any', gate, null))).status).toBe(401);
    entered(await gate(post(key, LIST)));
  });
});
