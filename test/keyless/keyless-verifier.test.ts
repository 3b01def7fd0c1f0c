/** The steps of a keyless token, in their order, and the tokens that must not pass. */
import { createHmac, createPublicKey } from 'node:crypto';
import type { KeyStore, LiveKey, Trust } from 'keyscope';
import { createKeylessVerifier } from 'keyscope/keyless';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it, vi } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { encode, FIRST, forge, makePair } from '../support/jwt.ts';
import {
  AUDIENCE,
  CI,
  ENTRY,
  ISSUER,
  JOB,
  NOW,
  STRANGER,
  setUpKeyless,
  TRUST,
} from '../support/keyless.ts';
import {
  AUTHORITY,
  denied,
  OTHER,
  OWN,
  recording,
  START,
  stoppedClock,
  storeError,
  untyped,
} from '../support/keyring.ts';

type Claims = Readonly<Record<string, unknown>>;

/** The unsigned texts of a token. */
const unsigned = (header: Claims, payload: Claims) => `${encode(header)}.${encode(payload)}`;

describe('a keyless token', () => {
  it('acts as its key', async () => {
    const { enter, tokenOf, info } = await setUpKeyless();
    expect(await enter(tokenOf())).toEqual({
      keyId: info.keyId,
      name: 'ci',
      entityId: OWN,
      accessibleEntities: [OWN],
      scopes: ['threats:read'],
      metadata: {},
      expiresAt: (NOW + 300) * 1000,
      via: 'keyless',
    });
  });

  it('is taken with a list of one audience, without `kid`, and with any header', async () => {
    const { enter, tokenOf, aud } = await setUpKeyless();
    const x5t = 'AAAA';
    const jwk = STRANGER.publicKey;
    for (const token of [
      tokenOf({ aud: [aud] }),
      tokenOf({}, { kid: undefined }),
      tokenOf({}, { x5t, jwk, jku: 'https://evil.example', x5u: 'x', x5c: ['x'], typ: undefined }),
      tokenOf({ nbf: undefined, scope: 'everything', jti: undefined, sub: undefined }),
    ]) {
      expect((await enter(token)).via).toBe('keyless');
    }
  });

  it('needs no check of the parent to be bound to its key', async () => {
    const { enter, tokenOf, keyring, info } = await setUpKeyless({ checkParent: false });
    await enter(tokenOf());
    await keyring.revoke(info.keyId, AUTHORITY);
    await denied(() => enter(tokenOf()), 'invalid_token', 'revoked');
  });

  it('ends with the key, if that is sooner', async () => {
    const clock = stoppedClock();
    const { keyring, tokens } = await setUpKeyless({ now: clock.now });
    const expiresAt = new Date(START + 60_000);
    const trust = { issuer: ISSUER, claims: { repository_id: '123' } };
    const input = { name: 'x', scopes: [], expiresAt, trust };
    const { info } = await keyring.issueKeyless(input, AUTHORITY);
    const aud = `${AUDIENCE}#${info.keyId}`;
    const token = forge(CI, {}, { ...JOB, aud });
    expect(tokens.recognizes(token)).toBe(true);
    expect((await keyring.authenticate(`Bearer ${token}`)).expiresAt).toBe(START + 60_000);
    clock.advance(60_000);
    await denied(() => keyring.authenticate(`Bearer ${token}`), 'invalid_token', 'expired');
  });
});

// ── Refused before any look-up ───────────────────────────────────────────────────────────────────

const KEY = '0f0f0f0f-0000-4000-8000-00000000000f';

