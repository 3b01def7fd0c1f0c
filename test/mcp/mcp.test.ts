/**
 * The MCP door: what handlers see of a caller, the SDKs' own doors with our verifier, and our gate
 * before them.
 */
import { inspect } from 'node:util';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth as bearer1 } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import type { OAuthTokenVerifier as Verifier1 } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import { getOAuthProtectedResourceMetadataUrl as wellKnown1 } from '@modelcontextprotocol/sdk/server/auth/router.js';
import type { AuthInfo as AuthInfo1 } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { OAuthProtectedResourceMetadataSchema } from '@modelcontextprotocol/sdk/shared/auth.js';
import type {
  AuthInfo as AuthInfo2,
  OAuthTokenVerifier as Verifier2,
} from '@modelcontextprotocol/server';
import {
  requireBearerAuth as bearer2,
  OAuthError,
  OAuthErrorCode,
  getOAuthProtectedResourceMetadataUrl as wellKnown2,
} from '@modelcontextprotocol/server';
import express from 'express';
import fc from 'fast-check';
import { generateKeyPair, jwtVerify, SignJWT } from 'jose';
import type { Principal, StoreError, TokenVerifier } from 'keyscope';
import { AccessError, createKeyring, definePolicy, defineScopes, isAccessError } from 'keyscope';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import type { McpEntry, McpGateOptions, McpKeyring } from 'keyscope/mcp';
import {
  allowedTools,
  createMcpGate,
  createMcpVerifier,
  guardTool,
  principalOf,
  protectedResourceMetadata,
  toAuthInfo,
} from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it } from 'vitest';
import { close, listen } from '../http/harness.ts';
import {
  AUTHORITY,
  catalog,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  recording,
  START,
  setUp,
  untyped,
  wrap,
} from '../support/keyring.ts';

const RESOURCE = 'https://api.example.com/mcp';
const REALM = 'test';

const policy = definePolicy(catalog, {
  connect: [],
  whoami: [],
  listThreats: ['threats:read'],
  updateThreat: ['threats:read', 'threats:write'],
  listUsers: ['users:read'],
});
type Operation = (typeof policy.operations)[number];
const tools = policy.operations.filter((name) => name !== 'connect').map((name) => ({ name }));

/** Tokens of the tests: real JWTs, whose audience their verifier does not look at. */
const SECRET = new TextEncoder().encode('a secret of the tests, of thirty-two bytes and more');
const tokens: TokenVerifier = {
  async verify(token) {
    const checked = await jwtVerify(token, SECRET).catch(() => null);
    if (checked === null) throw new AccessError('invalid_token', 'token_refused');
    const { principal } = checked.payload;
    return untyped<Principal>(principal);
  },
};
const tokenFor = (
  { keyId, name, entityUuid, accessibleEntities, scopes }: Principal,
  aud: unknown = RESOURCE,
) =>
  new SignJWT({
    aud: untyped<string>(aud),
    principal: {
      keyId,
      name,
      entityUuid,
      accessibleEntities,
      scopes,
      metadata: {},
      expiresAt: 4e12,
    },
  })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(SECRET);

const post = (key: string | null, body: unknown, headers: Record<string, string> = {}) =>
  new Request('https://attacker.example/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const call = (name: unknown, args?: unknown, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...(args !== undefined && { arguments: args }) },
});
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

type GateOptions = Partial<McpGateOptions<Operation>>;

function door(options: GateOptions = {}, keyringOptions: Parameters<typeof setUp>[0] = {}) {
  const set = setUp({ tokens, ...keyringOptions });
  const gate = createMcpGate({
    keyring: set.keyring,
    policy,
    tools,
    realm: REALM,
    resource: RESOURCE,
    ...options,
  });
  return { ...set, gate };
}

const entered = (answer: McpEntry | Response): McpEntry => {
  if (answer instanceof Response) throw new Error(`was answered ${answer.status}`);
  return answer;
};

/** Status, challenge and the rest of what a client sees of a refusal. */
async function refused(answer: McpEntry | Response) {
  if (!(answer instanceof Response)) throw new Error('was let in');
  const body = await answer.text();
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(JSON.parse(body)).toMatchObject({ type: 'about:blank', status: answer.status });
  return { status: answer.status, challenge: answer.headers.get('www-authenticate'), body };
}

const METADATA_URL = 'https://api.example.com/.well-known/oauth-protected-resource/mcp';
const challenge = (params: string) =>
  `Bearer realm="test", ${params}resource_metadata="${METADATA_URL}"`;

