/**
 * Tokens that must not pass, made with jose and by hand, most of them under a genuine signature.
 * Each gets the uniform 401, alone and at a keyring's door; and each check of ours is needed:
 * switched off, one of them passes.
 */
import { createHmac, createPublicKey, type JsonWebKey } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { UnsecuredJWT } from 'jose';
import { createKeyring, isAccessError, toResponse } from 'keyscope';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { memoryStore } from 'keyscope/stores/memory';
import { afterAll, describe, expect, it } from 'vitest';
import { CLAIM_CHECKS, HEADER_CHECKS, holdsAll, TEXT_CHECKS } from '../../src/jwt/claims.js';
import {
  AUDIENCE,
  CLAIMS,
  encode,
  forge,
  ISSUER,
  jwt,
  KEY_ID,
  makePair,
  NOW,
  principal,
  sign,
} from '../support/jwt.ts';
import {
  AUTHORITY,
  catalog,
  denied,
  HOUR,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  START,
  setUp,
  THIRD,
  thrown,
} from '../support/keyring.ts';

const good = await makePair('ES256', 'good');
const rsa = await makePair('RS256', 'rsa');
const stranger = await makePair('ES256', 'good');
const now = () => START;
const jwks = { keys: [good.publicKey, rsa.publicKey] };
const algorithms = ['ES256', 'RS256'] as const;
const verifier = createTokenVerifier({
  issuer: ISSUER,
  audience: AUDIENCE,
  jwks,
  algorithms,
  catalog,
  now,
});

/** Under a good signature, with claims changed; `undefined` takes one out. */
const claims = (changed: Readonly<Record<string, unknown>>) =>
  forge(good, {}, { ...CLAIMS, ...changed });
const header = (changed: Readonly<Record<string, unknown>>) => forge(good, changed, CLAIMS);

const genuine = await jwt(good, CLAIMS);
const [head = '', body = '', signature = ''] = genuine.split('.');

const spki = String(
  createPublicKey({ key: rsa.publicKey as JsonWebKey, format: 'jwk' }).export({
    type: 'spki',
    format: 'pem',
  }),
);
function hmac(key: string | Buffer, alg = 'HS256', kid = 'rsa'): string {
  const text = `${encode({ alg, typ: 'at+jwt', kid })}.${encode(CLAIMS)}`;
  return `${text}.${createHmac(alg.replace('HS', 'sha'), key).update(text).digest('base64url')}`;
}

/** The same bytes in another last character: base64url has unused bits there. */
function respell(part: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.slice(-1)) + 1];
}
/** A payload whose encoding does not end on a full group, so that it has unused bits. */
function unaligned(): string {
  for (let i = 0; ; i++) {
    const token = forge(good, {}, { ...CLAIMS, jti: 'x'.repeat(i + 1) });
    if ((token.split('.')[1] ?? '').length % 4 !== 0) return token;
  }
}
const [unalignedHead = '', unalignedBody = ''] = unaligned().split('.');

const uuids = (count: number) =>
  Array.from(
    { length: count },
    (_, i) => `${i.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`,
  );
const scopes = (count: number) => Array.from({ length: count }, (_, i) => `a:b${i}`).join(' ');
const NUMBERS: readonly unknown[] = [null, '', `${NOW}`, true, [], {}, -1, NOW + 0.5, 1e300];
const TEXTS: readonly unknown[] = [null, '', 7, true, [], {}, ['x'], { toString: 'x' }];
const each = (name: string, values: readonly unknown[]): [string, string][] =>
  values.map((value) => [`${name} is ${JSON.stringify(value)}`, claims({ [name]: value })]);

