/** The conversion of a principal to `AuthInfo` and back. */
import { inspect } from 'node:util';
import type { AuthInfo as AuthInfo1 } from '@modelcontextprotocol/sdk/server/auth/types.js';
import type { AuthInfo as AuthInfo2 } from '@modelcontextprotocol/server';
import type { Principal, TokenVerifier } from 'keyscope';
import { createKeyring, defineScopes } from 'keyscope';
import type { McpAuthInfo } from 'keyscope/mcp';
import { principalOf, toAuthInfo } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { AUTHORITY, catalog, issue, PEPPER, START, setUp, untyped } from '../support/keyring.ts';
import { issueForTwo, RESOURCE, tokenFor, tokens } from '../support/mcp.ts';

describe('toAuthInfo', () => {
  it('returns concrete scopes and an expiry, but no secret and no audience', async () => {
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
    const inspected = inspect(authInfo, { depth: 9, showHidden: true, getters: true });
    const shown = JSON.stringify(authInfo) + inspected;
    expect(shown).not.toContain(key.slice(-32, -16));
    expect(shown).not.toContain(key.slice(-16));
  });

  it('returns a type that both SDKs accept without a cast', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const authInfo = toAuthInfo(await keyring.verify(key), { resource: new URL(RESOURCE) });
    const first: AuthInfo1 = authInfo;
    const second: AuthInfo2 = authInfo;
    expect(principalOf(first)).toBe(principalOf(second));
  });

  it.each([0, 1, 999])('rounds down an expiry %i ms after a full second', async (ms) => {
    const { keyring } = setUp();
    const expiresAt = new Date(START + 60_000 + ms);
    const { key } = await keyring.issue({ name: 'n', scopes: [], expiresAt }, AUTHORITY);
    const authInfo = toAuthInfo(await keyring.verify(key), { resource: RESOURCE });
    expect(authInfo.expiresAt).toBe(START / 1000 + 60);
  });

  it('returns a new object with its own list of scopes each time', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const principal = await keyring.verify(key);
    const one = toAuthInfo(principal, { resource: RESOURCE });
    const two = toAuthInfo(principal, { resource: RESOURCE });
    one.scopes.push('users:delete');
    expect(two.scopes).toEqual(['threats:read']);
    expect(principal.scopes).toEqual(['threats:read']);
    expect(one.extra).not.toBe(two.extra);
  });

  // The SDKs compare scopes literally.
  it('omits scopes that the catalog no longer has', async () => {
    const common = {
      prefix: 'acme',
      store: memoryStore(),
      peppers: [PEPPER],
      now: () => START,
    } as const;
    const old = createKeyring({ ...common, catalog });
    const { key } = await old.issue(
      { name: 'n', scopes: ['threats:read', 'decoys:read'], expiresAt: 'never' },
      AUTHORITY,
    );
    const smaller = defineScopes({ threats: { read: 'List and read threats.' } });
    const keyring = createKeyring({ ...common, catalog: smaller });
    const principal = await keyring.verify(key);
    expect(principal.scopes).toEqual(['threats:read', 'decoys:read']);
    expect(toAuthInfo(principal, { resource: RESOURCE }).scopes).toEqual(['threats:read']);
  });

  it.each(['jwt', 'keyless'] as const)(
    'gives the resource of a token (%s) as a URL',
    async (via) => {
      const verifier: TokenVerifier = {
        verify: async (text, tools) => ({ ...(await tokens.verify(text, tools)), via }),
      };
      const { keyring } = setUp({ tokens: verifier });
      const { key } = await issue(keyring);
      const token = await tokenFor(await keyring.verify(key));
      const principal = await keyring.authenticate(`Bearer ${token}`);
      expect(principal.via).toBe(via);
      const authInfo = toAuthInfo(principal, { resource: RESOURCE });
      expect(authInfo.resource).toEqual(new URL(RESOURCE));
      expect(authInfo.expiresAt).toBe(4e9);
    },
  );

  it.each([
    ['a copy without scopes', (own: Principal) => ({ ...own, scopes: [] }), RESOURCE, {}],
    ['undefined', () => undefined, RESOURCE, {}],
    ['a resource that is not a URL', (own: Principal) => own, 'mcp', {}],
    ['a clock that is not a function', (own: Principal) => own, RESOURCE, { now: 5 }],
  ])('rejects %s', async (_, make, resource, more) => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const principal = untyped<Principal>(make(await keyring.verify(key)));
    expect(() => toAuthInfo(principal, untyped({ resource, ...more }))).toThrow(
      /^(?:principal|resource|now): pass /,
    );
  });
});

describe('principalOf', () => {
  // The SDKs copy one level deep.
  it('returns the principal itself, even from a shallow copy', async () => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issueForTwo(keyring)).key);
    const authInfo = toAuthInfo(principal, { resource: RESOURCE });
    expect(principalOf(authInfo)).toBe(principal);
    expect(principalOf({ ...authInfo })).toBe(principal);
  });

  it.each([
    ['nothing guards the server', undefined],
    ['another verifier guards it', { token: 't', clientId: 'c', scopes: [] }],
    ['`extra` is of another kind', { extra: { principal: 'me' } }],
  ])('explains the missing principal if %s', (_, authInfo) => {
    expect(() => principalOf(untyped(authInfo))).toThrow(
      /^principalOf: no principal\. Put the gate/,
    );
  });

  it('rejects a copy of the principal', async () => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issueForTwo(keyring)).key);
    const authInfo = toAuthInfo(principal, { resource: RESOURCE });
    const parsed = JSON.parse(JSON.stringify(authInfo)) as McpAuthInfo;
    for (const copy of [parsed, structuredClone(authInfo)]) {
      expect(() => principalOf(copy)).toThrow(/^principal: pass one that/);
    }
  });
});
