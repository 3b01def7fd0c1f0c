/** The token verifier behind `requireBearerAuth` of both SDKs. */
import { createServer } from 'node:http';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import * as bearer1 from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import type * as provider1 from '@modelcontextprotocol/sdk/server/auth/provider.js';
import type { AuthInfo as AuthInfo1 } from '@modelcontextprotocol/sdk/server/auth/types.js';
import type { OAuthTokenVerifier as Verifier2 } from '@modelcontextprotocol/server';
import {
  OAuthError,
  OAuthErrorCode,
  requireBearerAuth as requireBearerAuth2,
} from '@modelcontextprotocol/server';
import express from 'express';
import { createMcpVerifier, principalOf } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it } from 'vitest';
import { close, listen } from '../examples/http-harness.ts';
import { setUpKeyless } from '../support/keyless.ts';
import {
  AUTHORITY,
  issue,
  OTHER,
  OWN,
  type Ring,
  START,
  setUp,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { issueForTwo, METADATA_URL, RESOURCE, tokenFor, tokens } from '../support/mcp.ts';

const invalidToken1 = (message: string) => new InvalidTokenError(message);
const invalidToken2 = (message: string) => new OAuthError(OAuthErrorCode.InvalidToken, message);

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface Seen {
  readonly status: number;
  readonly challenge: string | null;
  readonly body: string;
  /** The AuthInfo in a handler. */
  readonly authInfo: AuthInfo1 | undefined;
}

type Ask = (authorization: string) => Promise<Seen>;

interface DoorOptions {
  readonly expectedResource?: URL;
}

/** Starts a server of SDK 1.x with `requireBearerAuth`. */
async function start1(keyring: Ring, options: DoorOptions = {}): Promise<Ask> {
  const verifier: provider1.OAuthTokenVerifier = createMcpVerifier({
    keyring,
    resource: RESOURCE,
    invalidToken: invalidToken1,
  });
  let authInfo: AuthInfo1 | undefined;
  const door = bearer1.requireBearerAuth({
    verifier,
    resourceMetadataUrl: METADATA_URL,
    ...options,
  });
  const app = express();
  app.get('/', door, (request, response) => {
    authInfo = request.auth;
    response.send('in');
  });
  const server = createServer(app);
  const port = await listen(server);
  stops.push(() => close(server));
  return async (authorization) => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization } });
    return { ...(await shown(response)), authInfo };
  };
}

/** Starts a server of SDK 2.x with `requireBearerAuth`. */
async function start2(keyring: Ring, options: DoorOptions = {}): Promise<Ask> {
  const verifier: Verifier2 = createMcpVerifier({
    keyring,
    resource: RESOURCE,
    invalidToken: invalidToken2,
  });
  const door = requireBearerAuth2({ verifier, resourceMetadataUrl: METADATA_URL, ...options });
  return async (authorization) => {
    const answer = await door(new Request(RESOURCE, { headers: { authorization } }));
    if (answer instanceof Response) return { ...(await shown(answer)), authInfo: undefined };
    return { status: 200, challenge: null, body: 'in', authInfo: answer };
  };
}

async function shown(response: Response): Promise<Omit<Seen, 'authInfo'>> {
  const { status, headers } = response;
  return { status, challenge: headers.get('www-authenticate'), body: await response.text() };
}