const ATTACKS: readonly (readonly [string, unknown])[] = [
  // ── No signature, or not the issuer's ──
  ['alg none by jose', new UnsecuredJWT(CLAIMS).encode()],
  ...['none', 'None', 'NONE', 'nOnE', ''].map(
    (alg) =>
      [
        `alg ${alg || 'empty'}, unsigned`,
        `${encode({ alg, typ: 'at+jwt', kid: 'good' })}.${body}.`,
      ] as const,
  ),
  [
    'alg none beside a good signature',
    `${encode({ alg: 'none', typ: 'at+jwt', kid: 'good' })}.${body}.${signature}`,
  ],
  ['no alg', `${encode({ typ: 'at+jwt', kid: 'good' })}.${body}.${signature}`],
  ['signature taken off', `${head}.${body}.`],
  [
    'signature of another token',
    `${head}.${encode({ ...CLAIMS, scope: 'users:delete' })}.${signature}`,
  ],
  ['signature cut short', `${head}.${body}.${signature.slice(0, -4)}`],
  ['signature of zeros', `${head}.${body}.${'A'.repeat(86)}`],
  ['a stranger’s signature under a known kid', await jwt(stranger, CLAIMS)],
  ['the other known key under this kid', forge({ ...rsa, kid: 'good' }, {}, CLAIMS)],
  ['this key under the other’s kid', forge({ ...good, kid: 'rsa' }, {}, CLAIMS)],
  // ── Algorithm confusion ──
  ['HS256 with the public key as PEM', hmac(spki)],
  ['HS256 with the public key as PEM, trimmed', hmac(spki.trim())],
  ['HS256 with the public key as JWK', hmac(JSON.stringify(rsa.publicKey))],
  ['HS256 with the modulus', hmac(Buffer.from(String(rsa.publicKey.n), 'base64url'))],
  ['HS256 with an empty secret', hmac('')],
  ['HS384 with the public key', hmac(spki, 'HS384')],
  ['HS512 with the public key', hmac(spki, 'HS512')],
  ['an algorithm that is not on the list', forge({ ...rsa, alg: 'PS256' }, {}, CLAIMS)],
  ...['ES384', 'RS512', 'EdDSA', 'dir', 'RSA-OAEP', 'es256'].map(
    (alg) => [`alg ${alg}`, header({ alg })] as const,
  ),
  ...[null, 1, ['ES256'], {}].map(
    (alg) => [`alg is ${JSON.stringify(alg)}`, header({ alg })] as const,
  ),
  // ── Another kind of JWT ──
  ...[
    'JWT',
    'jwt',
    'id+jwt',
    'dpop+jwt',
    'application/jwt',
    'at+jwt ',
    '',
    null,
    7,
    ['at+jwt'],
  ].map((typ) => [`typ is ${JSON.stringify(typ)}`, header({ typ })] as const),
  ['no typ', header({ typ: undefined })],
  // ── kid ──
  ['no kid', header({ kid: undefined })],
  ['no kid where one key alone fits', forge(rsa, { kid: undefined }, CLAIMS)],
  ...[
    '',
    'unknown',
    'GOOD',
    'good ',
    ' good',
    'good\0',
    '../good',
    "' OR '1'='1",
    'g'.repeat(129),
    7,
    null,
    ['good'],
    {},
  ].map((kid) => [`kid is ${JSON.stringify(kid).slice(0, 30)}`, header({ kid })] as const),
  // ── A key that the token brings, and extensions ──
  ['jwk of a stranger', forge(stranger, { jwk: stranger.publicKey }, CLAIMS)],
  ['jwk beside a good signature', header({ jwk: good.publicKey })],
  ['jku', header({ jku: 'https://attacker.example/jwks.json' })],
  ['x5u', header({ x5u: 'https://attacker.example/cert.pem' })],
  ['x5c', header({ x5c: ['MIIB'] })],
  ['x5t', header({ x5t: 'abcd' })],
  ['crit that is not understood', header({ crit: ['exp'], exp: NOW + 900 })],
  ['crit, empty', header({ crit: [] })],
  ['crit of b64', header({ crit: ['b64'], b64: true })],
  [
    'b64 false',
    sign(
      good,
      `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'good', b64: false, crit: ['b64'] })}.${body}`,
    ),
  ],
  ['b64 without crit', header({ b64: true })],
  ['cty', header({ cty: 'JWT' })],
  ['zip', header({ zip: 'DEF' })],
  ['an extension nobody knows', header({ ext: 1 })],
  [
    '__proto__ in the header',
    sign(
      good,
      `${encode('{"alg":"ES256","typ":"at+jwt","kid":"good","__proto__":{"x":1}}')}.${body}`,
    ),
  ],
  // ── Spelling ──
  [
    'a payload spelt otherwise, unused bits set',
    sign(good, `${unalignedHead}.${respell(unalignedBody)}`),
  ],
  ['a signature spelt otherwise, unused bits set', `${head}.${body}.${respell(signature)}`],
  ['padding behind the signature', `${genuine}==`],
  ['padding behind the payload', sign(good, `${head}.${body}=`)],
  ...[' ', '\n', '\t', '\u00a0', '\ufeff'].flatMap((space) => [
    [`${JSON.stringify(space)} in front`, `${space}${genuine}`] as const,
    [`${JSON.stringify(space)} behind`, `${genuine}${space}`] as const,
    [`${JSON.stringify(space)} within`, `${head}.${space}${body}.${signature}`] as const,
  ]),
  [
    'base64 instead of base64url',
    genuine.replaceAll('-', '+').replaceAll('_', '/').replace(/$/, '/'),
  ],
  ['a fourth part', `${genuine}.`],
  ['five parts, as encrypted tokens have', `${head}.${body}.${signature}.${body}.${signature}`],
  ['two parts', `${head}.${body}`],
  ['dots alone', '..'],
  ['one dot', '.'],
  ['nothing', ''],
  ['a JSON serialization', JSON.stringify({ protected: head, payload: body, signature })],
  ['longer than 16 KiB', claims({ extra: 'x'.repeat(16_384) })],
  ['1 MB of letters', `${'A'.repeat(1e6)}.${body}.${signature}`],
  ['no text', 7],
  ['null', null],
  ['an object that says it is the token', { toString: () => genuine }],
  ['a list with the token', [genuine]],
  ['bytes', new TextEncoder().encode(genuine)],
  // ── Payload ──
  ...['null', '7', '"text"', '[]', '{}', '{', ''].map(
    (text) => [`a payload of ${text || 'nothing'}`, forge(good, {}, text)] as const,
  ),
  [
    'a payload that is no UTF-8',
    sign(good, `${head}.${Buffer.from([0xff, 0xfe]).toString('base64url')}`),
  ],
  // ── Claims: each missing, each of the wrong type ──
  ...Object.keys(CLAIMS).map((name) => [`no ${name}`, claims({ [name]: undefined })] as const),
  ...each('exp', NUMBERS),
  ...each('iat', NUMBERS),
  ...each('nbf', [`${NOW}`, null, NOW + 1]),
  ...['iss', 'aud', 'sub', 'client_id', 'jti', 'entity_uuid'].flatMap((name) => each(name, TEXTS)),
  ...each(
    'scope',
    TEXTS.filter((value) => value !== ''),
  ),
  ...each('accessible_entities', [
    null,
    '',
    OWN,
    7,
    {},
    [],
    [7],
    [null],
    [[OWN]],
    { 0: OWN, length: 1 },
  ]),
  // ── Whose and for whom ──
  ...['https://acme.example/', 'https://ACME.example', 'http://acme.example', 'acme.example'].map(
    (iss) => [`iss ${iss}`, claims({ iss })] as const,
  ),
  ...[`${AUDIENCE}/`, 'https://other.example', [AUDIENCE], [AUDIENCE, 'https://other.example']].map(
    (aud) => [`aud is ${JSON.stringify(aud)}`, claims({ aud })] as const,
  ),
  // ── When ──
  ['expired this second', claims({ exp: NOW, iat: NOW - 100 })],
  ['expired long ago', claims({ exp: NOW - 900, iat: NOW - 1800 })],
  ['from the future', claims({ iat: NOW + 6 })],
  ['from next year', claims({ iat: NOW + 31_536_000, exp: NOW + 31_536_600 })],
  ['a life of a second too much', claims({ exp: NOW + 901 })],
  ['a life of a year', claims({ exp: NOW + 31_536_000 })],
  ['issued in 1970, of the wrong sign', claims({ iat: -NOW })],
  ['in milliseconds', claims({ iat: START, exp: START + 900_000 })],
  // Within a life that is short enough, so that nothing but the fraction is wrong.
  ['a fraction of a second in exp', claims({ exp: NOW + 100.5 })],
  ['a fraction of a second in iat', claims({ iat: NOW - 0.5, exp: NOW + 100 })],
  ['not yet valid', claims({ nbf: NOW + 60 })],
  // ── Who ──
  ['sub that is no UUID', claims({ sub: 'admin', client_id: 'admin' })],
  ['sub in upper case', claims({ sub: KEY_ID.toUpperCase(), client_id: KEY_ID.toUpperCase() })],
  ['client_id of another key', claims({ client_id: OTHER })],
  [
    'an entity in upper case',
    claims({ entity_uuid: OWN.toUpperCase(), accessible_entities: [OWN.toUpperCase()] }),
  ],
  ['an entity that is no UUID', claims({ entity_uuid: 'own', accessible_entities: ['own'] })],
  [
    'an entity that is no UUID, among UUIDs',
    claims({ entity_uuid: 'own', accessible_entities: [OWN] }),
  ],
  ['entities without its own', claims({ accessible_entities: [OTHER] })],
  ['an entity twice', claims({ accessible_entities: [OWN, OTHER, OTHER] })],
  ['an entity that is a pattern', claims({ accessible_entities: [OWN, '*'] })],
  ['1,001 entities', forge(good, {}, { ...CLAIMS, accessible_entities: [OWN, ...uuids(1000)] })],
  ['301 entities of which two are one', claims({ accessible_entities: [OWN, ...uuids(250), OWN] })],
  ['jti of 129 characters', claims({ jti: 'x'.repeat(129) })],
  ['cnf: bound to a sender’s key', claims({ cnf: { jkt: 'x' } })],
  ['cnf: null', claims({ cnf: null })],
  // ── What ──
  ...['*:*', 'threats:*', '*:read', 'threats:read users:*'].map(
    (scope) => [`scope ${scope}`, claims({ scope })] as const,
  ),
  ...[
    'threats',
    'threats:',
    ':read',
    'threats:read,users:read',
    'THREATS:READ',
    'threats:read\tusers:read',
    'ｔhreats:read',
  ].map((scope) => [`scope ${JSON.stringify(scope)}`, claims({ scope })] as const),
  ...[' threats:read', 'threats:read ', 'threats:read  users:read', ' '].map(
    (scope) => [`scope ${JSON.stringify(scope)}`, claims({ scope })] as const,
  ),
  ['scope as a list', claims({ scope: ['threats:read'] })],
  ['a scope twice', claims({ scope: 'threats:read threats:read' })],
  ['257 scopes', claims({ scope: scopes(257) })],
  ['__proto__ as scope', claims({ scope: '__proto__:read' })],
];