describe('toAuthInfo', () => {
  it('shows a key to the SDKs: no credential, concrete scopes, a life, and no audience', async () => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    const principal = await keyring.verify(key);
    const authInfo = toAuthInfo(principal, { resource: RESOURCE, now: () => START + 999 });
    expect(authInfo).toEqual({
      token: `key:${info.keyId}`,
      clientId: info.keyId,
      scopes: ['threats:read'],
      expiresAt: START / 1000 + 300,
      extra: { principal },
    });
    expect(authInfo.extra.principal).toBe(principal);
    const shown =
      JSON.stringify(authInfo) + inspect(authInfo, { depth: 9, showHidden: true, getters: true });
    expect(shown).not.toContain(key.slice(-32, -16));
    expect(shown).not.toContain(key.slice(-16));
  });

  it('is what both SDKs take, without a cast', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const authInfo = toAuthInfo(await keyring.verify(key), { resource: new URL(RESOURCE) });
    const [first, second]: [AuthInfo1, AuthInfo2] = [authInfo, authInfo];
    expect(principalOf(first)).toBe(principalOf(second));
  });

  it.each([0, 1, 999])('ends no later than the key, which ends %i ms into a second', async (ms) => {
    const { keyring } = setUp();
    const expiresAt = new Date(START + 60_000 + ms);
    const { key } = await keyring.issue({ name: 'n', scopes: [], expiresAt }, AUTHORITY);
    const authInfo = toAuthInfo(await keyring.verify(key), { resource: RESOURCE });
    expect(authInfo.expiresAt).toBe(START / 1000 + 60);
  });

  it('gives a fresh object and a copy of the scopes each time', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const principal = await keyring.verify(key);
    const show = () => toAuthInfo(principal, { resource: RESOURCE });
    const [one, two] = [show(), show()];
    one.scopes.push('users:delete');
    expect(two.scopes).toEqual(['threats:read']);
    expect(principal.scopes).toEqual(['threats:read']);
    expect(one.extra).not.toBe(two.extra);
  });

  it('leaves out a scope that the catalog no longer knows: the SDKs would take it literally', async () => {
    const store = memoryStore();
    const old = createKeyring({
      prefix: 'acme',
      catalog,
      store,
      peppers: [PEPPER],
      now: () => START,
    });
    const { key } = await old.issue(
      { name: 'n', scopes: ['threats:read', 'decoys:read'], expiresAt: 'never' },
      AUTHORITY,
    );
    const smaller = defineScopes({ threats: { read: 'List and read threats.' } });
    const keyring = createKeyring({
      prefix: 'acme',
      catalog: smaller,
      store,
      peppers: [PEPPER],
      now: () => START,
    });
    const principal = await keyring.verify(key);
    expect(principal.scopes).toEqual(['threats:read', 'decoys:read']);
    expect(toAuthInfo(principal, { resource: RESOURCE }).scopes).toEqual(['threats:read']);
  });

  it('names the resource for a token, as a URL of its own', async () => {
    const { keyring } = setUp({ tokens });
    const { key } = await issue(keyring);
    const principal = await keyring.authenticate(
      `Bearer ${await tokenFor(await keyring.verify(key))}`,
    );
    expect(principal.via).toBe('jwt');
    const authInfo = toAuthInfo(principal, { resource: RESOURCE });
    expect(authInfo.resource).toEqual(new URL(RESOURCE));
    expect(authInfo.expiresAt).toBe(4e9);
  });

  it.each([
    ['a copy without scopes', (p: Principal) => ({ ...p, scopes: [] }), RESOURCE, {}],
    ['nothing', () => undefined, RESOURCE, {}],
    ['a resource that is none', (p: Principal) => p, 'mcp', {}],
    ['no clock', (p: Principal) => p, RESOURCE, { now: 5 }],
  ])('refuses %s', async (_, of, resource, more) => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const principal = untyped<Principal>(of(await keyring.verify(key)));
    expect(() => toAuthInfo(principal, untyped({ resource, ...more }))).toThrow(
      /^(?:principal|resource|now): pass /,
    );
  });
});

describe('principalOf and guardTool', () => {
  async function caller(scopes: readonly ('threats:read' | 'threats:write')[] = ['threats:read']) {
    const { keyring, events } = setUp();
    const input = { name: 'n', scopes, expiresAt: 'never', accessibleEntities: [OTHER] } as const;
    const { key } = await keyring.issue(input, { ...AUTHORITY, entities: [OWN, OTHER] });
    const principal = await keyring.verify(key);
    return { principal, authInfo: toAuthInfo(principal, { resource: RESOURCE }), events };
  }

  it('give the principal back, also from a copy one level deep, as the SDK makes one', async () => {
    const { principal, authInfo } = await caller();
    expect(principalOf(authInfo)).toBe(principal);
    expect(principalOf({ ...authInfo })).toBe(principal);
  });

  it.each([
    ['nothing before the server', undefined],
    ['another verifier', { token: 't', clientId: 'c', scopes: [] }],
    ['extra of another kind', { extra: { principal: 'me' } }],
  ])('say what is missing: %s', (_, authInfo) => {
    expect(() => principalOf(untyped(authInfo))).toThrow(
      /^principalOf: no principal; put the gate/,
    );
  });

  it('take no copy for a principal', async () => {
    const { authInfo } = await caller();
    for (const copy of [JSON.parse(JSON.stringify(authInfo)), structuredClone(authInfo)]) {
      expect(() => principalOf(copy)).toThrow(/^principal: pass one that/);
      expect(() => guardTool(policy, copy, 'whoami')).toThrow(/^principal: pass one that/);
    }
  });

  it('return the entity that was checked', async () => {
    const { principal, authInfo } = await caller();
    expect(guardTool(policy, authInfo, 'listThreats')).toEqual({ principal, entityUuid: OWN });
    expect(guardTool(policy, authInfo, 'listThreats', OTHER)).toEqual({
      principal,
      entityUuid: OTHER,
    });
    expect(guardTool(policy, authInfo, 'listThreats', null).entityUuid).toBe(OWN);
  });

  it.each([
    ['listUsers', undefined, 'insufficient_scope'],
    ['updateThreat', undefined, 'insufficient_scope'],
    ['listThreats', NOWHERE, 'entity_forbidden'],
    ['listThreats', OWN.toUpperCase(), 'invalid_request'],
    ['listThreats', [OWN, OTHER], 'invalid_request'],
    ['listThreats', {}, 'invalid_request'],
    ['listThreats', '', 'invalid_request'],
  ] as const)('deny %s on %j with %s', async (tool, entity, code) => {
    const { authInfo } = await caller();
    let error: unknown;
    try {
      guardTool(policy, authInfo, tool, entity);
    } catch (thrown) {
      error = thrown;
    }
    expect(isAccessError(error) && error.code).toBe(code);
  });

  it('refuse a tool that the policy does not have', async () => {
    const { authInfo } = await caller();
    expect(() => guardTool(policy, authInfo, untyped('listThreat'))).toThrow(TypeError);
  });
});

describe('allowedTools', () => {
  it('lists exactly what guardTool lets through, for every set of scopes', async () => {
    const { keyring } = setUp();
    await fc.assert(
      fc.asyncProperty(fc.subarray([...catalog.all]), async (scopes) => {
        const input = { name: 'n', scopes, expiresAt: 'never', justification: 'tests' } as const;
        const { key } = await keyring.issue(input, AUTHORITY);
        const principal = await keyring.verify(key);
        const authInfo = toAuthInfo(principal, { resource: RESOURCE });
        const passes = tools.filter(({ name }) => {
          try {
            return guardTool(policy, authInfo, name).entityUuid === OWN;
          } catch {
            return false;
          }
        });
        expect(allowedTools(policy, principal, tools)).toEqual(passes);
      }),
    );
  });

  it('keeps the tools as they are, and their order', async () => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issue(keyring)).key);
    const mine = [
      { name: 'listThreats', title: 'T' },
      { name: 'listUsers', title: 'U' },
      { name: 'whoami', title: 'W' },
    ];
    const allowed = allowedTools(policy, principal, mine);
    expect(allowed).toEqual([mine[0], mine[2]]);
    expect(allowed[0]).toBe(mine[0]);
  });

  it.each([
    [[{ name: 'listThreat' }], /^tools: "listThreat" is not in the policy/],
    [[{ name: 'constructor' }], /^tools: "constructor" is not in the policy/],
    [[{}], /^tools: names: element 0: pass a text, not undefined/],
    [[null], /^tools: names: element 0: pass a text, not undefined/],
  ])('refuses %j at set-up', async (odd, message) => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issue(keyring)).key);
    expect(() => allowedTools(policy, principal, untyped<typeof tools>(odd))).toThrow(message);
    expect(() => door({ tools: untyped(odd) })).toThrow(message);
  });

  it('takes no copy for a principal', () => {
    expect(() => allowedTools(policy, untyped({ scopes: ['users:read'] }), [])).toThrow(TypeError);
  });
});

