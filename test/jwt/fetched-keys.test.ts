/** A key set at a URL: when it is fetched, and what happens if that fails. */
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
const DAY_MS = 86_400_000;

/** A published key set. */
function setOf(...keys: unknown[]): string {
  return JSON.stringify({ keys });
}

/** Moves both clocks, which measure ages and intervals. */
function later(ms: number): void {
  vi.advanceTimersByTime(ms);
}

/** Sets only the date, forward or back. */
function setClock(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
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
  // Fakes only the clocks, not the timers.
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  // jose aborts a fetch after five seconds of real time, which a busy machine may need.
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => new AbortController().signal);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

describe('a key set at a URL', () => {
  it('is fetched once, for any number of tokens', async () => {
    const { verifier, asked } = await publishUntilDown();
    await Promise.all(Array.from({ length: 20 }, () => verifier.verify(TOKEN)));
    await verifier.verify(TOKEN);
    expect(asked()).toBe(1);
  });

  it('is not fetched again for every made-up kid', async () => {
    const { verifier, asked } = await publishUntilDown();
    await verifier.verify(TOKEN);
    for (let i = 0; i < 20; i++) {
      await expectRefused(verifier, forge(SECOND, { kid: `made-up-${i}` }, CLAIMS));
    }
    expect(asked()).toBe(1);
    await expectAccepted(verifier, TOKEN);
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
  const oversized = JSON.stringify({ keys: [FIRST.publicKey], pad: 'x'.repeat(65_536) });

  it.each<[string, Answer]>([
    ['an error', (response) => response.writeHead(500).end()],
    ['a partial answer', (response) => response.writeHead(206).end(setOf(FIRST.publicKey))],
    [
      'a redirect, which is not followed',
      (response) => response.writeHead(302, { Location: '/good' }).end(),
    ],
    ['invalid JSON', (response) => response.end('<html>')],
    ['another shape', (response) => response.end('[]')],
    ['more than 64 KiB', (response) => response.end(oversized)],
    ['no keys', (response) => response.end(setOf())],
    [
      'a key without kid',
      (response) => response.end(setOf({ ...FIRST.publicKey, kid: undefined })),
    ],
    ['a closed connection', (response) => response.destroy()],
  ])('from %s leads to 503 and no new attempt for 5 s', async (_what, answer) => {
    let down = true;
    const { verifier, asked } = await publish((response, request) => {
      if (down && request.url !== '/good') answer(response, request);
      else response.end(setOf(FIRST.publicKey));
    });
    await storeError(() => verifier.verify(TOKEN));
    await storeError(() => verifier.verify(TOKEN));
    later(4_999);
    down = false;
    await storeError(() => verifier.verify(TOKEN));
    expect(asked()).toBe(1);
    later(1);
    await expectAccepted(verifier, TOKEN);
    expect(asked()).toBe(2);
  });

  it('with a malformed key leads to 503', async () => {
    const { verifier } = await publish((response) =>
      response.end(setOf({ ...FIRST.publicKey, x: 'AAAA' })),
    );
    await storeError(() => verifier.verify(TOKEN));
  });
});

describe('a key set that cannot be fetched again', () => {
  // Regression: a failed fetch gave 401, and was repeated for every token with an unknown kid.
  it('leads to 503 for an unknown kid, with a fetch every 5 s; known keys still work', async () => {
    const { verifier, asked, state } = await publishUntilDown();
    await verifier.verify(TOKEN);
    state.down = true;
    later(31_000);
    for (let i = 0; i < 20; i++) await storeError(() => verifier.verify(OTHER_TOKEN));
    expect(asked()).toBe(2);
    await expectAccepted(verifier, TOKEN);
    later(5_000);
    await storeError(() => verifier.verify(OTHER_TOKEN));
    expect(asked()).toBe(3);
  });

  // Regression: after ten minutes, one token per process waited for the timeout of a slow address.
  it('is fetched in the background after eight minutes, without a delay', async () => {
    let hangs = false;
    let send = () => {};
    const { verifier, asked, nextRequest } = await publish((response) => {
      send = () => response.end(setOf(SECOND.publicKey, FIRST.publicKey));
      if (!hangs) response.end(setOf(FIRST.publicKey));
    });
    await verifier.verify(TOKEN);
    hangs = true;
    later(479_999);
    await expectAccepted(verifier, TOKEN);
    expect(asked()).toBe(1);
    const arrived = nextRequest();
    later(1);
    for (let i = 0; i < 20; i++) await expectAccepted(verifier, TOKEN);
    await arrived;
    expect(asked()).toBe(2);
    // A token with a new key waits for it.
    const waiting = verifier.verify(OTHER_TOKEN);
    send();
    await waiting;
    await expectAccepted(verifier, TOKEN);
    expect(asked()).toBe(2);
  });

  // Regression: one failed refresh after ten minutes gave 503 to every token for five seconds.
  it('stays valid for exactly fifteen minutes', async () => {
    const { verifier, asked, state } = await publishUntilDown();
    await verifier.verify(TOKEN);
    state.down = true;
    later(600_000);
    for (let i = 0; i < 20; i++) await expectAccepted(verifier, TOKEN);
    // An unknown key may be in the set that cannot be fetched.
    await storeError(() => verifier.verify(OTHER_TOKEN));
    await expectRefused(verifier, forge(FIRST, {}, { ...CLAIMS, aud: 'x' }));
    expect(asked()).toBe(2);
    later(299_999);
    await expectAccepted(verifier, TOKEN);
    later(1);
    await storeError(() => verifier.verify(TOKEN));
    expect(asked()).toBe(3);
    state.down = false;
    later(5_000);
    await expectAccepted(verifier, TOKEN);
  });

  // Regression: after ten idle minutes, the first token waited 5 s for a slow address, although its
  // key was known.
  it('stays valid for exactly fifteen idle minutes while a fetch hangs', async () => {
    const errors: unknown[] = [];
    let hangs = false;
    let give = () => {};
    const { verifier, asked, nextRequest } = await publish(
      (response) => {
        give = () => response.destroy();
        if (!hangs) response.end(setOf(FIRST.publicKey));
      },
      (error) => errors.push(error),
    );
    await verifier.verify(TOKEN);
    hangs = true;
    later(899_999);
    const arrived = nextRequest();
    for (let i = 0; i < 20; i++) await expectAccepted(verifier, TOKEN);
    await arrived;
    // A token with an unknown key is never accepted, however long the fetch takes.
    let isSettled = false;
    const unknown = storeError(() => verifier.verify(OTHER_TOKEN)).then(() => {
      isSettled = true;
    });
    await expectAccepted(verifier, TOKEN);
    expect([asked(), isSettled, errors]).toEqual([2, false, []]);
    give();
    await unknown;
    await eventually(async () => errors.length > 0, 'the failure is reported');
    expect(errors.map(isStoreError)).toEqual([true]);
    later(1);
    await storeError(() => verifier.verify(TOKEN));
  });

  it('is fetched in the background every 30 s, with a report of each failure', async () => {
    const errors: unknown[] = [];
    const { verifier, asked, state } = await publishUntilDown((error) => errors.push(error));
    await verifier.verify(TOKEN);
    state.down = true;
    later(480_000);
    for (let round = 1; round <= 3; round++) {
      await expectAccepted(verifier, TOKEN);
      await eventually(async () => errors.length === round, `failure ${round} is reported`);
      later(29_999);
      await expectAccepted(verifier, TOKEN);
      expect(asked()).toBe(1 + round);
      later(1);
    }
    expect(errors.every(isStoreError)).toBe(true);
  });
});

describe('a key set, after a change of the clock', () => {
  // Regression: the keys of a set that was fetched while the clock was a day ahead were accepted
  // for a day after their removal.
  it.each(['while', 'before'])(
    'is fetched again if it arrived %s the clock was ahead, once the clock is right',
    async (when) => {
      let keys = [FIRST.publicKey];
      let onTheWay = () => {};
      const { verifier, asked } = await publish((response) => {
        onTheWay();
        response.end(setOf(...keys));
      });
      // Ahead from the start, or only once the fetch has started.
      if (when === 'while') setClock(DAY_MS);
      else onTheWay = () => setClock(DAY_MS);
      await verifier.verify(TOKEN);
      onTheWay = () => {};
      setClock(-DAY_MS);
      keys = [SECOND.publicKey];
      await expectRefused(verifier, TOKEN);
      await expectAccepted(verifier, OTHER_TOKEN);
      expect(asked()).toBe(2);
    },
  );

  // Regression: the set was dropped, and every token denied until the key server was back.
  it('stays valid for fifteen minutes in total, asleep or awake, if fetches fail', async () => {
    const { verifier, asked, state } = await publishUntilDown();
    await verifier.verify(TOKEN);
    state.down = true;
    later(300_000);
    setClock(-DAY_MS);
    for (let i = 0; i < 20; i++) await expectAccepted(verifier, TOKEN);
    expect(asked()).toBe(2);
    later(599_999);
    await expectAccepted(verifier, TOKEN);
    later(1);
    await storeError(() => verifier.verify(TOKEN));
    // Setting the clock back does not extend the pause after a failure.
    setClock(-DAY_MS);
    state.down = false;
    later(5_000);
    await verifier.verify(TOKEN);
    // While the machine sleeps, only the date advances.
    state.down = true;
    setClock(899_999);
    await expectAccepted(verifier, TOKEN);
    setClock(1);
    await storeError(() => verifier.verify(TOKEN));
  });
});