/** Steps 1 to 3: [what, claims, header]. */
const UNREAD: readonly (readonly [string, (aud: string) => Claims, Claims])[] = [
  ['no audience', () => ({ aud: undefined }), {}],
  ['an audience without a key', () => ({ aud: AUDIENCE }), {}],
  ['an audience with an empty key', () => ({ aud: `${AUDIENCE}#` }), {}],
  ['the audience of another service', () => ({ aud: `https://other.example#${KEY}` }), {}],
  ['a longer audience', () => ({ aud: `${AUDIENCE}/#${KEY}` }), {}],
  ['two fragments', (aud) => ({ aud: `${aud}#${KEY}` }), {}],
  ['a key id in upper case', (aud) => ({ aud: aud.toUpperCase() }), {}],
  ['two audiences', (aud) => ({ aud: [aud, AUDIENCE] }), {}],
  ['two audiences, one of them null', (aud) => ({ aud: [aud, null] }), {}],
  ['a nested audience', (aud) => ({ aud: [[aud]] }), {}],
  ['an audience that is an object', (aud) => ({ aud: { toString: aud } }), {}],
  ['a number as audience', () => ({ aud: 1 }), {}],
  ['no issuer', () => ({ iss: undefined }), {}],
  ['another issuer', () => ({ iss: 'https://other.example' }), {}],
  ['a longer issuer', () => ({ iss: `${ISSUER}/` }), {}],
  ['a shorter issuer', () => ({ iss: ISSUER.slice(0, -1) }), {}],
  ['an issuer in another case', () => ({ iss: ISSUER.toUpperCase() }), {}],
  ['a list of an issuer', () => ({ iss: [ISSUER] }), {}],
  ['the name of a property as issuer', () => ({ iss: '__proto__' }), {}],
  ['crit', () => ({}), { crit: ['exp'] }],
  ['b64', () => ({}), { b64: true }],
];

describe('before it costs anything, a keyless token is refused', () => {
  it.each(UNREAD)('with %s', async (_what, claims, header) => {
    const { store, calls } = recording(memoryStore());
    const { enter, tokenOf, aud } = await setUpKeyless({ store });
    calls.length = 0;
    await denied(() => enter(tokenOf(claims(aud), header)), 'invalid_token', 'token_refused');
    expect(calls).toEqual([]);
  });

  it.each([
    ['padding', (token: string) => `${token}=`],
    ['a space', (token: string) => `${token} `],
    ['a second form of its last character', (token: string) => `${token.slice(0, -1)}_`],
    ['two parts', (token: string) => token.split('.').slice(0, 2).join('.')],
    ['four parts', (token: string) => `${token}.x`],
    ['more than 16 KiB', (token: string) => `${token}${'A'.repeat(16_384)}`],
    ['a header that is not JSON', (token: string) => `AAAA${token.slice(token.indexOf('.'))}`],
    ['claims that are a list', (token: string) => token.replace(/\.[^.]+/, `.${encode([1])}`)],
  ])('with %s', async (_what, change) => {
    const { store, calls } = recording(memoryStore());
    const { tokens, tokenOf } = await setUpKeyless({ store });
    calls.length = 0;
    const tools = { findLive: () => Promise.reject(new Error('was looked up')) };
    const verify = () => tokens.verify(change(tokenOf()), tools);
    await denied(verify, 'invalid_token', 'token_refused');
    expect(calls).toEqual([]);
  });
});

// ── Refused by the record ────────────────────────────────────────────────────────────────────────

const UNTRUSTED: readonly (readonly [string, Claims, Trust['claims']])[] = [
  ['another repository', { repository_id: '124' }, TRUST.claims],
  ['a number for a text', { repository_id: 123 }, TRUST.claims],
  ['a list with the value', { repository_id: ['123'] }, TRUST.claims],
  ['no such claim', { repository_id: undefined }, TRUST.claims],
  ['white space after the value', { ref: 'refs/heads/main ' }, TRUST.claims],
  ['another case', { ref: 'refs/heads/Main' }, TRUST.claims],
  ['a tag of the same name', { ref: 'refs/tags/main' }, TRUST.claims],
  ['a pull request', { ref: 'refs/pull/1/merge' }, TRUST.claims],
  ['an encoded slash', { ref: 'refs%2Fheads%2Fmain' }, TRUST.claims],
  ['another form of a letter', { ref: 'caf\u0065\u0301' }, { repository_id: '123', ref: 'café' }],
  ['none of the listed values', { ref: 'c' }, { repository_id: '123', ref: ['a', 'b'] }],
  ['all of the listed values', { ref: 'a,b' }, { repository_id: '123', ref: ['a', 'b'] }],
  ['a nested claim at the top', { '/owner/id': '1' }, { '/owner/id': '1' }],
  ['a nested claim in a list', { owner: [{ id: '1' }] }, { '/owner/0/id': '1', '/owner/id': '1' }],
  ['an index of a list', { owner: ['1'] }, { '/owner/0': '1', repository_id: '123' }],
  ['a pointer into a text', { owner: '1' }, { '/owner/length': '1', repository_id: '123' }],
  ['an inherited member', {}, { '/constructor/name': 'Object', repository_id: '123' }],
  ['an inherited claim', {}, { constructor: 'x', repository_id: '123' }],
];

