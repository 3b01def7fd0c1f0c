/** Tests that no failure lets anybody in: an outage is a 503, a bug is a server error. */
import { check } from '../assertions.js';
import type { AdapterFixture } from './contract-client.js';
import { OUTAGE } from './denials.js';
import { bearer } from './http-exchange.js';
import { assertDenied, assertFailure, assertLetIn } from './request-assertions.js';
import { DRIVER_TEXT, OTHER, OWN } from './service.js';

/**
 * Breaks the store with a driver error that quotes the look-up. The answer must be 503 without that
 * text, and the adapter must let the same key in once the store works again.
 *
 * Catches: an outage reported as a bad key, a driver's text in an answer, and letting requests in
 * while the keyring cannot check them.
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
  const what = 'the same key, once the store works again';
  await assertLetIn(fixture, { keyId, entityId: OWN }, { what, path: '/reports', lines });
}

/**
 * Makes `admit` reject with values that are not denials: errors, one of which looks like a denial,
 * and values that are not errors. The handler must not run, and the answer must not blame the
 * caller.
 *
 * Catches: turning every error into a denial, and letting requests in when the guard itself fails.
 */
export async function failsOnBugs(fixture: AdapterFixture): Promise<void> {
  const { hooks, calls, send } = fixture;
  const { key } = await fixture.issue(['reports:read']);
  const text = 'a bug injected by adapterContract';
  const bugs = [
    new TypeError(text),
    new Error(text),
    Object.assign(new Error(text), { code: 'invalid_token' }),
    text,
    // `if (error)` misses this one. `undefined` is not tested, because frameworks break on it: Koa
    // never answers, Elysia and h3 crash.
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
 * Makes a handler throw. It must run once, and the answer must not be a denial.
 *
 * Catches: running the handler inside the guard's own `try`, where its error becomes a denial or
 * runs it again.
 */
export async function failsWithItsHandler(fixture: AdapterFixture): Promise<void> {
  const { hooks, calls, send } = fixture;
  const { key } = await fixture.issue(['reports:read']);
  hooks.handler = () => {
    throw new Error('a handler error injected by adapterContract');
  };
  assertFailure(await send('GET', '/reports', bearer(key)), 'a throwing handler');
  check(calls.length === 1, `a throwing handler must run once, not ${calls.length} times`);
}