describe('protectedResourceMetadata', () => {
  it.each([
    ['https://api.example.com/mcp', '/.well-known/oauth-protected-resource/mcp'],
    ['https://api.example.com', '/.well-known/oauth-protected-resource'],
    ['https://api.example.com:8443/a/b-c', '/.well-known/oauth-protected-resource/a/b-c'],
    ['http://127.0.0.1:8787/mcp', '/.well-known/oauth-protected-resource/mcp'],
    ['http://localhost/mcp', '/.well-known/oauth-protected-resource/mcp'],
    ['http://[::1]:1/mcp', '/.well-known/oauth-protected-resource/mcp'],
  ])('of %s belongs where both SDKs look for it', (resource, path) => {
    const metadata = protectedResourceMetadata({ resource });
    expect(metadata.path).toBe(path);
    expect(metadata.document).toEqual({ resource, bearer_methods_supported: ['header'] });
    expect([wellKnown1(new URL(resource)), wellKnown2(new URL(resource))]).toEqual([
      metadata.url,
      metadata.url,
    ]);
    expect(protectedResourceMetadata({ resource: new URL(resource) }).url).toBe(metadata.url);
  });

  it('holds what it was given and nothing else, as the SDK reads it', () => {
    const { document } = protectedResourceMetadata({
      resource: RESOURCE,
      authorizationServers: ['https://login.example.com'],
      scopes: catalog.all,
      name: 'Threats',
      documentation: 'https://example.com/keys',
    });
    expect(document).toEqual({
      resource: RESOURCE,
      authorization_servers: ['https://login.example.com'],
      scopes_supported: [...catalog.all],
      bearer_methods_supported: ['header'],
      resource_name: 'Threats',
      resource_documentation: 'https://example.com/keys',
    });
    expect(OAuthProtectedResourceMetadataSchema.parse(document)).toEqual(document);
    expect(Object.isFrozen(document) && Object.isFrozen(document.scopes_supported)).toBe(true);
  });

  it.each([
    'mcp',
    '/mcp',
    '',
    undefined,
    'http://api.example.com/mcp',
    'ftp://api.example.com/mcp',
    'https://user:secret@api.example.com/mcp',
    'https://user@api.example.com/mcp',
    'https://api.example.com/mcp#',
    'https://api.example.com/mcp#x',
    'https://api.example.com/mcp?x=1',
    'https://API.example.com/mcp',
    'https://api.example.com:443/mcp',
    'https://api.example.com/a/../mcp',
    ' https://api.example.com/mcp',
    'https://api.example.com/mcp\n',
    'https://api.example.com/ü',
  ])('refuses %j as a resource, and shows no credential', (resource) => {
    const make = () => protectedResourceMetadata(untyped({ resource }));
    expect(make).toThrow(/^resource: /);
    expect(make).not.toThrow(/secret/);
    expect(() => door(untyped({ resource }))).toThrow(/^resource: /);
    expect(() =>
      createMcpVerifier(untyped({ keyring: setUp().keyring, resource, invalidToken })),
    ).toThrow(/^resource: /);
  });

  it.each([
    [
      { authorizationServers: ['http://login.example.com'] },
      /^authorizationServers: pass an https URL/,
    ],
    [{ authorizationServers: 'https://login.example.com' }, /^servers: pass a list/],
    [{ scopes: ['threats:*'] }, /^scopes: element 0: write resource:action, not "threats:\*"/],
    [{ name: 5 }, /^name and documentation: /],
    [{ documentation: new URL(RESOURCE) }, /^name and documentation: /],
    [{ jwks: 'x' }, /^metadata: unknown field "jwks"/],
  ])('refuses %j', (odd, message) => {
    expect(() => protectedResourceMetadata(untyped({ resource: RESOURCE, ...odd }))).toThrow(
      message,
    );
  });
});

// ── The SDKs' own doors ───────────────────────────────────────────────────────────────────────────────

const invalidToken = (message: string) => new InvalidTokenError(message);
const invalidToken2 = (message: string) => new OAuthError(OAuthErrorCode.InvalidToken, message);

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

type Keyring = ReturnType<typeof setUp>['keyring'];
interface Seen {
  readonly status: number;
  readonly challenge: string | null;
  readonly body: string;
  readonly authInfo: AuthInfo1 | undefined;
}

/** `requireBearerAuth` of both generations, as their users put it up. */
const SDKS = {
  async '1.x'(keyring: Keyring, options: { expectedResource?: URL } = {}) {
    const verifier: Verifier1 = createMcpVerifier({ keyring, resource: RESOURCE, invalidToken });
    let authInfo: AuthInfo1 | undefined;
    const app = express();
    app.get(
      '/',
      bearer1({ verifier, resourceMetadataUrl: METADATA_URL, ...options }),
      (req, res) => {
        authInfo = req.auth;
        res.send('in');
      },
    );
    const { createServer } = await import('node:http');
    const server = createServer(app);
    const port = await listen(server);
    stops.push(() => close(server));
    return async (authorization: string): Promise<Seen> => {
      const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization } });
      const { status, headers } = response;
      return {
        status,
        challenge: headers.get('www-authenticate'),
        body: await response.text(),
        authInfo,
      };
    };
  },
  async '2.x'(keyring: Keyring, options: { expectedResource?: URL } = {}) {
    const verifier: Verifier2 = createMcpVerifier({
      keyring,
      resource: RESOURCE,
      invalidToken: invalidToken2,
    });
    const gate = bearer2({ verifier, resourceMetadataUrl: METADATA_URL, ...options });
    return async (authorization: string): Promise<Seen> => {
      const answer = await gate(new Request(RESOURCE, { headers: { authorization } }));
      if (!(answer instanceof Response))
        return { status: 200, challenge: null, body: 'in', authInfo: answer };
      const { status, headers } = answer;
      return {
        status,
        challenge: headers.get('www-authenticate'),
        body: await answer.text(),
        authInfo: undefined,
      };
    };
  },
};