const REFUSAL = {
  status: 401,
  headers: {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'WWW-Authenticate': 'Bearer realm="acme", error="invalid_token"',
  },
};

/** Whether the verifier takes it. */
const passes = (token: unknown): Promise<boolean> =>
  verifier.verify(token as string).then(
    () => true,
    () => false,
  );

describe('a token that must not pass', () => {
  afterAll(() => console.log(`\nattack tokens: ${ATTACKS.length}, all refused alike`));

  it('differs from one that passes', async () => {
    expect(await verifier.verify(genuine)).toMatchObject({ keyId: KEY_ID, via: 'jwt' });
    for (const token of [
      claims({}),
      header({}),
      forge(rsa, {}, CLAIMS),
      unaligned(),
      claims({ scope: '' }),
    ]) {
      expect(await passes(token)).toBe(true);
    }
    // At the bounds.
    expect(await passes(claims({ iat: NOW + 5, exp: NOW + 905 }))).toBe(true);
    expect(await passes(claims({ jti: 'x'.repeat(128), scope: scopes(256) }))).toBe(true);
    expect(await passes(header({ kid: 'good' }))).toBe(true);
    expect(new Set(ATTACKS.map(([name]) => name)).size).toBe(ATTACKS.length);
    expect(ATTACKS.length).toBeGreaterThanOrEqual(120);
  });

  it.each(ATTACKS)('%s', async (_name, token) => {
    const error = await thrown(() => verifier.verify(token as string));
    if (!isAccessError(error)) throw error;
    expect([error.code, error.reason, error.keyId]).toEqual([
      'invalid_token',
      'token_refused',
      undefined,
    ]);
    const { body: text, ...response } = toResponse(error, { realm: 'acme' });
    expect(response).toEqual(REFUSAL);
    expect(text).toBe(toResponse(await thrown(() => verifier.verify('.')), { realm: 'acme' }).body);
  });

  it('gets that answer at a keyring’s door too, whatever of it a header can carry', async () => {
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: 'none',
      tokens: verifier,
    });
    for (const [name, token] of ATTACKS) {
      if (
        typeof token !== 'string' ||
        !/^[\w.~+/-]+=*$/.test(token) ||
        !token.includes('.') ||
        token.length > 16_000
      )
        continue;
      const error = await thrown(() => keyring.authenticate(`Bearer ${token}`));
      const { body: _body, ...response } = toResponse(error, { realm: 'acme' });
      expect(response, name).toEqual(REFUSAL);
    }
  });
});

