/** The keys of an issuer at a URL. `test/http/fetched-list.test.ts` has the rules of all lists. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { causeOf } from 'keyscope';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makePair } from '../support/jwt.ts';
import { CI, ENTRY, STRANGER, setUpKeyless } from '../support/keyless.ts';
import { denied, START, storeError } from '../support/keyring.ts';

const NEXT = await makePair('RS256', 'next');
const { kid: _kid, ...NAMELESS } = CI.publicKey;

const servers: Server[] = [];

type Answer = (response: ServerResponse) => void;

const publish =
  (...keys: readonly unknown[]): Answer =>
  (response) =>
    response.end(JSON.stringify({ keys }));

/** A service whose issuer publishes its keys on a server; a test may change the answer. */
async function setUpIssuer(first: Answer) {
  const state = { answer: first, asked: 0 };
  const server = createServer((_request, response) => {
    state.asked += 1;
    state.answer(response);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const errors: unknown[] = [];
  const issuers = [{ ...ENTRY, jwks: new URL(`http://127.0.0.1:${port}/jwks`) }];
  const onError = (error: unknown) => errors.push(error);
  const world = await setUpKeyless({ verifier: { issuers, onError } });
  return { ...world, state, errors };
}

function later(ms: number): void {
  vi.advanceTimersByTime(ms);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'], now: START });
});

afterEach(() => {
  vi.useRealTimers();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

describe('the keys of an issuer', () => {
  it('are fetched once, for any number of tokens', async () => {
    const { enter, tokenOf, state } = await setUpIssuer(publish(CI.publicKey));
    expect(state.asked).toBe(0);
    const tokens = Array.from({ length: 20 }, () => tokenOf());
    const entered = await Promise.all(tokens.map(enter));
    expect(entered.map(({ via }) => via)).toEqual(tokens.map(() => 'keyless'));
    expect(state.asked).toBe(1);
  });

  it('are fetched for no token whose claims or algorithm are wrong', async () => {
    const { enter, tokenOf, state } = await setUpIssuer(publish(CI.publicKey));
    const untrusted = tokenOf({ repository_id: '124' });
    await denied(() => enter(untrusted), 'invalid_token', 'identity_not_trusted');
    await denied(() => enter(tokenOf({}, { alg: 'none' })), 'invalid_token', 'token_refused');
    expect(state.asked).toBe(0);
  });

  it('may change: a new one is fetched after 30 s, and the old one ends', async () => {
    const { enter, tokenOf, state } = await setUpIssuer(publish(CI.publicKey));
    await enter(tokenOf());
    state.answer = publish(NEXT.publicKey);
    const renewed = tokenOf({}, { kid: 'next' }, NEXT);
    later(29_999);
    await denied(() => enter(renewed), 'invalid_token', 'token_refused');
    expect(state.asked).toBe(1);
    later(1);
    expect((await enter(renewed)).via).toBe('keyless');
    expect(state.asked).toBe(2);
    await denied(() => enter(tokenOf()), 'invalid_token', 'token_refused');
    expect(state.asked).toBe(2);
  });

  it('are not fetched again by made-up names', async () => {
    const { enter, tokenOf, state } = await setUpIssuer(publish(CI.publicKey, NEXT.publicKey));
    await enter(tokenOf());
    for (let name = 0; name < 10; name++) {
      const token = tokenOf({}, { kid: `made-up-${name}` });
      await denied(() => enter(token), 'invalid_token', 'token_refused');
    }
    expect(state.asked).toBe(1);
  });

  it.each<readonly [string, readonly unknown[]]>([
    ['has no name', [NAMELESS]],
    ['has no name, among others', [NAMELESS, { kty: 'EC', crv: 'P-256' }, 'x', null]],
    ['is published without its algorithm', [{ ...CI.publicKey, alg: undefined }]],
    ['has odd `key_ops`', [{ ...CI.publicKey, key_ops: ['sign'] }]],
    ['is one of several', [NEXT.publicKey, CI.publicKey]],
  ])('are used if the key %s', async (_what, keys) => {
    const { enter, tokenOf } = await setUpIssuer(publish(...keys));
    expect((await enter(tokenOf())).via).toBe('keyless');
  });

  it.each<readonly [string, readonly unknown[]]>([
    ['are of a stranger', [STRANGER.publicKey]],
    ['are for encryption', [{ ...CI.publicKey, use: 'enc' }]],
    ['have the name twice', [CI.publicKey, STRANGER.publicKey]],
    ['are several without a name', [NAMELESS, { ...NAMELESS, n: NEXT.publicKey.n }]],
    ['were published with their private part', [{ ...CI.privateKey, kid: 'ci' }, NEXT.publicKey]],
    ['are a secret', [{ kty: 'oct', k: 'c2VjcmV0', kid: 'ci' }, NEXT.publicKey]],
  ])('refuse a token if they %s', async (_what, keys) => {
    const { enter, tokenOf, errors } = await setUpIssuer(publish(...keys));
    await denied(() => enter(tokenOf()), 'invalid_token', 'token_refused');
    expect(errors).toEqual([]);
  });
});

describe('keys that cannot be had', () => {
  it.each<readonly [string, Answer]>([
    ['an error', (response) => response.writeHead(500).end()],
    ['a redirect', (response) => response.writeHead(302, { location: '/x' }).end()],
    ['another shape', (response) => response.end('{"keys":{}}')],
    ['a list', (response) => response.end('[]')],
    ['no keys', publish()],
    ['only private keys', publish({ ...CI.privateKey, kid: 'ci' })],
    ['a megabyte', (response) => response.end(`{"keys":["${'x'.repeat(1_000_000)}"]}`)],
    ['a closed connection', (response) => response.destroy()],
  ])(
    'with %s are an outage, with one report and no other attempt for 5 s',
    async (_what, answer) => {
      const { enter, tokenOf, state, errors } = await setUpIssuer(answer);
      await storeError(() => enter(tokenOf()));
      const { asked } = state;
      await storeError(() => enter(tokenOf()));
      expect([errors.length, state.asked]).toEqual([1, asked]);
      state.answer = publish(CI.publicKey);
      later(5_000);
      expect((await enter(tokenOf())).via).toBe('keyless');
    },
  );

  it('are tried once more, because a connection may have been closed', async () => {
    const { enter, tokenOf, state, errors } = await setUpIssuer((response) => {
      state.answer = publish(CI.publicKey);
      response.destroy();
    });
    expect((await enter(tokenOf())).via).toBe('keyless');
    expect([errors, state.asked]).toEqual([[], 2]);
  });

  it('because the issuer hangs are an outage for its tokens alone', async () => {
    const { enter, tokenOf, keyring, state } = await setUpIssuer(() => {});
    const waiting = storeError(() => enter(tokenOf()));
    await vi.waitFor(() => expect(state.asked).toBe(1));
    const { key } = await keyring.issue(
      { name: 'x', scopes: [], expiresAt: 'never' },
      { entityId: '0a0a0a0a-0000-4000-8000-00000000000a', scopes: [] },
    );
    expect((await keyring.verify(key)).via).toBe('key');
    await vi.advanceTimersByTimeAsync(5_000);
    expect((await waiting).message).toMatch(/in time|within/);
  });

  it('because they cannot be imported are an outage', async () => {
    const broken = { ...CI.publicKey, n: '*'.repeat(342) };
    const { enter, tokenOf } = await setUpIssuer(publish(broken));
    const error = await storeError(() => enter(tokenOf()));
    expect(causeOf(error)).toBeInstanceOf(Error);
  });
});
