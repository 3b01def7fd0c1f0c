/** Keyless tokens next to other credentials: edited rows, JWTs of the service, and keys. */
import type { KeyStore } from 'keyscope';
import { authorityFrom } from 'keyscope/admin';
import { cacheStore } from 'keyscope/cache';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { createKeylessVerifier } from 'keyscope/keyless';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { FIRST, forge, SIGNING } from '../support/jwt.ts';
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
  catalog,
  denied,
  HOUR,
  issue,
  OWN,
  START,
  setUp,
  stoppedClock,
  storeError,
  tampering,
} from '../support/keyring.ts';

const now = () => START;

describe('a trust that was edited in the database', () => {
  const edits = [
    JSON.stringify({ claims: { repository_id: '666' }, issuer: ISSUER }),
    `{"claims": {"ref":"refs/heads/main","repository_id":"123"},"issuer":"${ISSUER}"}`,
    '{"claims":{},"issuer":"https://ci.example"}',
    '{}',
    '[]',
    '',
    null,
  ];

  it.each(edits)('admits nobody: %s', async (trust) => {
    const inner = memoryStore();
    const { info, tokens } = await setUpKeyless({ store: inner });
    const edited = tampering(inner, (row) => ({ ...row, trust }));
    const aud = `${AUDIENCE}#${info.keyId}`;
    const cached = cacheStore(edited, { cache: new Map(), maxStalenessMs: 1_000 });
    for (const store of [edited, cached, cached]) {
      const { keyring } = setUp({ store, tokens });
      for (const repository_id of ['666', '123']) {
        const token = forge(CI, {}, { ...JOB, aud, repository_id });
        const enter = () => keyring.authenticate(`Bearer ${token}`);
        await denied(enter, 'invalid_token', 'record_tampered');
      }
    }
  });

  it('is not mixed with the row of another key', async () => {
    const inner = memoryStore();
    const mine = await setUpKeyless({ store: inner });
    const theirs = await setUpKeyless({
      store: inner,
      trust: { ...TRUST, claims: { repository_id: '666' } },
    });
    const swapped: KeyStore = {
      ...inner,
      findById: (_keyId, call) => inner.findById(theirs.info.keyId, call),
    };
    const { keyring } = setUp({ store: swapped, tokens: mine.tokens });
    const token = mine.tokenOf({ repository_id: '666' });
    await storeError(() => keyring.authenticate(`Bearer ${token}`));
  });
});

describe('next to the tokens of the service', () => {
  async function arrange() {
    const jwt = createTokenVerifier({
      issuer: SIGNING.issuer,
      audience: AUDIENCE,
      jwks: { keys: [FIRST.publicKey] },
      algorithms: ['ES256'],
      catalog,
      now,
    });
    const keyless = createKeylessVerifier({ audience: AUDIENCE, issuers: [ENTRY], now });
    const world = await setUpKeyless({ tokens: [jwt, keyless] });
    const issuer = createTokenIssuer({ ...SIGNING, audience: AUDIENCE });
    return { ...world, issuer, jwt, keyless };
  }

  it('each verifier decides about its own', async () => {
    const { enter, tokenOf, issuer, keyring } = await arrange();
    expect((await enter(tokenOf())).via).toBe('keyless');
    const { key } = await issue(keyring);
    const { accessToken } = await issuer.exchange(await keyring.verify(key));
    expect((await enter(accessToken)).via).toBe('jwt');
  });

  it('neither takes a token for the other', async () => {
    const { tokenOf, issuer, keyring, jwt, keyless } = await arrange();
    const { key } = await issue(keyring);
    const { accessToken } = await issuer.exchange(await keyring.verify(key));
    const tools = { findLive: () => Promise.reject(new Error('was looked up')) };
    await denied(() => keyless.verify(accessToken, tools), 'invalid_token', 'token_refused');
    await denied(() => jwt.verify(tokenOf()), 'invalid_token', 'token_refused');
    // Signed by one issuer, in the name of the other.
    const forged = tokenOf({ iss: SIGNING.issuer });
    await denied(() => jwt.verify(forged), 'invalid_token', 'token_refused');
  });

  it('a keyless principal is exchanged for a token that ends no later', async () => {
    const { enter, tokenOf, issuer } = await arrange();
    const { accessToken, expiresIn } = await issuer.exchange(await enter(tokenOf()));
    expect(expiresIn).toBe(300);
    const principal = await enter(accessToken);
    expect(principal).toMatchObject({ via: 'jwt', expiresAt: (NOW + 300) * 1000 });
  });

  it('a key of another issuer signs for nobody, whatever its `kid`', async () => {
    const other = {
      ...ENTRY,
      issuer: 'https://other.example',
      jwks: { keys: [STRANGER.publicKey] },
    };
    const verifier = { issuers: [ENTRY, other] };
    const { enter, tokenOf } = await setUpKeyless({ verifier });
    const forged = tokenOf({}, {}, STRANGER);
    await denied(() => enter(forged), 'invalid_token', 'token_refused');
  });

  it('two verifiers of one issuer are a mistake of the service', () => {
    const one = createKeylessVerifier({ audience: AUDIENCE, issuers: [ENTRY] });
    const other = createKeylessVerifier({ audience: 'https://b.example', issuers: [ENTRY] });
    expect(() => setUp({ tokens: [one, other] })).toThrow('two verifiers have one issuer');
  });
});

describe('a job that issues keys', () => {
  it('issues one level, and keys that end with its token', async () => {
    const clock = stoppedClock();
    const trust = TRUST;
    const { keyring, enter, tokenOf, info } = await setUpKeyless({
      now: clock.now,
      verifier: { now: clock.now },
      trust,
    });
    const authority = authorityFrom(await enter(tokenOf()));
    const input = { name: 'child', scopes: ['threats:read'] } as const;
    const late = { ...input, expiresAt: new Date(START + HOUR) };
    const beyond = () => keyring.issue(late, authority);
    await denied(beyond, 'ceiling_exceeded', 'lifetime_beyond_authority');
    const soon = { ...input, expiresAt: new Date((NOW + 300) * 1000) };
    const child = await keyring.issue(soon, authority);
    expect(child.info).toMatchObject({ issuedUnder: info.keyId, entityId: OWN });
    const acting = authorityFrom(await keyring.verify(child.key));
    await denied(() => keyring.issue(soon, acting), 'ceiling_exceeded', 'issued_by_key');
    const without = await keyring.issueKeyless({ ...soon, trust }, authority);
    expect(without.info.issuedUnder).toBe(info.keyId);
    clock.advance(1_000);
    await keyring.revokeLineage(info.keyId, AUTHORITY);
    await denied(() => keyring.verify(child.key), 'invalid_token', 'revoked');
    const aud = `${AUDIENCE}#${without.info.keyId}`;
    const token = tokenOf({ aud, iat: NOW + 1, nbf: NOW });
    await denied(() => enter(token), 'invalid_token', 'revoked');
  });
});
