/** Another signing key, while tokens of the one before are in use. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { JSONWebKeySet, JWK } from 'jose';
import { decodeProtectedHeader, exportJWK, generateKeyPair } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createServer } from '../../examples/hono/server.ts';
import {
  createServer as createResource,
  createTokens,
} from '../../examples/more/resource-server/server.ts';
import { ENTITY, openPlatform } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { folder } from '../support/folder.ts';
import { NODE_ARGUMENTS } from '../support/store-process.ts';

const PUBLIC = 'https://deception.example';
const authority = { entityUuid: ENTITY, scopes: 'all' } as const;
const { file, remove } = folder();

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  vi.unstubAllEnvs();
  remove();
});

interface Clock {
  ahead: number;
}

/** An instance on the one database, with the keys that its environment names. */
async function start(clock: Clock, signingKey: string, otherKeys = '') {
  vi.stubEnv('KEYSCOPE_PEPPER', 'a pepper of the tests, of 32 bytes and more');
  vi.stubEnv('KEYSCOPE_SIGNING_KEY', signingKey);
  vi.stubEnv('KEYSCOPE_OTHER_KEYS', otherKeys);
  const now = () => Date.now() + clock.ahead;
  const platform = await openPlatform(file('instances'), { publicUrl: PUBLIC, now });
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
    origin,
    exchange,
    publish: async () => (await fetch(`${origin}/.well-known/jwks.json`)).text(),
    statusOf: async (token: string, at = base) =>
      (await fetch(`${at}/me`, { headers: { Authorization: `Bearer ${token}` } })).status,
    async issue() {
      const input = { name: 'n', scopes: [], expiresAt: 'never' } as const;
      return (await platform.keyring.issue(input, authority)).key;
    },
  };
}

/** What the program prints: a private key, and the set of its public part. */
function makeKey(): readonly [signing: string, set: string] {
  const program = 'examples/platform/host/new-signing-key.ts';
  const printed = execFileSync(process.execPath, [...NODE_ARGUMENTS, program], {
    encoding: 'utf8',
  });
  const [signing = '', set = ''] = printed.split('\n');
  return [signing, set];
}

const kidsOf = (set: string) => (JSON.parse(set) as JSONWebKeySet).keys.map(({ kid }) => kid);

const merge = (...sets: readonly string[]): string =>
  JSON.stringify({ keys: sets.flatMap((set) => (JSON.parse(set) as JSONWebKeySet).keys) });

describe('the signing key', () => {
  // With one key in each instance, every change refused all tokens that were in use.
  it('is changed between two instances, and no token is refused', async () => {
    const clock = { ahead: 0 };
    const [oldKey, oldSet] = makeKey();
    const [newKey, newSet] = makeKey();
    const both = merge(oldSet, newSet);

    // 1. The next key is published, and signs nothing.
    const first = await start(clock, oldKey, both);
    const second = await start(clock, oldKey, both);
    const [oldKid] = kidsOf(oldSet);
    const [newKid] = kidsOf(newSet);
    expect(kidsOf(await first.publish())).toEqual([oldKid, newKid]);
    const key = await first.issue();
    const before = await first.exchange(key);
    expect(decodeProtectedHeader(before).kid).toBe(oldKid);

    // 2. One instance after the other signs with it, and the old one stays published.
    const third = await start(clock, newKey, both);
    expect(kidsOf(await third.publish())).toEqual([newKid, oldKid]);
    const after = await third.exchange(key);
    expect(decodeProtectedHeader(after).kid).toBe(newKid);
    for (const instance of [first, second, third])
      expect([await instance.statusOf(before), await instance.statusOf(after)]).toEqual([200, 200]);
    const jwks = new URL(`${third.origin}/.well-known/jwks.json`);
    const tokens = createTokens({ issuer: PUBLIC, audience: `${PUBLIC}/v1`, jwks });
    const behind = createResource(tokens, 'behind');
    const at = await listen(behind, 0);
    ends.push(() => stop(behind));
    expect([await third.statusOf(before, at), await third.statusOf(after, at)]).toEqual([200, 200]);

    // 3. Once its last token has expired, the old one goes.
    clock.ahead = 901_000;
    const last = await start(clock, newKey);
    expect(kidsOf(await last.publish())).toEqual([newKid]);
    expect(await last.statusOf(before)).toBe(401);
    expect(await last.statusOf(await last.exchange(key))).toBe(200);
  });

  it('that goes too early takes its tokens with it', async () => {
    const clock = { ahead: 0 };
    const [oldKey] = makeKey();
    const [newKey] = makeKey();
    const first = await start(clock, oldKey);
    const token = await first.exchange(await first.issue());
    const second = await start(clock, newKey);
    expect([await first.statusOf(token), await second.statusOf(token)]).toEqual([200, 401]);
  });

  const SECRET = 'hunter2';
  it.each([
    ['KEYSCOPE_OTHER_KEYS', SECRET],
    ['KEYSCOPE_OTHER_KEYS', `{"${SECRET}":[]}`],
    ['KEYSCOPE_OTHER_KEYS', `{"keys":[{"kty":"oct","k":"${SECRET}"}]}`],
    ['KEYSCOPE_SIGNING_KEY', SECRET],
  ])('is refused where it is none, and not repeated: %s', async (name, text) => {
    const [key] = makeKey();
    const values = { KEYSCOPE_SIGNING_KEY: key, KEYSCOPE_OTHER_KEYS: '', [name]: text };
    const opening = start({ ahead: 0 }, values.KEYSCOPE_SIGNING_KEY, values.KEYSCOPE_OTHER_KEYS);
    const error: unknown = await opening.catch((reason: unknown) => reason);
    expect(String(error)).toMatch(new RegExp(`^TypeError: ${name}: pass `));
    expect(String(error)).not.toContain(SECRET);
  });

  it('is not published by mistake: the other keys are public ones', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk: JWK = {
      ...(await exportJWK(privateKey)),
      kid: randomUUID(),
      alg: 'ES256',
      use: 'sig',
    };
    const [key] = makeKey();
    const opening = start({ ahead: 0 }, key, JSON.stringify({ keys: [jwk] }));
    await expect(opening).rejects.toThrow('one of them is private or symmetric');
  });
});
