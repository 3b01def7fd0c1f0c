/** The gate as a whole: whom it admits, how it answers others, and which events it emits. */

import type { StoreError, TokenVerifier } from 'keyscope';
import { causeOf } from 'keyscope';
import type { McpKeyring } from 'keyscope/mcp';
import { principalOf } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  issue,
  OTHER,
  OWN,
  type Ring,
  recording,
  START,
  setUp,
  tampering,
  untyped,
  wrap,
} from '../support/keyring.ts';
import {
  call,
  challenge,
  entered,
  issueForTwo,
  LIST,
  policy,
  post,
  RESOURCE,
  refused,
  setUpGate,
  tokenFor,
  tokens,
} from '../support/mcp.ts';

const INVALID_TOKEN = challenge('error="invalid_token", ');
const INVALID_REQUEST = challenge('error="invalid_request", ');

describe('the gate', () => {
  it('admits a key and passes on the message that it checked', async () => {
    const { gate, keyring } = setUpGate();
    const { key, info } = await issue(keyring);
    const request = post(key, call('listThreats', { limit: '2' }));
    const { principal, authInfo, parsedBody } = entered(await gate(request));
    expect(principal).toMatchObject({ keyId: info.keyId, entityId: OWN });
    expect(authInfo).toMatchObject({ token: `key:${info.keyId}` });
    expect(principalOf(authInfo)).toBe(principal);
    expect(parsedBody).toEqual(call('listThreats', { limit: '2' }));
    // The body is read, so nothing can parse it differently.
    expect(request.bodyUsed).toBe(true);
    expect(Object.keys(authInfo)).not.toContain('resource');
  });

  it.each(['GET', 'DELETE', 'HEAD', 'OPTIONS'])(
    'authenticates %s too, which carries no message',
    async (method) => {
      const { gate, keyring } = setUpGate();
      const { key } = await issue(keyring);
      const headers = { authorization: `Bearer ${key}` };
      const answer = await gate(new Request(RESOURCE, { method, headers }));
      expect(entered(answer).parsedBody).toBeUndefined();
      expect((await refused(await gate(new Request(RESOURCE, { method })))).status).toBe(401);
    },
  );

  it.each<[string, Readonly<Record<string, string>>, number, string]>([
    ['no credential', {}, 401, challenge('')],
    ['another auth-scheme', { authorization: 'Basic YTpi' }, 401, challenge('')],
    ['a key in other headers', { cookie: 'key=KEY', 'x-api-key': 'KEY' }, 401, challenge('')],
    ['a bare scheme', { authorization: 'Bearer' }, 400, INVALID_REQUEST],
    ['two credentials', { authorization: 'Bearer KEY, Bearer KEY' }, 400, INVALID_REQUEST],
    ['a wrong key', { authorization: 'Bearer acme_0' }, 401, INVALID_TOKEN],
    ['an unknown token', { authorization: 'Bearer a.b.c' }, 401, INVALID_TOKEN],
  ])('denies %s', async (_, headers, status, expected) => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    const filled = Object.entries(headers).map(([name, value]): [string, string] => [
      name,
      value.replaceAll('KEY', key),
    ]);
    for (const body of [LIST, call('listThreats'), call('nothing'), 'no json']) {
      const seen = await refused(await gate(post(null, body, Object.fromEntries(filled))));
      expect(seen).toMatchObject({ status, challenge: expected });
      expect(JSON.stringify(seen)).not.toContain(key.slice(-16));
    }
  });

  it('rejects with errors that are neither a denial nor an outage', async () => {
    const bug = new TypeError('a bug');
    const fail = () => Promise.reject(bug);
    const keyring = { ...setUp({ policy }).keyring, authenticate: fail, admit: fail };
    const { gate } = setUpGate({ keyring });
    await expect(gate(post('x', LIST))).rejects.toBe(bug);
  });

  it('explains what to pass if its argument is not a fetch Request', async () => {
    const { gate, keyring, events } = setUpGate();
    const { key } = await issue(keyring);
    const raw = {
      method: 'GET',
      headers: { authorization: `Bearer ${key}` },
      rawHeaders: ['Authorization', `Bearer ${key}`],
    };
    for (const odd of [raw, new Headers(), {}, null, undefined]) {
      const answer = gate(untyped<Request>(odd));
      await expect(answer).rejects.toThrow(TypeError);
      await expect(answer).rejects.toThrow(
        /^gate: pass a fetch Request \(.*getRequestListener of @hono\/node-server/,
      );
    }
    expect(events).toHaveLength(1);
  });

  it('ignores the host of the request in a challenge', async () => {
    const { gate } = setUpGate();
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example',
    };
    const { challenge: header } = await refused(await gate(post(null, LIST, headers)));
    expect(header).toBe(challenge(''));
  });

  it('uses the resourceMetadata option in a challenge', async () => {
    const { gate } = setUpGate({ resourceMetadata: 'https://elsewhere.example.com/metadata' });
    const { challenge: header } = await refused(await gate(post(null, LIST)));
    expect(header).toBe(
      'Bearer realm="test", resource_metadata="https://elsewhere.example.com/metadata"',
    );
  });
});