describe.each([
  ['1.x', start1],
  ['2.x', start2],
])('the verifier behind requireBearerAuth of the SDK %s', (_, start) => {
  it('admits a key and gives its principal to the handler', async () => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    const ask = await start(keyring);
    const { status, authInfo } = await ask(`Bearer ${key}`);
    expect(status).toBe(200);
    expect(authInfo).toMatchObject({
      token: `key:${info.keyId}`,
      clientId: info.keyId,
      scopes: ['threats:read'],
    });
    expect(principalOf(authInfo)).toMatchObject({ keyId: info.keyId, via: 'key' });
    expect(JSON.stringify(authInfo)).not.toContain(key.slice(-32, -16));
  });

  it('gives handlers a principal without withdrawn entities', async () => {
    const { keyring } = setUp({ tokens });
    const { key, info } = await issueForTwo(keyring);
    const token = await tokenFor(await keyring.verify(key));
    await keyring.withdraw(info.keyId, { entityId: OTHER });
    const ask = await start(keyring);
    for (const credential of [key, token]) {
      const { status, authInfo } = await ask(`Bearer ${credential}`);
      expect(status).toBe(200);
      expect(principalOf(authInfo).accessibleEntities).toEqual([OWN]);
    }
  });

  it('admits a job without a secret, for this resource alone', async () => {
    // The SDK compares the end of a token with the clock of the machine.
    const { now } = Date;
    const verifier = { audience: RESOURCE, now };
    const { keyring, info, tokenOf } = await setUpKeyless({ now, verifier });
    const ask = await start(keyring);
    const iat = Math.floor(now() / 1000);
    const times = { iat, nbf: iat, exp: iat + 300 };
    const aud = `${RESOURCE}#${info.keyId}`;
    const { status, authInfo } = await ask(`Bearer ${tokenOf({ aud, ...times })}`);
    expect(status).toBe(200);
    expect(authInfo?.resource?.href).toBe(RESOURCE);
    expect(principalOf(authInfo)).toMatchObject({ keyId: info.keyId, via: 'keyless' });
    for (const claims of [{ aud: `${RESOURCE}/x#${info.keyId}` }, { aud, ref: 'refs/heads/x' }]) {
      expect((await ask(`Bearer ${tokenOf({ ...times, ...claims })}`)).status).toBe(401);
    }
  });

  it('denies every bad credential alike and names the metadata', async () => {
    const { keyring, clock } = setUp({ tokens });
    const { key, info } = await issue(keyring);
    const short = await keyring.issue(
      { name: 'n', scopes: [], expiresAt: new Date(START + 10) },
      AUTHORITY,
    );
    const foreign = await tokenFor(await keyring.verify(key), 'https://other.example.com/mcp');
    clock.advance(10);
    await keyring.revoke(info.keyId, AUTHORITY);
    const suspended = await issue(keyring);
    await keyring.suspend(suspended.info.keyId, AUTHORITY);
    const ask = await start(keyring);
    const bad = [
      key,
      suspended.key,
      short.key,
      `${key}x`,
      'x',
      'a,b',
      'é',
      foreign,
      'a.b.c',
      'a.b',
      '.',
    ];
    const seen = await Promise.all(bad.map((token) => ask(`Bearer ${token}`)));
    expect(new Set(seen.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(seen[0]?.status).toBe(401);
    expect(seen[0]?.challenge).toContain('error="invalid_token"');
    expect(seen[0]?.challenge).toContain(`resource_metadata="${METADATA_URL}"`);
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ error: 'invalid_token' });
  });

  it('answers 500 without a challenge if the store is broken', async () => {
    const store = wrap(memoryStore(), (method, _args, act) => {
      if (method === 'findByDigest') throw new Error('the database is away');
      return act();
    });
    const { keyring } = setUp({ store });
    const { key } = await issue(keyring);
    const ask = await start(keyring);
    const { status, challenge, body } = await ask(`Bearer ${key}`);
    expect({ status, challenge }).toEqual({ status: 500, challenge: null });
    expect(body).not.toMatch(/invalid_token|database/);
  });

  it('accepts only tokens for this resource, even if the SDK checks again', async () => {
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
    for (const audience of others) {
      const { status } = await ask(`Bearer ${await tokenFor(principal, audience)}`);
      expect(status).toBe(401);
    }
  });
});

describe('createMcpVerifier', () => {
  it.each([
    ['the class itself', { invalidToken: InvalidTokenError }, /^invalidToken: /],
    ['a function that does not return an error', { invalidToken: () => 'no' }, /^invalidToken: /],
    ['undefined', { invalidToken: undefined }, /^invalidToken: /],
    ['no keyring', { keyring: {} }, /^keyring: /],
    ['an unknown field', { audience: 'x' }, /^createMcpVerifier: unknown field "audience"/],
  ])('rejects %s at start-up', (_, odd, message) => {
    const { keyring } = setUp();
    const good = { keyring, resource: RESOURCE, invalidToken: invalidToken1 };
    expect(() => createMcpVerifier(untyped({ ...good, ...odd }))).toThrow(message);
  });
});
