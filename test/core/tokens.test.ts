/** Verifiers of tokens: which of them decides, and the tools that a keyring gives them. */
import { AccessError, type KeyStore, type LiveKey, type TokenVerifier } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { complaint } from '../support/complaint.ts';
import {
  AUTHORITY,
  denied,
  HOUR,
  NOWHERE,
  OTHER,
  OWN,
  PLAIN,
  recording,
  START,
  setUp,
  storeError,
  tampering,
  untyped,
} from '../support/keyring.ts';

const WIDE = { ...AUTHORITY, entities: [OTHER] } as const;

/** A verifier that admits the key that its token names, as `findLive` returns it. */
function finder(seen: LiveKey[], more: object = {}): TokenVerifier {
  return {
    async verify(token, { findLive }) {
      const live = await findLive(token.slice('id.'.length));
      seen.push(live);
      return untyped({ ...live, via: 'keyless', ...more });
    },
    recognizes: (token) => token.startsWith('id.'),
  };
}

async function prepared(inner: KeyStore = memoryStore()) {
  const ring = setUp({ store: inner });
  const input = {
    ...PLAIN,
    accessibleEntities: [OTHER],
    metadata: { team: 'red' },
    expiresAt: new Date(START + HOUR),
  };
  const { key, info } = await ring.keyring.issue(input, WIDE);
  return { ...ring, inner, key, keyId: info.keyId };
}

describe('a list of verifiers', () => {
  const verifier = (prefix: string, asked: string[], more: object = {}): TokenVerifier => ({
    verify: async (token) => {
      asked.push(prefix);
      throw new AccessError('invalid_token', token === 'x' ? 'revoked' : 'expired');
    },
    recognizes: (token) => token.startsWith(prefix),
    ...more,
  });

  it('lets the first that recognizes a token decide, and refuses any other', async () => {
    const asked: string[] = [];
    const tokens = [verifier('a.', asked), verifier('a.b', asked), verifier('c.', asked)];
    const { keyring } = setUp({ tokens });
    await denied(() => keyring.authenticate('Bearer a.b'), 'invalid_token', 'expired');
    await denied(() => keyring.authenticate('Bearer c.b'), 'invalid_token', 'expired');
    await denied(() => keyring.authenticate('Bearer d.b'), 'invalid_token', 'token_refused');
    expect(asked).toEqual(['a.', 'c.']);
  });

  it('accepts only true as recognition', async () => {
    const asked: string[] = [];
    const tokens = ['true', 1, Promise.resolve(true), undefined].map((answer) =>
      verifier('a.', asked, { recognizes: () => answer }),
    );
    const { keyring } = setUp({ tokens });
    await denied(() => keyring.authenticate('Bearer a.b'), 'invalid_token', 'token_refused');
    expect(asked).toEqual([]);
  });

  const asked: string[] = [];
  const named = (issuer: string) => verifier('a.', asked, { issuers: [issuer] });
  const NEEDS = /^tokens: a verifier needs verify, and in a list recognizes$/;
  it.each<readonly [string, unknown, RegExp]>([
    ['is empty', [], /^tokens: the list is empty/],
    ['has a hole', new Array(1), NEEDS],
    ['has no verifier', [{}], NEEDS],
    ['has null', [null], NEEDS],
    ['has one that recognizes nothing', [{ verify: () => {} }], NEEDS],
    [
      'has two with the same issuer',
      [named('https://a.example'), named('https://b.example'), named('https://a.example')],
      /^tokens: two verifiers have one issuer/,
    ],
  ])('is refused if it %s', (_what, tokens, message) => {
    expect(complaint(() => setUp({ tokens: untyped(tokens) }))).toMatch(message);
  });

  it('is optional: a single verifier decides about every token', async () => {
    const { recognizes: _none, ...only } = verifier('a.', asked);
    const { keyring } = setUp({ tokens: only });
    await denied(() => keyring.authenticate('Bearer z.z'), 'invalid_token', 'expired');
  });
});