describe.each(Object.entries(SDKS))(
  "the verifier behind the SDK's requireBearerAuth, %s",
  (_, start) => {
    it('lets a key in, and the handler gets the principal', async () => {
      const { keyring } = setUp();
      const { key, info } = await issue(keyring);
      const { status, authInfo } = await (await start(keyring))(`Bearer ${key}`);
      expect(status).toBe(200);
      expect(authInfo).toMatchObject({
        token: `key:${info.keyId}`,
        clientId: info.keyId,
        scopes: ['threats:read'],
      });
      expect(principalOf(authInfo)).toMatchObject({ keyId: info.keyId, via: 'key' });
      expect(JSON.stringify(authInfo)).not.toContain(key.slice(-32, -16));
    });

    it('refuses every bad credential alike, with a challenge that leads to the metadata', async () => {
      const { keyring, clock } = setUp({ tokens });
      const { key, info } = await issue(keyring);
      const short = await keyring.issue(
        { name: 'n', scopes: [], expiresAt: new Date(START + 10) },
        AUTHORITY,
      );
      const foreign = await tokenFor(await keyring.verify(key), 'https://other.example.com/mcp');
      clock.advance(10);
      await keyring.revoke(info.keyId, AUTHORITY);
      const ask = await start(keyring);
      const bad = [key, short.key, `${key}x`, 'x', 'a,b', 'é', foreign, 'a.b.c', 'a.b', '.'];
      const seen = await Promise.all(bad.map((token) => ask(`Bearer ${token}`)));
      expect(new Set(seen.map((answer) => JSON.stringify(answer))).size).toBe(1);
      expect(seen[0]).toMatchObject({
        status: 401,
        challenge: expect.stringContaining('error="invalid_token"'),
      });
      expect(seen[0]?.challenge).toContain(`resource_metadata="${METADATA_URL}"`);
      expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ error: 'invalid_token' });
    });

    it('does not call a key bad when the store is broken: 500 and no challenge', async () => {
      const store = wrap(memoryStore(), (method, _args, act) => {
        if (method === 'findByDigest') throw new Error('the database is away');
        return act();
      });
      const { keyring } = setUp({ store });
      const { key } = await issue(keyring);
      const { status, challenge: header, body } = await (await start(keyring))(`Bearer ${key}`);
      expect({ status, header }).toEqual({ status: 500, header: null });
      expect(body).not.toMatch(/invalid_token|database/);
    });

    it('takes a token for this resource and no other, also where the SDK looks again', async () => {
      const { keyring } = setUp({ tokens });
      const principal = await keyring.verify((await issue(keyring)).key);
      const ask = await start(keyring, { expectedResource: new URL(RESOURCE) });
      expect((await ask(`Bearer ${await tokenFor(principal)}`)).status).toBe(200);
      const others = [
        'https://other.example.com/mcp',
        `${RESOURCE}/`,
        [RESOURCE],
        [RESOURCE, 'x'],
        5,
        null,
        '',
      ];
      for (const aud of others)
        expect((await ask(`Bearer ${await tokenFor(principal, aud)}`)).status).toBe(401);
    });
  },
);

describe('createMcpVerifier', () => {
  it.each([
    ['the class itself', { invalidToken: InvalidTokenError }, /^invalidToken: /],
    ['what makes no error', { invalidToken: () => 'no' }, /^invalidToken: /],
    ['nothing that makes one', { invalidToken: undefined }, /^invalidToken: /],
    ['no keyring', { keyring: {} }, /^keyring: /],
    ['an unknown field', { audience: 'x' }, /^createMcpVerifier: unknown field "audience"/],
  ])('refuses %s at start-up', (_, odd, message) => {
    const good = { keyring: setUp().keyring, resource: RESOURCE, invalidToken };
    expect(() => createMcpVerifier(untyped({ ...good, ...odd }))).toThrow(message);
  });

  it('reads the audience of a token whatever characters it is encoded in', async () => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issue(keyring)).key);
    const made: string[] = [];
    for (const resource of ['~', 'a~', 'aa~'].map((path) => `https://api.example.com/${path}`)) {
      const parts = [{}, { aud: resource, jti: '?' }, {}].map((part) =>
        Buffer.from(JSON.stringify(part)),
      );
      const token = parts.map((part) => part.toString('base64url')).join('.');
      const verifier = createMcpVerifier({
        keyring: { authenticate: async () => principal },
        resource,
        invalidToken,
      });
      expect((await verifier.verifyAccessToken(token)).clientId).toBe(principal.keyId);
      made.push(token);
    }
    // Of the two that base64url writes otherwise, both are there.
    expect(made.join()).toMatch(/-.*_|_.*-/);
  });
});

// ── Our gate ──────────────────────────────────────────────────────────────────────────────────────────

