/** A key set at a URL. `test/http/fetched-list.test.ts` has the rules of all lists. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isStoreError } from 'keyscope';
import { createTokenVerifier } from 'keyscope/jwt';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  ACCEPTING,
  CLAIMS,
  expectAccepted,
  expectRefused,
  FIRST,
  forge,
  NOW,
  SECOND,
} from '../support/jwt.ts';
import { denied, stoppedClock, storeError } from '../support/keyring.ts';

const TOKEN = forge(FIRST, {}, CLAIMS);
/** A token signed with a key that is not in the set unless a test adds it. */
const OTHER_TOKEN = forge(SECOND, {}, CLAIMS);

/** A published key set. */
function setOf(...keys: unknown[]): string {
  return JSON.stringify({ keys });
}

/** Moves the clocks, by which sets age. */
function later(ms: number): void {
  vi.advanceTimersByTime(ms);
}

function rejects(answer: Promise<unknown>): Promise<boolean> {
  return answer.then(
    () => false,
    () => true,
  );
}

const servers: Server[] = [];

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** Starts a server that answers with `answer` and counts requests, and a verifier with its URL. */
async function publish(answer: Answer, onError?: (error: unknown) => unknown) {
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    answer(response, request);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock = stoppedClock();
  const { port } = server.address() as AddressInfo;
  const verifier = createTokenVerifier({
    ...ACCEPTING,
    jwks: new URL(`http://127.0.0.1:${port}/jwks.json`),
    algorithms: ['ES256', 'EdDSA'],
    now: clock.now,
    onError,
  });
  /** Resolves when the next request arrives. */
  const nextRequest = () => once(server, 'request');
  return { verifier, clock, asked: () => asked, nextRequest };
}

/** Starts a server that publishes the first key until it is down. */
async function publishUntilDown(onError?: (error: unknown) => unknown) {
  const state = { down: false };
  const published = await publish((response) => {
    if (state.down) response.writeHead(500).end();
    else response.end(setOf(FIRST.publicKey));
  }, onError);
  return { ...published, state };
}

beforeEach(() => {
  // With the timers of a time limit, which a busy machine may need.
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

describe('a key set at a URL', () => {
  it('is not fetched again for every made-up kid', async () => {
    const { verifier, asked } = await publishUntilDown();
    await verifier.verify(TOKEN);
    for (let i = 0; i < 20; i++) {
      await expectRefused(verifier, forge(SECOND, { kid: `made-up-${i}` }, CLAIMS));
    }
    expect(asked()).toBe(1);
    await expectAccepted(verifier, TOKEN);
    // Another algorithm for a known kid is refused without a fetch, at any time.
    later(31_000);
    await expectRefused(verifier, forge(SECOND, { kid: 'first' }, CLAIMS));
    expect(asked()).toBe(1);
  });

  it('is not fetched for an invalid header', async () => {
    const { verifier, asked } = await publishUntilDown();
    const headers = [
      { jku: 'https://attacker.example/jwks.json' },
      { kid: undefined },
      { alg: 'none' },
    ];
    for (const header of headers) await expectRefused(verifier, forge(FIRST, header, CLAIMS));
    expect(asked()).toBe(0);
  });

  it('is fetched again for a new kid after 30 s, and replaces the old keys', async () => {
    let keys = [FIRST.publicKey];
    const { verifier, asked } = await publish((response) => response.end(setOf(...keys)));
    await verifier.verify(TOKEN);
    keys = [SECOND.publicKey];
    later(29_000);
    await expectRefused(verifier, OTHER_TOKEN);
    later(2_000);
    await expectAccepted(verifier, OTHER_TOKEN);
    expect(asked()).toBe(2);
    await expectRefused(verifier, TOKEN);
    // A set without keys replaces them too.
    keys = [];
    later(481_000);
    await expectAccepted(verifier, OTHER_TOKEN);
    await eventually(() => rejects(verifier.verify(OTHER_TOKEN)), 'the keys have ended');
    await storeError(() => verifier.verify(OTHER_TOKEN));
    expect(asked()).toBe(3);
  });

  // Regression: a token that expired while the keys were fetched was accepted.
  it('does not let in a token that expires during the fetch', async () => {
    let send = () => {};
    const { verifier, clock, nextRequest } = await publish((response) => {
      send = () => response.end(setOf(FIRST.publicKey));
    });
    const arrived = nextRequest();
    const verifying = verifier.verify(TOKEN);
    await arrived;
    clock.set((NOW + 900) * 1000);
    send();
    await denied(() => verifying, 'invalid_token', 'token_refused');
  });
});

describe('an unusable key set', () => {
  // A fetch that fails is tried twice, but a readable set without a usable key has arrived.
  it.each<[string, number, Answer]>([
    ['an error', 2, (response) => response.writeHead(500).end()],
    ['another shape', 2, (response) => response.end('[]')],
    ['no keys', 1, (response) => response.end(setOf())],
    ['a key that is not an object', 2, (response) => response.end(setOf('first'))],
    [
      'a key without kid',
      1,
      (response) => response.end(setOf({ ...FIRST.publicKey, kid: undefined })),
    ],
    [
      'a key whose kid no token can name',
      1,
      (response) => response.end(setOf({ ...FIRST.publicKey, kid: 'x'.repeat(129) })),
    ],
  ])('with %s leads to 503 after %i requests, and no other for 5 s', async (_, tries, answer) => {
    let down = true;
    const { verifier, asked } = await publish((response, request) => {
      if (down) answer(response, request);
      else response.end(setOf(FIRST.publicKey));
    });
    await storeError(() => verifier.verify(TOKEN));
    down = false;
    later(4_999);
    await storeError(() => verifier.verify(TOKEN));
    expect(asked()).toBe(tries);
    later(1);
    await expectAccepted(verifier, TOKEN);
    expect(asked()).toBe(tries + 1);
  });

  it('with a malformed key leads to 503, for its tokens alone', async () => {
    const { verifier } = await publish((response) =>
      response.end(setOf({ ...FIRST.publicKey, x: 'AAAA' }, SECOND.publicKey)),
    );
    await storeError(() => verifier.verify(TOKEN));
    await expectAccepted(verifier, OTHER_TOKEN);
  });
});

describe('a key set that cannot be fetched again', () => {
  it('stays valid for exactly fifteen minutes, and is fetched again after eight', async () => {
    const errors: unknown[] = [];
    const { verifier, asked, state } = await publishUntilDown((error) => errors.push(error));
    await verifier.verify(TOKEN);
    state.down = true;
    later(479_999);
    await expectAccepted(verifier, TOKEN);
    expect(asked()).toBe(1);
    later(1);
    await expectAccepted(verifier, TOKEN);
    await eventually(async () => errors.length === 1, 'the failure is reported');
    // An unknown key may be in the set that cannot be fetched.
    await storeError(() => verifier.verify(OTHER_TOKEN));
    await expectRefused(verifier, forge(FIRST, {}, { ...CLAIMS, aud: 'x' }));
    // The fetch that failed was tried twice.
    expect([asked(), errors.map(isStoreError)]).toEqual([3, [true]]);
    later(419_999);
    await expectAccepted(verifier, TOKEN);
    later(1);
    await storeError(() => verifier.verify(TOKEN));
    state.down = false;
    later(5_000);
    await expectAccepted(verifier, TOKEN);
  });
});