describe('findLive', () => {
  it('returns the sealed row, plain and frozen, which is not a principal', async () => {
    const { inner, keyId, keyring: owner } = await prepared();
    await owner.withdraw(keyId, { entityId: OTHER });
    const seen: LiveKey[] = [];
    const { keyring } = setUp({ store: inner, tokens: finder(seen) });
    const principal = await keyring.authenticate(`Bearer id.${keyId}`);
    expect(seen).toEqual([
      {
        keyId,
        entityId: OWN,
        accessibleEntities: [OWN],
        scopes: ['threats:read'],
        name: 'ci',
        metadata: { team: 'red' },
        expiresAt: START + HOUR,
        trust: null,
        changedAt: START,
      },
    ]);
    expect(Object.getPrototypeOf(seen[0])).toBe(Object.prototype);
    expect(Object.isFrozen(seen[0])).toBe(true);
    expect(principal).toMatchObject({ keyId, via: 'keyless', accessibleEntities: [OWN] });
  });

  // A verifier that read the store itself judged a different row than the one with the checked
  // seal, so an edited row was admitted.
  it.each([true, false])('is the one look-up of a token (checkParent: %j)', async (checkParent) => {
    const { inner, keyId } = await prepared();
    const { store, calls } = recording(inner);
    const twice: TokenVerifier = {
      verify: async (token, tools) => {
        const first = await tools.findLive(keyId);
        expect(await tools.findLive(keyId)).toBe(first);
        return finder([]).verify(token, tools);
      },
    };
    const { keyring } = setUp({ store, tokens: twice, checkParent });
    await keyring.authenticate(`Bearer id.${keyId}`);
    expect(calls).toEqual(['findById']);
  });

  it('binds a keyless token to its record, also without checkParent', async () => {
    const { inner, keyId } = await prepared();
    const wider = { scopes: ['threats:read', 'users:delete'], accessibleEntities: [OWN, NOWHERE] };
    const tokens = finder([], { ...wider, expiresAt: START + 9 * HOUR });
    const { keyring } = setUp({ store: inner, tokens, checkParent: false });
    expect(await keyring.authenticate(`Bearer id.${keyId}`)).toMatchObject({
      scopes: ['threats:read'],
      accessibleEntities: [OWN],
      expiresAt: START + HOUR,
    });
  });

  it('rejects unless the key would authenticate now', async () => {
    const edits: readonly (readonly [object, string])[] = [
      [{ format: 2 }, 'unknown_format'],
      [{ name: 'other' }, 'record_tampered'],
      [{ trust: '{"subject":"ci"}' }, 'record_tampered'],
      [{ prefix: 'other' }, 'unknown_key'],
      [{ revokedAt: START }, 'revoked'],
      [{ suspendedAt: START }, 'suspended'],
      [{ retireAt: START }, 'retired'],
    ];
    for (const [edit, reason] of edits) {
      const { inner, keyId } = await prepared();
      const store = tampering(inner, (row) => ({ ...row, ...edit }));
      const { keyring } = setUp({ store, tokens: finder([]), checkParent: false });
      const act = () => keyring.authenticate(`Bearer id.${keyId}`);
      await denied(act, 'invalid_token', reason as 'revoked');
    }
    const { inner } = await prepared();
    const { keyring } = setUp({ store: inner, tokens: finder([]) });
    for (const token of [NOWHERE, 'x', '']) {
      const act = () => keyring.authenticate(`Bearer id.${token}`);
      await denied(act, 'invalid_token', 'unknown_key');
    }
  });

  it('is an outage if the store is broken, and passes on `fresh`', async () => {
    const { inner, keyId } = await prepared();
    const asked: unknown[] = [];
    const store: KeyStore = {
      ...inner,
      findById: (id, options) => {
        asked.push(options?.fresh);
        return inner.findById(id, options);
      },
    };
    const { keyring } = setUp({ store, tokens: finder([]) });
    await keyring.authenticate(`Bearer id.${keyId}`, { fresh: true });
    await keyring.authenticate(`Bearer id.${keyId}`);
    expect(asked).toEqual([true, undefined]);
    const down: KeyStore = { ...inner, findById: () => Promise.reject(new Error('down')) };
    const broken = setUp({ store: down, tokens: finder([]) }).keyring;
    await storeError(() => broken.authenticate(`Bearer id.${keyId}`));
  });
});

describe('a key whose text nobody holds', () => {
  it('is refused if a caller presents a text with its digest, and cannot be rotated', async () => {
    const { inner, key, keyId } = await prepared();
    const { keyring } = setUp({ store: inner });
    await keyring.verify(key);
    const trust = '{"subject":"ci"}';
    const { sealOf } = await import('../../src/core/seal.js');
    const { readPeppers } = await import('../../src/core/secret.js');
    const { PEPPER } = await import('../support/keyring.ts');
    const [scheme] = readPeppers([PEPPER], { prefix: 'acme', deployment: '' });
    const store = tampering(inner, (row) => {
      const keyless = { ...row, hint: '', trust };
      return { ...keyless, seal: sealOf(keyless, scheme) };
    });
    const through = setUp({ store, tokens: finder([]) }).keyring;
    await denied(() => through.verify(key), 'invalid_token', 'keyless');
    const rotate = () => through.rotate(keyId, { overlapMs: 0 }, WIDE);
    await denied(rotate, 'conflict', 'keyless');
    expect(await through.get(keyId, AUTHORITY)).toMatchObject({
      state: 'live',
      hint: '',
      trust: { subject: 'ci' },
    });
    // The identities that it trusts may act as the key.
    expect((await through.authenticate(`Bearer id.${keyId}`)).via).toBe('keyless');
  });

  it('never authenticates without a seal', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner, peppers: 'none' });
    const { info } = await keyring.issue(PLAIN, AUTHORITY);
    const store = tampering(inner, (row) => ({ ...row, hint: '', trust: '{"subject":"ci"}' }));
    const through = setUp({ store, peppers: 'none', tokens: finder([]) }).keyring;
    const act = () => through.authenticate(`Bearer id.${info.keyId}`);
    await denied(act, 'invalid_token', 'record_tampered');
    expect(await through.get(info.keyId, AUTHORITY)).toMatchObject({ state: 'damaged' });
  });
});