describe('the gate, on a tool call', () => {
  it('denies a call without a scope and names the scopes of the tool', async () => {
    const { gate, keyring, events } = setUpGate();
    const { key, info } = await issue(keyring);
    const seen = await refused(await gate(post(key, call('updateThreat'))));
    expect(seen.status).toBe(403);
    const params = 'error="insufficient_scope", scope="threats:read threats:write", ';
    expect(seen.challenge).toBe(challenge(params));
    expect(JSON.parse(seen.body)).toMatchObject({
      error: 'insufficient_scope',
      scope: 'threats:read threats:write',
    });
    const denied = {
      type: 'access.denied',
      time: START,
      keyId: info.keyId,
      entityId: OWN,
      operation: 'updateThreat',
      code: 'insufficient_scope',
      reason: 'scope_missing',
    };
    expect(events.slice(1)).toEqual([denied]);
  });

  it('checks the entity in the arguments, in any shape', async () => {
    const { gate, keyring } = setUpGate();
    const { key } = await issue(keyring);
    const ask = (args: unknown) => gate(post(key, call('listThreats', args)));
    const own = [undefined, null, {}, [], 'x', 5, { entity_uuid: OWN }, { entity_uuid: null }];
    for (const args of own) entered(await ask(args));
    const foreign = await refused(await ask({ entity_uuid: OTHER }));
    expect(foreign).toMatchObject({ status: 403, challenge: null });
    for (const odd of ['', 'x', OWN.toUpperCase(), [OWN, OTHER], {}, 5, true]) {
      expect((await refused(await ask({ entity_uuid: odd }))).status).toBe(400);
    }
  });

  it('records a call like a REST request: one event, and the use of its scopes', async () => {
    const { gate, keyring, events } = setUpGate();
    const { key, info } = await issue(keyring);
    entered(await gate(post(key, call('listThreats'))));
    const granted = {
      type: 'access.granted',
      time: START,
      keyId: info.keyId,
      entityId: OWN,
      operation: 'listThreats',
    };
    expect(events.slice(1)).toEqual([granted]);
    await keyring.flush();
    expect(await keyring.get(info.keyId, AUTHORITY)).toMatchObject({
      lastUsedAt: new Date(START),
      scopesUsed: { 'threats:read': new Date(START) },
    });
  });
});