describe('the spelling of a token', () => {
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const takes = (token: string) => holdsAll(TEXT_CHECKS, token);
  /** The part in each of the three places. */
  const placed = (part: string) => [`${part}.AA.AA`, `AA.${part}.AA`, `AA.AA.${part}`];

  it('is the one that an encoder writes, whatever a part ends in', () => {
    let own = 0;
    for (const length of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
      for (const last of ALPHABET) {
        const part = 'A'.repeat(Math.max(length - 1, 0)) + (length === 0 ? '' : last);
        const canonical = Buffer.from(part, 'base64url').toString('base64url') === part;
        if (canonical) own++;
        for (const token of placed(part)) expect([token, takes(token)]).toEqual([token, canonical]);
      }
    }
    // Of no characters once for each letter; then 0, 4, 16 and 64 letters can come last, twice.
    expect(own).toBe(64 + 2 * (0 + 4 + 16 + 64));
  });

  it('has three parts of the alphabet and nothing else', () => {
    expect(['..', 'AA.AA.AA'].map(takes)).toEqual([true, true]);
    for (const token of ['', '.', 'AA', 'AA.AA', 'AA.AA.AA.', '.AA.AA.AA', 'AA.AA.AA.AA'])
      expect([token, takes(token)]).toEqual([token, false]);
    for (let code = 0; code < 0x180; code++) {
      const odd = String.fromCharCode(code);
      if (ALPHABET.includes(odd) || odd === '.') continue;
      for (const part of [`${odd}AAA`, `AA${odd}A`, `AAA${odd}`])
        for (const token of placed(part)) expect([token, takes(token)]).toEqual([token, false]);
    }
  });
});