describe('by the sealed trust, a keyless token is refused', () => {
  it.each(UNTRUSTED)('with %s', async (_what, claims, trusted) => {
    const trust = { issuer: ISSUER, claims: trusted };
    const { enter, tokenOf } = await setUpKeyless({ trust });
    await denied(() => enter(tokenOf(claims)), 'invalid_token', 'identity_not_trusted');
  });

  it.each<readonly [string, Claims, Trust['claims']]>([
    ['one of several values', { ref: 'b' }, { repository_id: '123', ref: ['a', 'b'] }],
    ['a nested claim', { owner: { id: '1' } }, { '/owner/id': '1' }],
    ['escapes', { 'a/b': { '~1': '1' } }, { '/a~1b/~01': '1', repository_id: '123' }],
    ['an empty name', { '': { '': '1' } }, { '//': '1', repository_id: '123' }],
    [
      '__proto__',
      JSON.parse('{"__proto__":{"x":"1"}}'),
      { '/__proto__/x': '1', repository_id: '123' },
    ],
    ['two claims', { workflow: 'w' }, { repository_id: '123', workflow: 'w' }],
  ])('but not with %s', async (_what, claims, trusted) => {
    const { enter, tokenOf } = await setUpKeyless({ trust: { issuer: ISSUER, claims: trusted } });
    expect((await enter(tokenOf(claims))).via).toBe('keyless');
  });

  it('with a claim that every object inherits', async () => {
    const trust = { issuer: ISSUER, claims: { repository_id: '123', polluted: 'x' } };
    const { enter, tokenOf } = await setUpKeyless({ trust });
    Object.assign(Object.prototype, { polluted: 'x' });
    try {
      await denied(() => enter(tokenOf()), 'invalid_token', 'identity_not_trusted');
    } finally {
      Reflect.deleteProperty(Object.prototype, 'polluted');
    }
    expect((await enter(tokenOf({ polluted: 'x' }))).via).toBe('keyless');
  });

  it('if it belongs to another issuer of the service, even with the same keys', async () => {
    const other = 'https://ci.example.org';
    const issuers = [ENTRY, { ...ENTRY, issuer: other }];
    const { enter, tokenOf } = await setUpKeyless({ verifier: { issuers } });
    const token = tokenOf({ iss: other });
    await denied(() => enter(token), 'invalid_token', 'identity_not_trusted');
  });

  it('for a key that has a text, and for no key', async () => {
    const { enter, tokenOf, keyring } = await setUpKeyless();
    const { key, info } = await keyring.issue(
      { name: 'x', scopes: [], expiresAt: 'never' },
      AUTHORITY,
    );
    const aud = `${AUDIENCE}#${info.keyId}`;
    await denied(() => enter(tokenOf({ aud })), 'invalid_token', 'identity_not_trusted');
    await denied(
      () => enter(tokenOf({ aud: `${AUDIENCE}#${KEY}` })),
      'invalid_token',
      'unknown_key',
    );
    expect((await keyring.verify(key)).via).toBe('key');
  });

  it('if the service no longer takes the claims for an identity', async () => {
    const store = memoryStore();
    const { info } = await setUpKeyless({ store });
    const verifier = { issuers: [{ ...ENTRY, identifies: ['repository_owner_id'] }] };
    const tokens = createKeylessVerifier({ audience: AUDIENCE, now: () => START, ...verifier });
    const { setUp } = await import('../support/keyring.ts');
    const { keyring } = setUp({ store, tokens });
    const token = forge(CI, {}, { ...JOB, aud: `${AUDIENCE}#${info.keyId}` });
    const enter = () => keyring.authenticate(`Bearer ${token}`);
    await denied(enter, 'invalid_token', 'identity_not_trusted');
  });
});