describe('the gate', () => {
  it('lets a key in, and hands on what it judged', async () => {
    const { gate, keyring } = door();
    const { key, info } = await issue(keyring);
    const request = post(key, call('listThreats', { limit: '2' }));
    const { principal, authInfo, parsedBody } = entered(await gate(request));
    expect(principal).toMatchObject({ keyId: info.keyId, entityUuid: OWN });
    expect(authInfo).toMatchObject({ token: `key:${info.keyId}` });
    expect(principalOf(authInfo)).toBe(principal);
    expect(parsedBody).toEqual(call('listThreats', { limit: '2' }));
    // Nobody reads it in another way.
    expect(request.bodyUsed).toBe(true);
    expect(Object.keys(authInfo)).not.toContain('resource');
  });

  it.each(['GET', 'DELETE', 'HEAD', 'OPTIONS'])(
    'authenticates %s too, which calls nothing',
    async (method) => {
      const { gate, keyring } = door();
      const { key } = await issue(keyring);
      const ask = (headers: Record<string, string>) =>
        gate(new Request(RESOURCE, { method, headers }));
      expect(entered(await ask({ authorization: `Bearer ${key}` })).parsedBody).toBeUndefined();
      expect((await refused(await ask({}))).status).toBe(401);
    },
  );

  it.each([
    ['no credential', {}, 401, challenge('')],
    ['another auth-scheme', { authorization: 'Basic YTpi' }, 401, challenge('')],
    [
      'a key as a query or in a cookie',
      { cookie: 'key=KEY', 'x-api-key': 'KEY' },
      401,
      challenge(''),
    ],
    ['a bare scheme', { authorization: 'Bearer' }, 400, challenge('error="invalid_request", ')],
    [
      'two credentials',
      { authorization: 'Bearer KEY, Bearer KEY' },
      400,
      challenge('error="invalid_request", '),
    ],
    ['a wrong key', { authorization: 'Bearer acme_0' }, 401, challenge('error="invalid_token", ')],
    [
      'a token of nobody',
      { authorization: 'Bearer a.b.c' },
      401,
      challenge('error="invalid_token", '),
    ],
  ])('answers %s', async (_, headers, status, expected) => {
    const { gate, keyring } = door();
    const { key } = await issue(keyring);
    const filled = Object.entries(headers).map(([name, value]) => [
      name,
      value.replaceAll('KEY', key),
    ]);
    for (const body of [LIST, call('listThreats'), call('nothing'), 'no json']) {
      const seen = await refused(await gate(post(null, body, Object.fromEntries(filled))));
      expect(seen).toMatchObject({ status, challenge: expected });
      expect(JSON.stringify(seen)).not.toContain(key.slice(-16));
    }
  });

  it('answers an under-scoped call with the scopes that the tool needs, before the SDK sees it', async () => {
    const { gate, keyring, events } = door();
    const { key, info } = await issue(keyring);
    const scope = 'error="insufficient_scope", scope="threats:read threats:write", ';
    const seen = await refused(await gate(post(key, call('updateThreat'))));
    expect(seen).toMatchObject({ status: 403, challenge: challenge(scope) });
    expect(JSON.parse(seen.body)).toMatchObject({
      error: 'insufficient_scope',
      scope: 'threats:read threats:write',
    });
    expect(events.slice(1)).toEqual([
      {
        type: 'access.denied',
        time: START,
        keyId: info.keyId,
        entityUuid: OWN,
        operation: 'updateThreat',
        code: 'insufficient_scope',
        reason: 'scope_missing',
      },
    ]);
  });

  it('checks the entity that the arguments name, in whatever shape', async () => {
    const { gate, keyring } = door();
    const { key } = await issue(keyring);
    const ask = (args: unknown) => gate(post(key, call('listThreats', args)));
    for (const args of [
      undefined,
      null,
      {},
      [],
      'x',
      5,
      { entity_uuid: OWN },
      { entity_uuid: null },
    ])
      entered(await ask(args));
    expect(await refused(await ask({ entity_uuid: OTHER }))).toMatchObject({
      status: 403,
      challenge: null,
    });
    for (const odd of ['', 'x', OWN.toUpperCase(), [OWN, OTHER], {}, 5, true]) {
      expect((await refused(await ask({ entity_uuid: odd }))).status).toBe(400);
    }
  });

  it('reads the entity from the argument that the service names', async () => {
    const { gate, keyring } = door({ entityArgument: 'org' });
    const { key } = await issue(keyring);
    entered(await gate(post(key, call('listThreats', { entity_uuid: OTHER }))));
    expect((await refused(await gate(post(key, call('listThreats', { org: OTHER }))))).status).toBe(
      403,
    );
  });

  it('records a call as REST records a request: one event, and the scopes in use', async () => {
    const { gate, keyring, events } = door();
    const { key, info } = await issue(keyring);
    entered(await gate(post(key, call('listThreats'))));
    const granted = {
      type: 'access.granted',
      time: START,
      keyId: info.keyId,
      entityUuid: OWN,
      operation: 'listThreats',
    };
    expect(events.slice(1)).toEqual([granted]);
    await keyring.flush();
    const found = await keyring.get(info.keyId, AUTHORITY);
    expect(found?.lastUsedAt).toEqual(new Date(START));
    expect(found?.scopesUsed).toEqual({ 'threats:read': new Date(START) });
  });

  it('emits nothing for a request that calls no tool, unless coming in is an operation', async () => {
    const quiet = door();
    const { key } = await issue(quiet.keyring);
    entered(await quiet.gate(post(key, LIST)));
    await refused(await quiet.gate(post(null, LIST)));
    expect(quiet.events).toHaveLength(1);

    const told = door({ operation: 'connect' }, { store: quiet.store });
    entered(await told.gate(post(key, LIST)));
    entered(await told.gate(post(key, call('listThreats'))));
    await refused(await told.gate(post(null, call('listThreats'))));
    const seen = told.events.map((event) =>
      'operation' in event ? [event.type, event.operation] : [],
    );
    expect(seen).toEqual([
      ['access.granted', 'connect'],
      ['access.granted', 'connect'],
      ['access.granted', 'listThreats'],
      ['access.denied', 'connect'],
    ]);
  });

  // A token for another resource was refused before the keyring was asked, and no event told of it.
  it('emits an event for each refusal where coming in is an operation, whatever the credential', async () => {
    const { gate, keyring, events } = door({ operation: 'connect' });
    const { key } = await issue(keyring);
    const principal = await keyring.verify(key);
    const foreign = await tokenFor(principal, 'https://other.example/mcp');
    events.length = 0;
    for (const credential of [foreign, 'a.b.c', `${key}x`])
      expect((await refused(await gate(post(credential, LIST)))).status).toBe(401);
    expect(events).toMatchObject([
      {
        type: 'access.denied',
        operation: 'connect',
        code: 'invalid_token',
        reason: 'token_refused',
      },
      {
        type: 'access.denied',
        operation: 'connect',
        code: 'invalid_token',
        reason: 'token_refused',
      },
      {
        type: 'access.denied',
        operation: 'connect',
        code: 'invalid_token',
        reason: 'malformed_key',
      },
    ]);
  });

  it.each([undefined, 'connect'] as const)(
    'gives the keyring the header as it came, once, and never a foreign token (operation: %s)',
    async (operation) => {
      const verified: unknown[] = [];
      const lax: TokenVerifier = {
        verify: async (token) => {
          verified.push(token);
          return principal;
        },
      };
      const { keyring, events, store } = setUp({ tokens: lax });
      const { key } = await issue(keyring);
      const principal = await keyring.verify(key);
      const asked: unknown[] = [];
      const watched: McpKeyring = {
        authenticate(request) {
          asked.push(request);
          return keyring.authenticate(request);
        },
        admit(request, input) {
          if (typeof request !== 'function') asked.push(request);
          return keyring.admit(request, input);
        },
      };
      const { gate } = door({ operation, keyring: watched }, { store });
      const foreign = await tokenFor(principal, 'https://other.example/mcp');
      const denied = {
        type: 'access.denied',
        time: START,
        keyId: null,
        entityUuid: null,
        operation: 'connect',
        code: 'invalid_token',
        reason: 'token_refused',
      };
      for (const token of [foreign, '.', 'a.b.c']) {
        events.length = 0;
        expect((await refused(await gate(post(token, call('listThreats'))))).status).toBe(401);
        expect(events).toEqual(operation === undefined ? [] : [denied]);
      }
      expect(asked).toEqual([]);
      expect(verified).toEqual([]);

      const own = await tokenFor(principal);
      for (const token of [own, key]) {
        asked.length = 0;
        entered(await gate(post(token, [call('whoami'), call('listThreats')])));
        expect(asked).toEqual([`Bearer ${token}`]);
      }
      expect(verified).toEqual([own]);
      const headers = { authorization: `Bearer ${key}, Bearer ${key}` };
      asked.length = 0;
      expect((await refused(await gate(post(null, LIST, headers)))).status).toBe(400);
      expect(asked).toEqual([headers.authorization]);
    },
  );

  it('asks of everybody the scopes of the operation that coming in is', async () => {
    const { gate, keyring } = door({ operation: 'listUsers' });
    const { key } = await issue(keyring);
    for (const body of [LIST, call('listThreats')]) {
      const { status, challenge: header } = await refused(await gate(post(key, body)));
      expect({ status, header }).toEqual({
        status: 403,
        header: challenge('error="insufficient_scope", scope="users:read", '),
      });
    }
  });

  it('refuses a batch whole where one call is denied', async () => {
    const { gate, keyring } = door();
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

  it('looks at no more than 100 messages, and looks no key up for the others', async () => {
    let asked = 0;
    const store = wrap(memoryStore(), (method, _args, act) => {
      if (method === 'findByDigest') asked++;
      return act();
    });
    const { gate, keyring } = door({}, { store });
    const { key } = await issue(keyring);
    const many = (n: number) => Array.from({ length: n }, (_, i) => call('whoami', {}, i));
    expect((await refused(await gate(post(key, many(101))))).status).toBe(400);
    expect(asked).toBe(1);
    entered(await gate(post(key, many(100))));
  });

  it('leaves to the SDK what is no call of a known tool', async () => {
    const { gate, keyring, events } = door();
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
    for (const body of bodies)
      expect(entered(await gate(post(key, body))).parsedBody).toEqual(body);
    expect(events).toHaveLength(1);
  });

  it.each(['no json', '{"a":', '', null])(
    'answers %j with 400: it is no JSON, and the SDK cannot read it again',
    async (body) => {
      const { gate, keyring } = door();
      const { key } = await issue(keyring);
      const headers = { authorization: `Bearer ${key}` };
      const seen = await refused(
        await gate(new Request(RESOURCE, { method: 'POST', headers, body })),
      );
      expect(seen).toMatchObject({ status: 400, challenge: null });
      expect(JSON.parse(seen.body).detail).toMatch(/^Send one JSON-RPC message/);
    },
  );

  it('leaves the body of what is no POST alone: it carries no message', async () => {
    const { gate, keyring, events } = door();
    const { key } = await issue(keyring);
    const init = {
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(call('listUsers')),
    };
    const request = new Request(RESOURCE, { method: 'PUT', ...init });
    expect(entered(await gate(request)).parsedBody).toBeUndefined();
    expect(await request.json()).toEqual(call('listUsers'));
    expect(events).toHaveLength(1);
  });

  it('reads a body as the SDKs do, whatever type it claims, and whether it says how long it is', async () => {
    const { gate, keyring } = door();
    const { key } = await issue(keyring);
    const text = JSON.stringify(call('listUsers'));
    for (const body of [
      `\uFEFF${text}`,
      ` \r\n\t${text}`,
      text.replace('"tools/call"', '"tools/list","method":"tools/\\u0063all"'),
    ]) {
      const length = String(new TextEncoder().encode(body).length);
      for (const headers of [{}, { 'content-type': 'text/plain' }, { 'content-length': length }]) {
        expect((await refused(await gate(post(key, body, headers)))).status).toBe(403);
      }
    }
  });

  type Chunks = (n: number) => Uint8Array | undefined;
  const streamed = (key: string | null, chunks: Chunks, more: Record<string, string> = {}) => {
    const seen = { sent: 0, cancelled: false };
    const body = new ReadableStream(
      {
        pull(controller) {
          const chunk = chunks(seen.sent++);
          if (chunk === undefined) controller.close();
          else controller.enqueue(chunk);
        },
        cancel() {
          seen.cancelled = true;
        },
      },
      { highWaterMark: 0 },
    ); // Nothing is asked for ahead.
    const headers: Record<string, string> =
      key === null ? more : { authorization: `Bearer ${key}`, ...more };
    return {
      seen,
      request: new Request(RESOURCE, { method: 'POST', headers, body, ...{ duplex: 'half' } }),
    };
  };

  it('reads no body of a stranger', async () => {
    const { gate } = door();
    const { seen, request } = streamed(null, () => new Uint8Array(1000));
    expect((await refused(await gate(request))).status).toBe(401);
    expect(seen.sent).toBe(0);
  });

  it('reads so many bytes and no more, over any number of chunks', async () => {
    const { gate, keyring } = door({ maxBodyBytes: 300 });
    const { key } = await issue(keyring);
    const text = JSON.stringify(call('listThreats', { note: 'ü' })).padEnd(299); // ü is two bytes
    const bytes = new TextEncoder().encode(text);
    expect(bytes.length).toBe(300);
    const exact = streamed(key, (n) => (n < 300 ? bytes.subarray(n, n + 1) : undefined));
    expect(entered(await gate(exact.request)).parsedBody).toEqual(
      call('listThreats', { note: 'ü' }),
    );
    expect((await refused(await gate(post(key, `${text} `)))).status).toBe(413);
    const endless = streamed(key, () => new Uint8Array(100).fill(32));
    expect((await refused(await gate(endless.request))).status).toBe(413);
    expect(endless.seen.cancelled).toBe(true);
    expect(endless.seen.sent).toBeLessThan(10);
  });

  it('believes a length that a server holds its sender to, and no other', async () => {
    const { gate, keyring } = door({ maxBodyBytes: 300 });
    const { key } = await issue(keyring);
    const long: Chunks = (n) => (n < 50 ? new Uint8Array(100).fill(32) : undefined);
    for (const headers of [
      { 'content-length': '301' },
      { 'content-length': '' },
      { 'content-length': 'x' },
      { 'content-length': '5', 'transfer-encoding': 'chunked' },
      { 'content-length': '5', 'content-encoding': 'gzip' },
    ]) {
      const { seen, request } = streamed(key, long, headers);
      expect((await refused(await gate(request))).status).toBe(413);
      expect(seen.sent).toBeLessThan(10);
    }
    const bytes = new TextEncoder().encode(
      JSON.stringify(call('listThreats', { note: 'ü' })).padEnd(299),
    );
    const chunks: Chunks = (n) => (n < 3 ? bytes.subarray(n * 100, (n + 1) * 100) : undefined);
    const { request } = streamed(key, chunks, { 'content-length': '300' });
    expect(entered(await gate(request)).parsedBody).toEqual(call('listThreats', { note: 'ü' }));
    expect(request.bodyUsed).toBe(true);
  });

  it.each([{}, { 'content-length': '100' }])(
    'rejects where the body breaks off: nothing was judged (%j)',
    async (headers) => {
      const { gate, keyring } = door();
      const { key } = await issue(keyring);
      const { request } = streamed(
        key,
        () => {
          throw new Error('the client went away');
        },
        headers,
      );
      await expect(gate(request)).rejects.toThrow('the client went away');
    },
  );

  it.each([undefined, 'connect'] as const)(
    'looks a credential up once, however many calls a batch has (operation: %s)',
    async (operation) => {
      const { store, calls } = recording(memoryStore());
      const { gate, keyring, events } = door({ operation }, { store });
      const { key } = await issue(keyring);
      const token = await tokenFor(await keyring.verify(key));
      const batch = Array.from({ length: 100 }, (_, i) => call('listThreats', {}, i));
      for (const [credential, lookUp] of [
        [key, 'findByDigest'],
        [token, 'findById'],
      ] as const) {
        calls.length = 0;
        events.length = 0;
        entered(await gate(post(credential, batch)));
        expect(calls).toEqual([lookUp]);
        const entering = operation === undefined ? [] : [operation];
        const operations = [...entering, ...batch.map(() => 'listThreats')];
        expect(events).toMatchObject(
          operations.map((name) => ({ type: 'access.granted', operation: name })),
        );
      }
    },
  );

  it('answers 503 if the store breaks, or the clock between the door and the call', async () => {
    let storeIsUp = true;
    let clockIsUp = true;
    const store = wrap(memoryStore(), (method, _args, act) => {
      if (method === 'findByDigest' && !storeIsUp) throw new Error('the database is away');
      return act();
    });
    const now = () => {
      if (!clockIsUp) throw new Error('the clock has stopped');
      return START;
    };
    const told: unknown[] = [];
    // A listener that throws changes no answer.
    const onOutage = async (error: StoreError) => {
      told.push(error.cause);
      throw new Error('the log is away');
    };
    // Asked once the caller is known, and before the call is admitted.
    const sessionOwner = () => {
      clockIsUp = false;
      return info.keyId;
    };
    const { gate, keyring, events } = door({ onOutage, sessionOwner }, { store, now });
    const { key, info } = await issue(keyring);
    const ask = (headers = {}) => gate(post(key, call('listThreats'), headers));
    const outages = [
      async () => {
        storeIsUp = false;
        return ask();
      },
      async () => {
        storeIsUp = true;
        return ask({ 'mcp-session-id': 's' });
      },
    ];
    for (const outage of outages) {
      const answer = await outage();
      expect(answer instanceof Response && answer.headers.get('retry-after')).toBe('1');
      expect(await refused(answer)).toMatchObject({ status: 503, challenge: null });
    }
    expect(clockIsUp).toBe(false);
    expect(told).toEqual([new Error('the database is away'), new Error('the clock has stopped')]);
    expect(events.slice(1)).toMatchObject([{ operation: 'listThreats', code: 'store_error' }]);
    await gate(post('acme_x', call('listThreats')));
    expect(told).toHaveLength(2);
  });

  it('refuses a key from the next request on, if it is revoked during one', async () => {
    const { gate, keyring } = door({
      sessionOwner: async () => {
        await keyring.revoke(info.keyId, AUTHORITY);
        return info.keyId;
      },
    });
    const { key, info } = await issue(keyring);
    // What this one may do was looked up before; its calls are admitted with that.
    entered(await gate(post(key, call('whoami'), { 'mcp-session-id': 's' })));
    expect(await refused(await gate(post(key, call('whoami'))))).toMatchObject({
      status: 401,
      challenge: challenge('error="invalid_token", '),
    });
  });

  it('lets errors of ours through to whoever reports them', async () => {
    const boom = new TypeError('a bug');
    const keyring = { authenticate: () => Promise.reject(boom), admit: () => Promise.reject(boom) };
    const { gate } = door({ keyring });
    await expect(gate(post('x', LIST))).rejects.toBe(boom);
  });

  it('takes a token for this resource and no other, whatever its verifier says', async () => {
    const { gate, keyring } = door();
    const { key, info } = await issue(keyring);
    const principal = await keyring.verify(key);
    const entry = entered(await gate(post(await tokenFor(principal), call('listThreats'))));
    expect(entry.principal).toMatchObject({ keyId: info.keyId, via: 'jwt' });
    expect(entry.authInfo.resource).toEqual(new URL(RESOURCE));
    for (const aud of [
      'https://api.example.com/',
      'https://other.example.com/mcp',
      [RESOURCE],
      `${RESOURCE}/`,
      null,
    ]) {
      const seen = await refused(
        await gate(post(await tokenFor(principal, aud), call('listThreats'))),
      );
      expect(seen).toMatchObject({ status: 401, challenge: challenge('error="invalid_token", ') });
    }
  });

  it('keeps the tokens for REST out, also where one keyring takes both', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const both = ['https://api.example.com', RESOURCE].map((audience) => {
      const common = { issuer: 'https://issuer.example.com', audience, now: () => START };
      const issuer = createTokenIssuer({ ...common, privateKey, alg: 'ES256', kid: 'k1' });
      const verifier = async () =>
        createTokenVerifier({
          ...common,
          jwks: await issuer.jwks(),
          algorithms: ['ES256'],
          catalog,
        });
      return { issuer, verifier };
    });
    const verifiers = await Promise.all(both.map(({ verifier }) => verifier()));
    const either: TokenVerifier = {
      verify: (token) => Promise.any(verifiers.map((one) => one.verify(token))),
    };
    const { gate, keyring } = door({}, { tokens: either });
    const principal = await keyring.verify((await issue(keyring)).key);
    const [rest, mcp] = await Promise.all(both.map(({ issuer }) => issuer.exchange(principal)));
    for (const token of [rest, mcp]) {
      expect(await keyring.authenticate(`Bearer ${token?.accessToken}`)).toMatchObject({
        via: 'jwt',
      });
    }
    const { authInfo } = entered(await gate(post(String(mcp?.accessToken), call('listThreats'))));
    expect(authInfo).toMatchObject({ resource: new URL(RESOURCE), expiresAt: START / 1000 + 900 });
    expect(
      (await refused(await gate(post(String(rest?.accessToken), call('listThreats'))))).status,
    ).toBe(401);
  });

  it('names no server that a request names', async () => {
    const { gate } = door();
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example',
    };
    const { challenge: header } = await refused(await gate(post(null, LIST, headers)));
    expect(header).toBe(challenge(''));
  });

  it('says where the metadata is, if that is elsewhere', async () => {
    const { gate } = door({ resourceMetadata: 'https://elsewhere.example.com/metadata' });
    const { challenge: header } = await refused(await gate(post(null, LIST)));
    expect(header).toBe(
      'Bearer realm="test", resource_metadata="https://elsewhere.example.com/metadata"',
    );
  });

  it('opens a session to the key that started it alone; its id is no credential', async () => {
    const owners = new Map<string, string>();
    const { gate, keyring } = door({ sessionOwner: async (id) => owners.get(id) });
    const [one, two] = [await issue(keyring), await issue(keyring)];
    owners.set('s1', one.info.keyId);
    const ask = (key: string | null, id: string) =>
      gate(post(key, call('listThreats'), { 'mcp-session-id': id }));
    entered(await ask(one.key, 's1'));
    expect((await refused(await ask(null, 's1'))).status).toBe(401);
    const [foreign, unknown] = [
      await refused(await ask(two.key, 's1')),
      await refused(await ask(two.key, 's2')),
    ];
    expect(foreign).toEqual(unknown);
    expect(foreign.status).toBe(404);
    for (const method of ['GET', 'DELETE']) {
      const headers = { authorization: `Bearer ${two.key}`, 'mcp-session-id': 's1' };
      expect((await refused(await gate(new Request(RESOURCE, { method, headers })))).status).toBe(
        404,
      );
    }
    entered(await gate(post(two.key, call('listThreats'))));
    await keyring.revoke(one.info.keyId, AUTHORITY);
    expect((await refused(await ask(one.key, 's1'))).status).toBe(401);
  });

  // A token without any scope shared the sessions of its key: earlier results could be had again,
  // and the session ended.
  it("opens a session to a token that may do the same, and not to its key, nor the key's to a token", async () => {
    const owners = new Map<string, string>();
    const { gate, keyring } = door({ sessionOwner: (id) => owners.get(id) });
    const input = {
      name: 'n',
      scopes: ['threats:read'],
      expiresAt: 'never',
      accessibleEntities: [OTHER],
    } as const;
    const { key, info } = await keyring.issue(input, { ...AUTHORITY, entities: [OWN, OTHER] });
    const all = await keyring.verify(key);
    const credentials = {
      key,
      all: await tokenFor(all),
      scopeless: await tokenFor({ ...all, scopes: [] }),
      homely: await tokenFor({ ...all, accessibleEntities: [OWN] }),
    };
    const ask = (credential: string, headers = {}) =>
      gate(post(credential, call('whoami'), headers));
    for (const [id, credential] of Object.entries(credentials)) {
      owners.set(id, entered(await ask(credential)).sessionOwner);
    }
    expect(owners.get('key')).toBe(info.keyId);
    for (const [name, credential] of Object.entries(credentials)) {
      for (const id of owners.keys()) {
        const answer = await ask(credential, { 'mcp-session-id': id });
        if (id === name) expect(entered(answer).sessionOwner).toBe(owners.get(id));
        else expect([name, id, (await refused(answer)).status]).toEqual([name, id, 404]);
      }
    }
  });

  it('opens a session to a token with the same entities in another order', async () => {
    const { gate, keyring } = door({}, { checkParent: false });
    const input = {
      name: 'n',
      scopes: ['threats:read'],
      expiresAt: 'never',
      accessibleEntities: [OTHER],
    } as const;
    const { key } = await keyring.issue(input, { ...AUTHORITY, entities: [OWN, OTHER] });
    const all = await keyring.verify(key);
    const [one, two] = await Promise.all(
      [
        [OWN, OTHER],
        [OTHER, OWN],
      ].map(async (accessibleEntities) => {
        const token = await tokenFor({ ...all, accessibleEntities });
        return entered(await gate(post(token, LIST))).sessionOwner;
      }),
    );
    expect(one).toBe(two);
  });

  it('does not look at session ids where transports are stateless', async () => {
    const { gate, keyring } = door();
    const { key } = await issue(keyring);
    entered(await gate(post(key, LIST, { 'mcp-session-id': 'any' })));
  });

  it('says what to pass where it is given a request that is none', async () => {
    const { gate, keyring, events } = door();
    const { key } = await issue(keyring);
    const raw = {
      method: 'GET',
      headers: { authorization: `Bearer ${key}` },
      rawHeaders: ['Authorization', `Bearer ${key}`],
    };
    for (const odd of [raw, new Headers(), {}, null, undefined]) {
      const asked = gate(untyped<Request>(odd));
      await expect(asked).rejects.toThrow(TypeError);
      await expect(asked).rejects.toThrow(
        /^gate: pass a fetch Request \(.*getRequestListener of @hono\/node-server/,
      );
    }
    expect(events).toHaveLength(1);
  });

  it.each([
    [{ keyring: {} }, /^keyring: /],
    [{ policy: {} }, /^policy: /],
    [{ tools: undefined }, /^tools: /],
    [{ operation: 'nothing' }, /"nothing" is not in the table/],
    [{ realm: 'ü' }, /^realm: /],
    [{ resourceMetadata: 'ü' }, /^resource_metadata: /],
    [{ entityArgument: 5 }, /^entityArgument: /],
    [{ sessionOwner: 'x' }, /^sessionOwner, onOutage: /],
    [{ onOutage: 'x' }, /^sessionOwner, onOutage: /],
    [{ maxBodyBytes: 0 }, /^maxBodyBytes: /],
    [{ maxBytes: 5 }, /^createMcpGate: unknown field "maxBytes"/],
  ])('refuses %j at start-up', (odd, message) => {
    expect(() => door(untyped(odd))).toThrow(message);
  });
});