describe('the length of a token', () => {
  it('is at most 16,384 characters', () => {
    const ofLength = (length: number) => `AAAA.AA.${'AAAA'.repeat((length - 8) / 4)}`;
    for (const [length, taken] of [
      [16_384, true],
      [16_388, false],
    ] as const)
      expect([length, ofLength(length).length, holdsAll(TEXT_CHECKS, ofLength(length))]).toEqual([
        length,
        length,
        taken,
      ]);
  });
});

describe('each check of ours is needed', () => {
  const tables = Object.entries({ TEXT_CHECKS, HEADER_CHECKS, CLAIM_CHECKS });
  const all = tables.flatMap(([, table]) =>
    Object.keys(table).map((name) => [name, table] as const),
  );

  // `kid` matters where the key set has one key that fits, so these are asked of a verifier with
  // one.
  const alone = createTokenVerifier({
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks: { keys: [good.publicKey] },
    algorithms,
    catalog,
    now,
  });

  it.each(all)('%s', async (name, table) => {
    const checks = table as Record<string, unknown>;
    const original = checks[name];
    const through: string[] = [];
    checks[name] = () => true;
    try {
      for (const [attack, token] of ATTACKS) {
        const took = [verifier, alone].map((one) =>
          one.verify(token as string).then(
            () => true,
            () => false,
          ),
        );
        if ((await Promise.all(took)).includes(true)) through.push(attack);
      }
    } finally {
      checks[name] = original;
    }
    expect(through).not.toEqual([]);
  });
});