// ── Refused by algorithm, key and signature ──────────────────────────────────────────────────────

describe('by its signature, a keyless token is refused', () => {
  it.each(['none', 'HS256', 'ES512', 'ES256K', 'rs256', '', null, 1])(
    'with the algorithm %s, before any key is looked for',
    async (alg) => {
      // Keys that cannot be had would be an outage.
      const jwks = new URL('http://127.0.0.1:1/jwks');
      const { enter, tokenOf } = await setUpKeyless({
        verifier: { issuers: [{ ...ENTRY, jwks }] },
      });
      await denied(() => enter(tokenOf({}, { alg })), 'invalid_token', 'token_refused');
    },
  );

  it('with the public key as the secret of HS256, and without a signature', async () => {
    const { enter, aud } = await setUpKeyless();
    const key = createPublicKey({ key: CI.publicKey as never, format: 'jwk' });
    const pem = key.export({ type: 'spki', format: 'pem' });
    const text = unsigned({ alg: 'HS256', kid: 'ci' }, { ...JOB, aud });
    const mac = createHmac('sha256', pem).update(text).digest('base64url');
    const plain = unsigned({ alg: 'RS256', kid: 'ci' }, { ...JOB, aud });
    for (const token of [`${text}.${mac}`, `${plain}.`, `${plain}.AAAA`]) {
      await denied(() => enter(token), 'invalid_token', 'token_refused');
    }
  });

  it("with a stranger's key, and with other claims than those that were signed", async () => {
    const { enter, tokenOf, aud } = await setUpKeyless();
    const signature = tokenOf({ ref: 'refs/heads/x' }).split('.')[2] ?? '';
    const swapped = unsigned({ alg: 'RS256', typ: 'JWT', kid: 'ci' }, { aud, ...JOB });
    for (const token of [tokenOf({}, {}, STRANGER), `${swapped}.${signature}`]) {
      await denied(() => enter(token), 'invalid_token', 'token_refused');
    }
  });

  it.each(['other', '', 'a'.repeat(129), 1, null, ['ci']])('with the kid %j', async (kid) => {
    const { enter, tokenOf } = await setUpKeyless();
    await denied(() => enter(tokenOf({}, { kid })), 'invalid_token', 'token_refused');
  });

  it('if several keys fit and it names none, or two have its name', async () => {
    const second = { ...(await makePair('RS256', 'second')).publicKey };
    const two = { ...ENTRY, jwks: { keys: [CI.publicKey, second, FIRST.publicKey] } };
    const named = await setUpKeyless({ verifier: { issuers: [two] } });
    expect((await named.enter(named.tokenOf())).via).toBe('keyless');
    const nameless = named.tokenOf({}, { kid: undefined });
    await denied(() => named.enter(nameless), 'invalid_token', 'token_refused');
    const alike = { ...ENTRY, jwks: { keys: [CI.publicKey, { ...second, kid: 'ci' }] } };
    const both = await setUpKeyless({ verifier: { issuers: [alike] } });
    await denied(() => both.enter(both.tokenOf()), 'invalid_token', 'token_refused');
  });

  it('but not if the only key that fits has no name', async () => {
    const { kid: _kid, ...nameless } = CI.publicKey;
    const one = { ...ENTRY, jwks: { keys: [nameless, FIRST.publicKey] } };
    const { enter, tokenOf } = await setUpKeyless({ verifier: { issuers: [one] } });
    expect((await enter(tokenOf({}, { kid: 'anything' }))).via).toBe('keyless');
  });
});

// ── Refused by its times ─────────────────────────────────────────────────────────────────────────