describe('the gate, with an operation for every request', () => {
  it('emits an event for each request; without it, only for tool calls', async () => {
    const quiet = setUpGate();
    const { key } = await issue(quiet.keyring);
    entered(await quiet.gate(post(key, LIST)));
    await refused(await quiet.gate(post(null, LIST)));
    expect(quiet.events).toHaveLength(1);

    const told = setUpGate({ operation: 'connect' }, { store: quiet.store });
    entered(await told.gate(post(key, LIST)));
    entered(await told.gate(post(key, call('listThreats'))));
    await refused(await told.gate(post(null, call('listThreats'))));
    expect(told.events).toMatchObject([
      { type: 'access.granted', operation: 'connect' },
      { type: 'access.granted', operation: 'connect' },
      { type: 'access.granted', operation: 'listThreats' },
      { type: 'access.denied', operation: 'connect' },
    ]);
  });

  // Regression: the gate denied a token for another resource before calling the keyring, without
  // an event.
  it.each([
    ['a token for another resource', 'token_refused', 'FOREIGN'],
    ['a token that is not a JWT', 'token_refused', '.'],
    ['an unknown token', 'token_refused', 'a.b.c'],
    ['a malformed key', 'malformed_key', 'KEYx'],
  ])('emits exactly one event for %s', async (_, reason, credential) => {
    const { gate, keyring, events } = setUpGate({ operation: 'connect' });
    const { key } = await issue(keyring);
    const foreign = await tokenFor(await keyring.verify(key), 'https://other.example/mcp');
    const sent = credential.replace('FOREIGN', foreign).replace('KEY', key);
    const seen = await refused(await gate(post(sent, call('listThreats'))));
    expect(seen).toMatchObject({ status: 401, challenge: INVALID_TOKEN });
    const denied = {
      type: 'access.denied',
      time: START,
      keyId: null,
      entityId: null,
      operation: 'connect',
      code: 'invalid_token',
      reason,
    };
    expect(events.slice(1)).toEqual([denied]);
  });

  it('requires its scopes from every caller', async () => {
    const { gate, keyring } = setUpGate({ operation: 'listUsers' });
    const { key } = await issue(keyring);
    for (const body of [LIST, call('listThreats')]) {
      const { status, challenge: header } = await refused(await gate(post(key, body)));
      expect(status).toBe(403);
      expect(header).toBe(challenge('error="insufficient_scope", scope="users:read", '));
    }
  });
});

/** A keyring that records the arguments of authenticate. */
function watch(keyring: Ring): { readonly keyring: McpKeyring; readonly asked: unknown[] } {
  const asked: unknown[] = [];
  const watched: McpKeyring = {
    ...keyring,
    authenticate(request) {
      asked.push(request);
      return keyring.authenticate(request);
    },
    admit(request, input) {
      if (typeof request !== 'function') asked.push(request);
      return keyring.admit(request, input);
    },
  };
  return { keyring: watched, asked };
}

describe.each([undefined, 'connect'] as const)('the credential (operation: %s)', (operation) => {
  it('reaches the keyring once, exactly as in the header', async () => {
    const { keyring } = setUp({ policy, tokens });
    const { key } = await issue(keyring);
    const token = await tokenFor(await keyring.verify(key));
    const watched = watch(keyring);
    const { gate } = setUpGate({ operation, keyring: watched.keyring });
    for (const credential of [key, token, `${key}x`, 'x']) {
      watched.asked.length = 0;
      await gate(post(credential, [call('whoami'), call('listThreats')]));
      expect(watched.asked).toEqual([`Bearer ${credential}`]);
    }
    for (const authorization of [`Bearer ${key}, Bearer ${key}`, 'Basic YTpi', 'Bearer']) {
      watched.asked.length = 0;
      await refused(await gate(post(null, LIST, { authorization })));
      expect(watched.asked).toEqual([authorization]);
    }
  });

  it('does not reach the keyring if it is a token for another resource', async () => {
    const verified: string[] = [];
    const lax: TokenVerifier = {
      async verify(token) {
        verified.push(token);
        return principal;
      },
    };
    const { keyring } = setUp({ policy, tokens: lax });
    const principal = await keyring.verify((await issue(keyring)).key);
    const watched = watch(keyring);
    const { gate } = setUpGate({ operation, keyring: watched.keyring });
    const foreign = await tokenFor(principal, 'https://other.example/mcp');
    for (const token of [foreign, '.', 'a.b.c']) {
      expect((await refused(await gate(post(token, LIST)))).status).toBe(401);
    }
    expect(watched.asked).toEqual([]);
    expect(verified).toEqual([]);
    const own = await tokenFor(principal);
    entered(await gate(post(own, LIST)));
    expect(verified).toEqual([own]);
  });

  it.each([
    ['a key', 'findByDigest'],
    ['a token', 'findById'],
  ] as const)('is looked up once for %s, however many calls a batch has', async (of, method) => {
    const { store, calls } = recording(memoryStore());
    const { gate, keyring, events } = setUpGate({ operation }, { store });
    const { key } = await issue(keyring);
    const credential = of === 'a key' ? key : await tokenFor(await keyring.verify(key));
    const batch = Array.from({ length: 100 }, (_, index) => call('listThreats', {}, index));
    calls.length = 0;
    events.length = 0;
    entered(await gate(post(credential, batch)));
    expect(calls).toEqual([method]);
    const granted = batch.map(() => ({ type: 'access.granted', operation: 'listThreats' }));
    const entering = operation === undefined ? [] : [{ type: 'access.granted', operation }];
    expect(events).toMatchObject([...entering, ...granted]);
  });
});

