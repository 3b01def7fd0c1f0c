/** A verifier with a promise of a key set. */
import { causeOf as driversErrorOf } from 'keyscope';
import { createTokenIssuer, createTokenVerifier, type JwtVerifier } from 'keyscope/jwt';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  ACCEPTING,
  CLAIMS,
  expectAccepted,
  expectRefused,
  FIRST,
  forge,
  SECOND,
  SIGNING,
} from '../support/jwt.ts';
import { storeError, untyped } from '../support/keyring.ts';

const TOKEN = forge(FIRST, {}, CLAIMS);

/** Makes a verifier with any promise. */
function promising(jwks: PromiseLike<unknown>): JwtVerifier {
  return createTokenVerifier({ ...ACCEPTING, jwks: untyped<Promise<{ keys: [] }>>(jwks) });
}

/** Returns the cause of the `StoreError` for a valid token, as text. */
async function reasonOf(verifier: JwtVerifier): Promise<string> {
  const cause = driversErrorOf(await storeError(() => verifier.verify(TOKEN)));
  return cause instanceof Error ? cause.message : '';
}

/** Waits for pending work, including handlers of unhandled rejections. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('a promised key set', () => {
  it('works like a key set', async () => {
    const jwks = createTokenIssuer(SIGNING).jwks();
    const verifier = createTokenVerifier({ ...ACCEPTING, jwks });
    await expectAccepted(verifier, TOKEN);
    await expectRefused(verifier, forge(SECOND, {}, CLAIMS));
  });

  it('is awaited and checked once, even if it is only a thenable', async () => {
    let asked = 0;
    let read = 0;
    const set = {
      get keys() {
        read += 1;
        return [FIRST.publicKey];
      },
    };
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: a thenable is needed here.
      then(resolve: (value: unknown) => void) {
        asked += 1;
        resolve(set);
      },
    };
    const verifier = promising(untyped<PromiseLike<unknown>>(thenable));
    for (let i = 0; i < 3; i++) await expectAccepted(verifier, TOKEN);
    expect({ asked, read }).toEqual({ asked: 1, read: 1 });
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'is a private key',
      async () => ({ keys: [FIRST.privateKey] }),
      /^jwks: a key is private or symmetric/,
    ],
    ['has no keys', async () => ({}), /^jwks: pass \{ keys/],
    [
      'is for another algorithm',
      async () => ({ keys: [SECOND.publicKey] }),
      /^jwks: no key fits the algorithms ES256/,
    ],
    ['is a text', async () => 'https://acme.example/jwks', /^jwks: not a text/],
    ['rejects', () => Promise.reject(new Error('no such file')), /^no such file$/],
    ['rejects with undefined', () => Promise.reject(), /^$/],
  ])('that %s always leads to 503', async (_what, make, message) => {
    const verifier = promising(make());
    // Before the first token, a rejection would be unhandled here.
    await turn();
    for (let i = 0; i < 2; i++) expect(await reasonOf(verifier)).toMatch(message);
    await expectRefused(verifier, 'no token');
  });

  it('that is late is awaited once for 5 s, and used when it arrives', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let come = (_set: unknown): void => {};
    const coming = new Promise((resolve) => {
      come = resolve;
    });
    const verifier = promising(coming);
    expect(vi.getTimerCount()).toBe(0);
    const waiting = Promise.all([reasonOf(verifier), reasonOf(verifier)]);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(4_999);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1);
    for (const cause of await waiting) expect(cause).toMatch(/did not arrive in time$/);
    expect(await reasonOf(verifier)).toMatch(/did not arrive in time$/);
    expect(vi.getTimerCount()).toBe(0);
    come({ keys: [FIRST.publicKey] });
    await turn();
    await expectAccepted(verifier, TOKEN);
  });
});