describe('by its times, a keyless token is refused', () => {
  it.each<readonly [string, Claims]>([
    ['that ends now', { exp: NOW }],
    ['without an end', { exp: undefined }],
    ['without a beginning', { iat: undefined }],
    ['issued 6 s ahead', { iat: NOW + 6 }],
    ['valid in 6 s', { nbf: NOW + 6 }],
    ['that lives 901 s', { exp: NOW + 901 }],
    ['with a text as end', { exp: String(NOW + 300) }],
    ['with a fraction', { iat: NOW - 0.5 }],
    ['with a text as beginning', { nbf: 'now' }],
    ['with null as beginning', { nbf: null }],
    ['with an end beyond all numbers', { exp: 1e300 }],
  ])('%s', async (_what, claims) => {
    const { enter, tokenOf } = await setUpKeyless();
    await denied(() => enter(tokenOf(claims)), 'invalid_token', 'token_refused');
  });

  it.each<readonly [string, Claims]>([
    ['that ends in a second', { exp: NOW + 1 }],
    ['issued 5 s ahead', { iat: NOW + 5 }],
    ['that lives 900 s', { exp: NOW + 900 }],
  ])('but not %s', async (_what, claims) => {
    const { enter, tokenOf } = await setUpKeyless();
    expect((await enter(tokenOf(claims))).via).toBe('keyless');
  });

  it('if it is older than the newest change of its key', async () => {
    const clock = stoppedClock();
    const { keyring, enter, tokenOf, info } = await setUpKeyless({
      now: clock.now,
      verifier: { now: clock.now },
    });
    const old = tokenOf();
    await keyring.suspend(info.keyId, AUTHORITY);
    await denied(() => enter(old), 'invalid_token', 'suspended');
    clock.advance(1_000);
    await keyring.resume(info.keyId, AUTHORITY);
    await denied(() => enter(old), 'invalid_token', 'token_refused');
    const fresh = tokenOf({ iat: NOW + 1 });
    expect((await enter(fresh)).via).toBe('keyless');
  });

  it('if another entity of its key has withdrawn since', async () => {
    const clock = stoppedClock();
    const options = { now: clock.now, verifier: { now: clock.now } };
    const { keyring, tokens } = await setUpKeyless(options);
    const trust = { issuer: ISSUER, claims: { repository_id: '123' } };
    const input = {
      name: 'x',
      scopes: [],
      expiresAt: 'never',
      accessibleEntities: [OTHER],
      trust,
    } as const;
    const { info } = await keyring.issueKeyless(input, { ...AUTHORITY, entities: [OTHER] });
    const tokenAt = (iat: number) =>
      forge(CI, {}, { ...JOB, iat, aud: `${AUDIENCE}#${info.keyId}` });
    expect(tokens.recognizes(tokenAt(NOW))).toBe(true);
    const enter = (iat: number) => keyring.authenticate(`Bearer ${tokenAt(iat)}`);
    expect((await enter(NOW)).accessibleEntities).toEqual([OWN, OTHER]);
    clock.advance(1_000);
    await keyring.withdraw(info.keyId, { entityId: OTHER });
    await denied(() => enter(NOW), 'invalid_token', 'token_refused');
    expect((await enter(NOW + 1)).accessibleEntities).toEqual([OWN]);
  });
});

// ── Outages ──────────────────────────────────────────────────────────────────────────────────────

describe('a keyless token leads to an outage', () => {
  it('if the store is broken', async () => {
    const inner = memoryStore();
    const { aud } = await setUpKeyless({ store: inner });
    const store: KeyStore = { ...inner, findById: () => Promise.reject(new Error('down')) };
    const { enter, tokenOf } = await setUpKeyless({ store });
    await storeError(() => enter(tokenOf({ aud })));
  });

  it('if its signature waits for a second, and is not checked later', async () => {
    const { enter, tokenOf } = await setUpKeyless({ verifier: { maxVerifications: 1 } });
    // Imports the key.
    await enter(tokenOf());
    let release = (_isSigned: boolean): void => {};
    const hanging = new Promise<boolean>((resolve) => {
      release = resolve;
    });
    const check = vi.spyOn(crypto.subtle, 'verify').mockReturnValue(hanging);
    try {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const first = enter(tokenOf());
      const second = storeError(() => enter(tokenOf({ jti: 'second' })));
      await vi.waitFor(() => expect(check).toHaveBeenCalledTimes(1));
      await vi.advanceTimersByTimeAsync(1_000);
      expect((await second).message).toContain('wait');
      release(true);
      expect((await first).via).toBe('keyless');
      await vi.advanceTimersByTimeAsync(1_000);
      expect(check).toHaveBeenCalledTimes(1);
    } finally {
      vi.useRealTimers();
      check.mockRestore();
    }
  });
});