describe('the context of a request', () => {
  const context = ({ headers }: Request) => ({ id: headers.get('x-request-id') ?? 'none' });

  it('is read once per request and is part of each event', async () => {
    const asked: Request[] = [];
    const noting = (request: Request) => {
      asked.push(request);
      return context(request);
    };
    const { gate, keyring, events } = setUpGate({ operation: 'connect', context: noting });
    const { key } = await issue(keyring);
    const batch = [call('listThreats'), call('updateThreat')];
    const request = post(key, batch, { 'x-request-id': 'r1' });
    await refused(await gate(request));
    expect(asked).toEqual([request]);
    await refused(await gate(post('x', LIST)));
    expect(events.slice(1)).toMatchObject([
      { type: 'access.granted', operation: 'connect', context: { id: 'r1' } },
      { type: 'access.granted', operation: 'listThreats', context: { id: 'r1' } },
      { type: 'access.denied', operation: 'updateThreat', context: { id: 'r1' } },
      { type: 'access.denied', operation: 'connect', context: { id: 'none' } },
    ]);
  });

  it('is part of the events of tool calls without an operation for requests', async () => {
    const { gate, keyring, events } = setUpGate({ context });
    const { key } = await issue(keyring);
    entered(await gate(post(key, call('listThreats'), { 'x-request-id': 'r2' })));
    expect(events.slice(1)).toMatchObject([{ operation: 'listThreats', context: { id: 'r2' } }]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('a bug');
      },
    ],
    ['returns a text', () => 'r3'],
    ['returns nothing', () => undefined],
  ])('is empty, without a denial, if the function %s', async (_what, odd) => {
    const { gate, keyring, events } = setUpGate({ context: untyped(odd) });
    const { key } = await issue(keyring);
    entered(await gate(post(key, call('listThreats'))));
    expect(events.slice(1)).toEqual([expect.objectContaining({ operation: 'listThreats' })]);
    expect(events.at(-1)).toHaveProperty('context', undefined);
  });
});

