/** The key that signs tokens: its source, its publication and its replacement. */
import type { JSONWebKeySet, JWK } from 'jose';
import { calculateJwkThumbprint, decodeProtectedHeader, exportJWK, generateKeyPair } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createServer } from '../../examples/hono/server.ts';
import { ENTITY, openPlatform } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { folder } from '../support/folder.ts';

const PUBLIC = 'https://deception.example';
const authority = { entityId: ENTITY, scopes: 'all' } as const;
const { file, remove } = folder();

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  vi.unstubAllEnvs();
  remove();
});

/** An instance on the same database, with the signing key from its environment. */
async function start(signingKey: string) {
  vi.stubEnv('PEPPER', 'a pepper of the tests, of 32 bytes and more');
  vi.stubEnv('KEYSCOPE_SIGNING_KEY', signingKey);
  const platform = await openPlatform(file('instances'), { publicUrl: PUBLIC });
  ends.push(() => platform.close());
  const server = createServer(platform);
  const base = await listen(server, 0);
  ends.push(() => stop(server));
  const { origin } = new URL(base);

  async function exchange(key: string): Promise<string> {
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: key,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    });
    const response = await fetch(`${base}/token`, { method: 'POST', body });
    const { access_token: token } = (await response.json()) as { readonly access_token: string };
    return token;
  }

  return {
    exchange,
    publish: async () => (await fetch(`${origin}/.well-known/jwks.json`)).text(),
    statusOf: async (token: string) =>
      (await fetch(`${base}/me`, { headers: { Authorization: `Bearer ${token}` } })).status,
    async issue() {
      const input = { name: 'n', scopes: [], expiresAt: 'never' } as const;
      return (await platform.keyring.issue(input, authority)).key;
    },
  };
}

async function makeKey(): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return JSON.stringify(await exportJWK(privateKey));
}

describe('the signing key', () => {
  it('comes from the environment, and its public part is published', async () => {
    const key = await makeKey();
    const { d, ...part } = JSON.parse(key) as JWK;
    const instance = await start(key);
    const published = JSON.parse(await instance.publish()) as JSONWebKeySet;
    const kid = await calculateJwkThumbprint(part);
    expect(published).toEqual({ keys: [{ ...part, kid, alg: 'ES256', use: 'sig' }] });
    const token = await instance.exchange(await instance.issue());
    expect(decodeProtectedHeader(token).kid).toBe(kid);
    expect(await instance.statusOf(token)).toBe(200);
    expect(JSON.stringify(published)).not.toContain(String(d));
  });

  it('ends its tokens when it is replaced', async () => {
    const first = await start(await makeKey());
    const token = await first.exchange(await first.issue());
    const second = await start(await makeKey());
    expect([await first.statusOf(token), await second.statusOf(token)]).toEqual([200, 401]);
  });

  it('is refused without repeating it if it is malformed', async () => {
    const secret = 'hunter2';
    const error: unknown = await start(secret).catch((reason: unknown) => reason);
    expect(String(error)).toBe(
      'TypeError: KEYSCOPE_SIGNING_KEY is not JSON. Set it to a private JWK for ES256',
    );
    expect(String(error)).not.toContain(secret);
  });
});