describe('the principal of a verifier', () => {
  it('ends with the token or with the key, whichever is sooner', async () => {
    const { tokens, tokenOf, info } = await setUpKeyless();
    const live = { ...info, trust: info.trust, changedAt: null };
    for (const expiresAt of [null, START + 1_000, START + 900_000]) {
      const findLive = () => Promise.resolve(untyped<LiveKey>({ ...live, expiresAt }));
      const principal = await tokens.verify(tokenOf(), { findLive });
      const tokenEnds = (NOW + 300) * 1000;
      expect(principal.expiresAt).toBe(Math.min(tokenEnds, expiresAt ?? tokenEnds));
      expect(principal).not.toHaveProperty('trust');
    }
  });
});

// ── Options ──────────────────────────────────────────────────────────────────────────────────────

describe('the options of createKeylessVerifier', () => {
  const options = { audience: AUDIENCE, issuers: [ENTRY] };
  const made = (over: object) => () => createKeylessVerifier(untyped({ ...options, ...over }));
  const withEntry = (over: object) => made({ issuers: [{ ...ENTRY, ...over }] });

  it.each<readonly [string, () => unknown]>([
    ['no options', () => createKeylessVerifier(untyped(undefined))],
    ['an unknown option', made({ audiences: 'x' })],
    ['an empty audience', made({ audience: '' })],
    ['an audience with #', made({ audience: 'a#b' })],
    ['no audience', made({ audience: [] })],
    ['a number as audience', made({ audience: 1 })],
    ['no issuers', made({ issuers: [] })],
    ['one issuer without a list', made({ issuers: ENTRY })],
    ['one issuer twice', made({ issuers: [ENTRY, ENTRY] })],
    ['an unknown field', withEntry({ audience: 'x' })],
    ['http', withEntry({ issuer: 'http://ci.example' })],
    ['a query', withEntry({ issuer: 'https://ci.example/?a' })],
    ['a fragment', withEntry({ issuer: 'https://ci.example/#a' })],
    ['user information', withEntry({ issuer: 'https://me@ci.example' })],
    ['256 characters', withEntry({ issuer: `https://ci.example/${'a'.repeat(237)}` })],
    ['a space', withEntry({ issuer: 'https://ci.example/a b' })],
    ['no algorithm', withEntry({ algorithms: [] })],
    ['HS256', withEntry({ algorithms: ['HS256'] })],
    ['no claim', withEntry({ identifies: [] })],
    ['an empty claim', withEntry({ identifies: [''] })],
    ['no life', withEntry({ maxTtlSeconds: 0 })],
    ['a private key', withEntry({ jwks: { keys: [CI.privateKey] } })],
    ['no fitting key', withEntry({ algorithms: ['ES256'] })],
    ['a text as keys', withEntry({ jwks: 'https://ci.example/jwks' })],
    ['http for keys', withEntry({ jwks: new URL('http://ci.example/jwks') })],
    ['no place', made({ maxVerifications: 0 })],
    ['a text as listener', made({ onError: 'log' })],
  ])('must not be %s', (_what, make) => {
    expect(complaint(make)).toMatch(/pass|two have|unknown field|private|fits|wait|name/);
    expect(make).toThrow(TypeError);
  });

  it('may be several audiences', async () => {
    const verifier = { audience: ['https://a.example', AUDIENCE] };
    const { enter, tokenOf } = await setUpKeyless({ verifier });
    expect((await enter(tokenOf())).via).toBe('keyless');
  });
});
