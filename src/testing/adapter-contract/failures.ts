/** Tests that no failure lets anybody in: an outage is 503, a bug is an error and no denial. */
import { check } from '../assertions.js';
import type { AdapterFixture } from './contract-client.js';
import { OUTAGE } from './denials.js';
import { bearer } from './http-exchange.js';
import { assertDenied, assertFailure, assertLetIn } from './request-assertions.js';
import { DRIVER_TEXT, OTHER, OWN } from './service.js';

/**
 * Breaks the store, and its driver's error quotes the look-up. The answer must be 503, without that
 * text, and the same key must be let in once the store works again.
 *
 * Catches: an outage reported as a bad key, a driver's text in an answer, requests let in while
 * nobody can check.
 */
export async function deniesWhileStoreIsBroken(fixture: AdapterFixture): Promise<void> {
  const { hooks } = fixture;
  const { key, keyId } = await fixture.issue(['reports:read']);
  const lines = [bearer(key)];
  // Drivers quote parameters in their errors.
  hooks.lookUp = async (digests) => {
    throw new Error(`${DRIVER_TEXT}: ${digests.join()}`);
  };
  for (const path of ['/whoami', '/reports', `/reports?entity=${OTHER}`]) {
    const what = `GET ${path} while the store is broken`;
    await assertDenied(fixture, OUTAGE, { what, path, lines });
  }
  hooks.lookUp = async () => {};
  const what = 'the same key once the store is there again';
  await assertLetIn(fixture, { keyId, entityUuid: OWN }, { what, path: '/reports', lines });
}

/**
 * Lets `admit` reject with values that are not denials: errors, one of which looks like a denial,
 * and values that are not errors. The handler must not run, and the answer must not blame the
 * caller.
 *
 * Catches: every error turned into a denial, and requests let in when the guard itself fails.
 */
export async function failsOnBugs(fixture: AdapterFixture): Promise<void> {
  const { hooks, calls, send } = fixture;
  const { key } = await fixture.issue(['reports:read']);
  const text = 'a bug, put here by the contract of adapters';
  const bugs = [
    new TypeError(text),
    new Error(text),
    Object.assign(new Error(text), { code: 'invalid_token' }),
    text,
    // `if (error)` does not notice this one. `undefined` is left out, because frameworks break on
    // it: Koa never answers, Elysia and h3 crash.
    '',
  ];
  for (const bug of bugs) {
    hooks.admit = () => Promise.reject(bug);
    const what = `an admit that rejects with ${String(bug) || 'an empty text'}`;
    assertFailure(await send('GET', '/reports', bearer(key)), what);
    check(calls.length === 0, `${what}: the handler must not run`);
  }
}

/**
 * Lets a handler throw. It must have run once, and the answer must not be a denial.
 *
 * Catches: a handler inside the guard's own `try`, whose errors become denials or run it a second
 * time.
 */
export async function failsWithItsHandler(fixture: AdapterFixture): Promise<void> {
  const { hooks, calls, send } = fixture;
  const { key } = await fixture.issue(['reports:read']);
  hooks.handler = () => {
    throw new Error('a handler that fails, put here by the contract of adapters');
  };
  assertFailure(await send('GET', '/reports', bearer(key)), 'a handler that throws');
  check(calls.length === 1, `a handler that throws must run once, not ${calls.length} times`);
}
