/** Tokens for this and other resources. */
import { generateKeyPair } from 'jose';
import type { TokenVerifier } from 'keyscope';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { createMcpVerifier } from 'keyscope/mcp';
import { describe, expect, it } from 'vitest';
import { catalog, issue, START, setUp } from '../support/keyring.ts';
import {
  call,
  challenge,
  entered,
  post,
  RESOURCE,
  refused,
  setUpGate,
  tokenFor,
} from '../support/mcp.ts';

/** A key id whose spelling in upper case differs. */
const LETTERS = '0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee';

describe('requireAudience', () => {
  it('reads the audience in every base64url encoding', async () => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issue(keyring)).key);
    const made: string[] = [];
    for (const path of ['~', 'a~', 'aa~']) {
      const resource = `https://api.example.com/${path}`;
      const parts = [{}, { aud: resource, jti: '?' }, {}].map((part) =>
        Buffer.from(JSON.stringify(part)),
      );
      const token = parts.map((part) => part.toString('base64url')).join('.');
      const verifier = createMcpVerifier({
        keyring: { authenticate: async () => principal },
        resource,
        invalidToken: (message) => new Error(message),
      });
      expect((await verifier.verifyAccessToken(token)).clientId).toBe(principal.keyId);
      made.push(token);
    }
    // Both characters that differ between base64 and base64url.
    expect(made.join()).toMatch(/-.*_|_.*-/);
  });

  it('accepts only tokens for this resource, whatever the verifier accepts', async () => {
    const { gate, keyring } = setUpGate();
    const { key, info } = await issue(keyring);
    const principal = await keyring.verify(key);
    const entry = entered(await gate(post(await tokenFor(principal), call('listThreats'))));
    expect(entry.principal).toMatchObject({ keyId: info.keyId, via: 'jwt' });
    expect(entry.authInfo.resource).toEqual(new URL(RESOURCE));
    const others = [
      'https://api.example.com/',
      'https://other.example.com/mcp',
      [RESOURCE],
      `${RESOURCE}/`,
      null,
    ];
    for (const audience of others) {
      const token = await tokenFor(principal, audience);
      const seen = await refused(await gate(post(token, call('listThreats'))));
      expect(seen).toMatchObject({ status: 401, challenge: challenge('error="invalid_token", ') });
    }
  });

  it('accepts the audience of a keyless token for this resource, as a text or alone', async () => {
    const { gate, keyring } = setUpGate();
    const principal = await keyring.verify((await issue(keyring)).key);
    const audience = `${RESOURCE}#${principal.keyId}`;
    for (const own of [audience, [audience]]) {
      const token = await tokenFor(principal, own);
      const { principal: seen } = entered(await gate(post(token, call('listThreats'))));
      expect(seen.keyId).toBe(principal.keyId);
    }
  });

  it('rejects whatever resembles the audience of a keyless token', async () => {
    const { gate, keyring } = setUpGate();
    const principal = await keyring.verify((await issue(keyring)).key);
    const { keyId } = principal;
    const audience = `${RESOURCE}#${keyId}`;
    const others: unknown[] = [
      `${RESOURCE}#`,
      `${RESOURCE}${keyId}`,
      `${RESOURCE}##${keyId}`,
      `${RESOURCE}#${keyId}#`,
      `${RESOURCE}#${keyId}#${keyId}`,
      `${RESOURCE}#${LETTERS.toUpperCase()}`,
      `${RESOURCE}#${keyId.replaceAll('-', '')}`,
      `${RESOURCE}#${keyId}\n`,
      ` ${audience}`,
      `${RESOURCE}#key`,
      `${RESOURCE}/#${keyId}`,
      `${RESOURCE}?#${keyId}`,
      `${RESOURCE}-other#${keyId}`,
      `https://api.example.com/#${keyId}`,
      `https://api.example.com/mc#${keyId}`,
      `https://other.example.com/mcp#${keyId}`,
      `HTTPS://api.example.com/mcp#${keyId}`,
      // As long as the resource.
      `https://api.example.com/mcq#${keyId}`,
      `#${keyId}`,
      keyId,
      [],
      [RESOURCE],
      [audience, audience],
      [audience, RESOURCE],
      [RESOURCE, audience],
      [[audience]],
      { 0: audience, length: 1 },
    ];
    for (const other of others) {
      const token = await tokenFor(principal, other);
      const { status } = await refused(await gate(post(token, call('listThreats'))));
      expect([other, status]).toEqual([other, 401]);
    }
    // In lower case, the same id is accepted.
    const token = await tokenFor(principal, `${RESOURCE}#${LETTERS}`);
    entered(await gate(post(token, call('listThreats'))));
  });

  it.each(['5', 'null', '"text"', '[]', '{}', '{"aud":5}', 'no json'])(
    'rejects a token whose claims are %s',
    async (claims) => {
      const { keyring } = setUp();
      const principal = await keyring.verify((await issue(keyring)).key);
      const verifier = createMcpVerifier({
        keyring: { authenticate: async () => principal },
        resource: RESOURCE,
        invalidToken: (message) => new Error(message),
      });
      const payload = Buffer.from(claims).toString('base64url');
      await expect(verifier.verifyAccessToken(`a.${payload}.c`)).rejects.toThrow();
    },
  );

  it('rejects tokens for REST, even if one keyring accepts both', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    async function createSide(audience: string) {
      const common = { issuer: 'https://issuer.example.com', audience, now: () => START };
      const issuer = createTokenIssuer({ ...common, privateKey, alg: 'ES256', kid: 'k1' });
      const jwks = await issuer.jwks();
      const verifier = createTokenVerifier({ ...common, jwks, algorithms: ['ES256'], catalog });
      return { issuer, verifier };
    }
    const rest = await createSide('https://api.example.com');
    const mcp = await createSide(RESOURCE);
    const either: TokenVerifier = {
      verify: (token) => Promise.any([rest.verifier.verify(token), mcp.verifier.verify(token)]),
    };
    const { gate, keyring } = setUpGate({}, { tokens: either });
    const principal = await keyring.verify((await issue(keyring)).key);
    const { accessToken: forRest } = await rest.issuer.exchange(principal);
    const { accessToken: forMcp } = await mcp.issuer.exchange(principal);
    for (const token of [forRest, forMcp]) {
      expect(await keyring.authenticate(`Bearer ${token}`)).toMatchObject({ via: 'jwt' });
    }
    const { authInfo } = entered(await gate(post(forMcp, call('listThreats'))));
    expect(authInfo).toMatchObject({ resource: new URL(RESOURCE), expiresAt: START / 1000 + 900 });
    expect((await refused(await gate(post(forRest, call('listThreats'))))).status).toBe(401);
  });
});