describe('a token whose key would not authenticate', () => {
  const issuer = createTokenIssuer({
    issuer: ISSUER,
    audience: AUDIENCE,
    privateKey: good.privateKey,
    alg: 'ES256',
    kid: 'good',
    now,
  });

  /** A keyring with a key, and a token for it. */
  async function exchanged(options: { expiresAt?: Date } = {}) {
    const setting = setUp({ tokens: verifier, peppers: [PEPPER] });
    const { key, info } = await setting.keyring.issue({ ...PLAIN, ...options }, AUTHORITY);
    const { accessToken } = await issuer.exchange(await setting.keyring.verify(key));
    return { ...setting, key, info, token: accessToken };
  }

  it('ends with it: revoked, retired, expired, unknown', async () => {
    const revoked = await exchanged();
    expect((await revoked.keyring.authenticate(`Bearer ${revoked.token}`)).via).toBe('jwt');
    await revoked.keyring.revoke(revoked.info.keyId, AUTHORITY);
    const retired = await exchanged();
    await retired.keyring.rotate(retired.info.keyId, { overlapMs: 0 }, AUTHORITY);
    const expired = await exchanged({ expiresAt: new Date(START + 5_000) });
    expired.clock.advance(HOUR);
    const unknown = setUp({ tokens: verifier });
    for (const [{ keyring }, token] of [
      [revoked, revoked.token],
      [retired, retired.token],
      [expired, expired.token],
      [unknown, revoked.token],
    ] as const) {
      const error = await thrown(() => keyring.authenticate(`Bearer ${token}`));
      const { body: _body, ...response } = toResponse(error, { realm: 'acme' });
      expect(response).toEqual(REFUSAL);
    }
  });

  it('carries no more than the key, whatever it claims', async () => {
    const { keyring, info } = await exchanged();
    const wide: JWTPayload = {
      ...CLAIMS,
      sub: info.keyId,
      client_id: info.keyId,
      scope: 'threats:read users:delete',
      accessible_entities: [OWN, THIRD],
    };
    const admitted = await keyring.authenticate(`Bearer ${await jwt(good, wide)}`);
    expect(admitted).toMatchObject({ scopes: ['threats:read'], accessibleEntities: [OWN] });
    // A token that claims another entity for its own has no such key.
    const moved = { ...wide, entity_uuid: THIRD, accessible_entities: [THIRD, OWN] };
    expect(
      isAccessError(
        await thrown(async () => keyring.authenticate(`Bearer ${await jwt(good, moved)}`)),
      ),
    ).toBe(true);
  });

  // A look-up that took its time let a token in that had expired meanwhile.
  it('has expired where that happened while its key was looked up', async () => {
    const setting = await exchanged();
    const { store, clock, token } = setting;
    const slow = {
      ...store,
      findById: (keyId: string) => {
        clock.set(Number(CLAIMS.exp) * 1000);
        return store.findById(keyId);
      },
    };
    const late = setUp({
      store: slow,
      tokens: { verify: () => verifier.verify(token) },
      now: clock.now,
    });
    await denied(() => late.keyring.authenticate(`Bearer ${token}`), 'invalid_token', 'expired');
  });

  it('is not exchanged again', async () => {
    const { keyring, token } = await exchanged();
    const narrowed = await keyring.authenticate(`Bearer ${token}`);
    await expect(issuer.exchange(narrowed)).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await issuer.exchange(principal)).tokenType).toBe('Bearer');
  });
});