describe('the gate, on a marked key', () => {
  it.each(['a key', 'a token'])('admits %s, except for withdrawn entities', async (of) => {
    const { gate, keyring } = setUpGate();
    const { key, info } = await issueForTwo(keyring);
    const credential = of === 'a key' ? key : await tokenFor(await keyring.verify(key));
    const ask = (entity: string) =>
      gate(post(credential, call('listThreats', { entity_uuid: entity })));
    for (const entity of [OWN, OTHER]) entered(await ask(entity));
    await keyring.withdraw(info.keyId, { entityId: OTHER });
    const { principal, authInfo } = entered(await ask(OWN));
    expect(principal.accessibleEntities).toEqual([OWN]);
    expect(principalOf(authInfo)).toBe(principal);
    const seen = await refused(await ask(OTHER));
    expect(seen).toMatchObject({ status: 403, challenge: null });
    expect(JSON.parse(seen.body)).toMatchObject({ error: 'entity_forbidden' });
  });

  it('denies a suspended key and admits it once it is resumed', async () => {
    const { gate, keyring, events } = setUpGate({ operation: 'connect' });
    const { key, info } = await issue(keyring);
    await keyring.suspend(info.keyId, AUTHORITY);
    const seen = await refused(await gate(post(key, LIST)));
    expect(seen).toMatchObject({ status: 401, challenge: INVALID_TOKEN });
    expect(events.at(-1)).toMatchObject({ reason: 'suspended', keyId: info.keyId });
    await keyring.resume(info.keyId, AUTHORITY);
    entered(await gate(post(key, LIST)));
  });

  it('denies a key from a later release like any other', async () => {
    const later = tampering(memoryStore(), (row) => ({ ...row, format: 2 }));
    const { gate, keyring, events } = setUpGate({ operation: 'connect' }, { store: later });
    const { key } = await issue(keyring);
    const seen = await refused(await gate(post(key, LIST)));
    expect(seen).toMatchObject({ status: 401, challenge: INVALID_TOKEN });
    expect(events.at(-1)).toMatchObject({ reason: 'unknown_format' });
  });
});

describe('the gate, on a key that ends or cannot be checked', () => {
  it('denies the next request after a revocation during a request', async () => {
    const { gate, keyring } = setUpGate({
      // Runs after authentication and before the call is admitted.
      sessionOwner: async () => {
        await keyring.revoke(info.keyId, AUTHORITY);
        return info.keyId;
      },
    });
    const { key, info } = await issue(keyring);
    entered(await gate(post(key, call('whoami'), { 'mcp-session-id': 's' })));
    const seen = await refused(await gate(post(key, call('whoami'))));
    expect(seen).toMatchObject({ status: 401, challenge: INVALID_TOKEN });
  });

  it('answers 503 only to requests that need a broken store', async () => {
    const cause = new Error('the database is away');
    const store = wrap(memoryStore(), (method, _args, act) => {
      if (method === 'findByDigest') throw cause;
      return act();
    });
    const told: unknown[] = [];
    const onError = (error: StoreError) => told.push(causeOf(error));
    const { gate, keyring } = setUpGate({ onError }, { store });
    const { key } = await issue(keyring);
    const answer = await gate(post(key, call('listThreats')));
    expect(answer instanceof Response && answer.headers.get('retry-after')).toBe('1');
    expect(await refused(answer)).toMatchObject({ status: 503, challenge: null });
    expect(told).toEqual([cause]);
    expect((await refused(await gate(post('acme_x', call('listThreats'))))).status).toBe(401);
    expect(told).toHaveLength(1);
  });

  it('answers 503 if the clock breaks between the look-up and the call', async () => {
    const cause = new Error('the clock has stopped');
    let isBroken = false;
    const now = () => {
      if (isBroken) throw cause;
      return START;
    };
    const told: unknown[] = [];
    const onError = (error: StoreError) => told.push(causeOf(error));
    const sessionOwner = () => {
      isBroken = true;
      return info.keyId;
    };
    const { gate, keyring, events } = setUpGate({ onError, sessionOwner }, { now });
    const { key, info } = await issue(keyring);
    const answer = await gate(post(key, call('listThreats'), { 'mcp-session-id': 's' }));
    expect(await refused(answer)).toMatchObject({ status: 503, challenge: null });
    expect(told).toEqual([cause]);
    expect(events.slice(1)).toMatchObject([{ operation: 'listThreats', code: 'store_error' }]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('the log is away');
      },
    ],
    ['rejects', () => Promise.reject(new Error('the log is away'))],
  ])('answers 503 even if the listener %s', async (_, onError) => {
    const store = wrap(memoryStore(), (method, _args, act) => {
      if (method === 'findByDigest') throw new Error('the database is away');
      return act();
    });
    const { gate, keyring } = setUpGate({ onError }, { store });
    const { key } = await issue(keyring);
    expect((await refused(await gate(post(key, LIST)))).status).toBe(503);
  });
});
