import type { KeyringOptions, KeyStore, Principal, TokenVerifier } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it, vi } from 'vitest';
import { authenticate } from '../../src/core/authenticate.js';
import { type Context, createContext } from '../../src/core/context.js';
import {
  bearer,
  catalog,
  delayed,
  denied,
  issue,
  PEPPER,
  recording,
  rejecting,
  setUp,
} from '../support/keyring.ts';

/** A context over a store with one key, and that key's principal. */
async function prepared(tokens?: TokenVerifier, through: typeof delayed = (store) => store) {
  const { keyring, store } = setUp({ store: memoryStore() });
  const { key, info } = await issue(keyring);
  const principal = await keyring.verify(key);
  const { store: recorded, calls } = recording(through(store));
  const options: KeyringOptions = { prefix: 'acme', catalog, store: recorded, peppers: [PEPPER] };
  const context: Context = createContext({ ...options, tokens });
  return { context, calls, key, keyId: info.keyId, principal };
}

describe('authenticate', () => {
  it('verifies a key synchronously if the store is synchronous', async () => {
    const { context, calls, key, keyId } = await prepared();
    const principal = authenticate(context, bearer(key)) as Principal;
    expect(principal).not.toBeInstanceOf(Promise);
    expect([principal.keyId, principal.via]).toEqual([keyId, 'key']);
    expect(calls).toEqual(['findByDigest']);
  });

  it('returns a promise if the store does', async () => {
    const { context, key, keyId } = await prepared(undefined, delayed);
    const answer = authenticate(context, bearer(key));
    expect(answer).toBeInstanceOf(Promise);
    expect((await answer).keyId).toBe(keyId);
  });

  it('passes only texts with a dot to the verifier of tokens', async () => {
    const verifyToken = vi.fn<TokenVerifier['verify']>();
    const { context, key, keyId, principal } = await prepared({ verify: verifyToken });
    verifyToken.mockResolvedValue(principal);
    expect((await authenticate(context, bearer(key))).via).toBe('key');
    expect(verifyToken).not.toHaveBeenCalled();
    const byToken = await authenticate(context, bearer('a.b.c'));
    expect([byToken.keyId, byToken.via]).toEqual([keyId, 'jwt']);
    expect(verifyToken.mock.calls).toEqual([
      ['a.b.c', { findLive: expect.any(Function) as unknown }],
    ]);
  });

  it('refuses a token as a malformed key without a verifier of tokens', async () => {
    const { context, calls } = await prepared();
    const act = rejecting(() => authenticate(context, bearer('eyJhbGciOiJub25lIn0.e30.')));
    await denied(act, 'invalid_token', 'malformed_key');
    expect(calls).toEqual([]);
  });

  it.each([
    ['no header', undefined, 'missing_credentials', 'no_header'],
    ['no Authorization among the headers', { host: 'x' }, 'missing_credentials', 'no_header'],
    ['another scheme', 'Basic eDp5', 'missing_credentials', 'other_scheme'],
    ['a bare Bearer', 'Bearer', 'invalid_request', 'malformed_header'],
    ['two credentials', ['Bearer a', 'Bearer b'], 'invalid_request', 'malformed_header'],
    ['a quoted key', 'Bearer "acme_x"', 'invalid_request', 'quoted_key'],
    ['a quoted key in a list', [`bearer  'acme_x'`], 'invalid_request', 'quoted_key'],
    ['a key with one quote', 'Bearer acme_x"', 'invalid_request', 'quoted_key'],
    ['an escaped quote', 'Bearer \\"acme_x\\"', 'invalid_request', 'quoted_key'],
    ['a quoted value', '"Bearer acme_x"', 'invalid_request', 'quoted_key'],
    ['parameters of two schemes', 'Digest a="b", Bearer c', 'invalid_request', 'malformed_header'],
    ['a text that is not a key', 'Bearer garbage', 'invalid_token', 'malformed_key'],
  ] as const)('denies %s, and asks no store', async (_what, request, code, reason) => {
    const { context, calls } = await prepared();
    const error = await denied(
      rejecting(() => authenticate(context, request)),
      code,
      reason,
    );
    expect(error.keyId).toBeUndefined();
    expect(calls).toEqual([]);
  });

  describe('authenticate with fresh', () => {
    /** A keyring whose store notes the options of each look-up. */
    async function watched() {
      const inner = memoryStore();
      const { keyring } = setUp({ store: inner });
      const { key } = await issue(keyring);
      const principal = await keyring.verify(key);
      const asked: (readonly [string, boolean | undefined])[] = [];
      const store: KeyStore = {
        ...inner,
        findByDigest: (digests, options) => {
          asked.push(['findByDigest', options?.fresh]);
          return inner.findByDigest(digests);
        },
        findById: (keyId, options) => {
          asked.push(['findById', options?.fresh]);
          return inner.findById(keyId);
        },
      };
      const tokens = { verify: async () => principal };
      return { ...setUp({ store, tokens }), key, asked };
    }

    it('bypasses the cache for a key, and only if it is true', async () => {
      const { keyring, key, asked } = await watched();
      await keyring.authenticate(bearer(key), { fresh: true });
      await keyring.authenticate(bearer(key), { fresh: false });
      await keyring.authenticate(bearer(key), {});
      await keyring.authenticate(bearer(key));
      await keyring.verify(key);
      await keyring.admit(bearer(key), { operation: 'list' });
      const usual = [false, undefined, undefined, undefined, undefined];
      expect(asked.map(([method]) => method)).toEqual(Array(6).fill('findByDigest'));
      expect(asked.map(([, fresh]) => fresh)).toEqual([true, ...usual]);
    });

    // The look-up of the key behind a token used the cache anyway.
    it('bypasses the cache for the key behind a token, and only if it is true', async () => {
      const { keyring, asked } = await watched();
      await keyring.authenticate(bearer('a.b.c'), { fresh: true });
      await keyring.authenticate(bearer('a.b.c'));
      await keyring.admit(bearer('a.b.c'), { operation: 'list' });
      const look = (fresh: boolean | undefined) => ['findById', fresh];
      expect(asked).toEqual([look(true), look(undefined), look(undefined)]);
    });
  });

  it('never throws synchronously as a method of a keyring', async () => {
    const { keyring } = setUp();
    const act = () => keyring.authenticate('Bearer');
    await denied(act, 'invalid_request', 'malformed_header');
  });
});
