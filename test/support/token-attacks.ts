/**
 * Tokens that must be rejected, made with jose and by hand, most of them with a genuine signature,
 * and the verifiers that they target.
 */
import { createHmac, createPublicKey, type JsonWebKey } from 'node:crypto';
import { UnsecuredJWT } from 'jose';

import { createTokenVerifier, type JwtVerifier } from 'keyscope/jwt';
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
  sign,
} from './jwt.ts';
import { catalog, OTHER, OWN, START } from './keyring.ts';

export const GOOD = await makePair('ES256', 'good');
export const RSA = await makePair('RS256', 'rsa');
/** A foreign key that claims to be the good one. */
const STRANGER = await makePair('ES256', 'good');

const OPTIONS = {
  issuer: ISSUER,
  audience: AUDIENCE,
  algorithms: ['ES256', 'RS256'],
  catalog,
  now: () => START,
} as const;

/** A verifier with two keys. */
export const VERIFIER: JwtVerifier = createTokenVerifier({
  ...OPTIONS,
  jwks: { keys: [GOOD.publicKey, RSA.publicKey] },
});

/** A verifier with only the good key. Here a missing `kid` would not matter. */
export const VERIFIER_OF_ONE_KEY: JwtVerifier = createTokenVerifier({
  ...OPTIONS,
  jwks: { keys: [GOOD.publicKey] },
});

// ── Making tokens ────────────────────────────────────────────────────────────────────────────────

/** Well signed, with changed claims; `undefined` removes one. */
export function withClaims(changed: Readonly<Record<string, unknown>>): string {
  return forge(GOOD, {}, { ...CLAIMS, ...changed });
}

/** Well signed, with a changed header; `undefined` removes a parameter. */
export function withHeader(changed: Readonly<Record<string, unknown>>): string {
  return forge(GOOD, changed, CLAIMS);
}

/** A token that passes. */
export const GENUINE: string = await jwt(GOOD, CLAIMS);
const [head = '', body = '', signature = ''] = GENUINE.split('.');

/** The header of a good token, changed and not signed. */
function headWith(changed: Readonly<Record<string, unknown>>): string {
  return encode({ alg: 'ES256', typ: 'at+jwt', kid: 'good', ...changed });
}

const rsaKey = createPublicKey({ key: RSA.publicKey as JsonWebKey, format: 'jwk' });
const spki = String(rsaKey.export({ type: 'spki', format: 'pem' }));

/** Signed with a shared secret. */
function hmac(secret: string | Buffer, alg: string = 'HS256'): string {
  const text = `${encode({ alg, typ: 'at+jwt', kid: 'rsa' })}.${encode(CLAIMS)}`;
  const code = createHmac(alg.replace('HS', 'sha'), secret).update(text);
  return `${text}.${code.digest('base64url')}`;
}

/** The same bytes with another last character: base64url has unused bits there. */
function respell(part: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.slice(-1)) + 1];
}

/** A good token whose payload length leaves unused bits. */
export function unaligned(): string {
  for (let length = 1; ; length++) {
    const token = withClaims({ jti: 'x'.repeat(length) });
    if ((token.split('.')[1] ?? '').length % 4 !== 0) return token;
  }
}
const [unalignedHead = '', unalignedBody = ''] = unaligned().split('.');

function uuids(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const digits = index.toString(16).padStart(8, '0');
    return `${digits}-0000-4000-8000-000000000000`;
  });
}

/** A claim with this many scopes. */
export function scopes(count: number): string {
  return Array.from({ length: count }, (_, index) => `a:b${index}`).join(' ');
}

// ── The attacks ──────────────────────────────────────────────────────────────────────────────────

/** The name, and the value passed as a token. */
export type Attack = readonly [name: string, token: unknown];

/** One attack for each value of a claim. */
function claimAttacks(name: string, values: readonly unknown[]): Attack[] {
  return values.map((value) => [
    `${name} is ${JSON.stringify(value)}`,
    withClaims({ [name]: value }),
  ]);
}

/** One attack for each value of a header parameter. */
function headerAttacks(name: string, values: readonly unknown[]): Attack[] {
  return values.map((value) => {
    const shown = JSON.stringify(value).slice(0, 30);
    return [`${name} is ${shown}`, withHeader({ [name]: value })];
  });
}

const NOT_NUMBERS: readonly unknown[] = [null, '', `${NOW}`, true, [], {}, -1, NOW + 0.5, 1e300];
const NOT_TEXTS: readonly unknown[] = [null, '', 7, true, [], {}, ['x'], { toString: 'x' }];

/** No signature, or not the issuer's. */
const UNSIGNED: readonly Attack[] = [
  ['alg none by jose', new UnsecuredJWT(CLAIMS).encode()],
  ...['none', 'None', 'NONE', 'nOnE', ''].map(
    (alg): Attack => [`alg ${alg || 'empty'}, unsigned`, `${headWith({ alg })}.${body}.`],
  ),
  ['alg none with a good signature', `${headWith({ alg: 'none' })}.${body}.${signature}`],
  ['no alg', `${headWith({ alg: undefined })}.${body}.${signature}`],
  ['signature removed', `${head}.${body}.`],
  [
    'signature of another token',
    `${head}.${encode({ ...CLAIMS, scope: 'users:delete' })}.${signature}`,
  ],
  ['signature cut short', `${head}.${body}.${signature.slice(0, -4)}`],
  ['signature of zeros', `${head}.${body}.${'A'.repeat(86)}`],
  ['a stranger’s signature under a known kid', await jwt(STRANGER, CLAIMS)],
  ['the other known key under this kid', forge({ ...RSA, kid: 'good' }, {}, CLAIMS)],
  ['this key under the other’s kid', forge({ ...GOOD, kid: 'rsa' }, {}, CLAIMS)],
];

/** Algorithm confusion. */
const ALGORITHM: readonly Attack[] = [
  ['HS256 with the public key as PEM', hmac(spki)],
  ['HS256 with the public key as PEM, trimmed', hmac(spki.trim())],
  ['HS256 with the public key as JWK', hmac(JSON.stringify(RSA.publicKey))],
  ['HS256 with the modulus', hmac(Buffer.from(String(RSA.publicKey.n), 'base64url'))],
  ['HS256 with an empty secret', hmac('')],
  ['HS384 with the public key', hmac(spki, 'HS384')],
  ['HS512 with the public key', hmac(spki, 'HS512')],
  ['an algorithm that is not on the list', forge({ ...RSA, alg: 'PS256' }, {}, CLAIMS)],
  ...headerAttacks('alg', ['ES384', 'RS512', 'EdDSA', 'dir', 'RSA-OAEP', 'es256']),
  ...headerAttacks('alg', [null, 1, ['ES256'], {}]),
];

/** Another kind of JWT. */
const TYPE: readonly Attack[] = [
  ...headerAttacks('typ', ['JWT', 'jwt', 'id+jwt', 'dpop+jwt', 'application/jwt', 'at+jwt ']),
  ...headerAttacks('typ', ['', null, 7, ['at+jwt']]),
  ['no typ', withHeader({ typ: undefined })],
];

/** A key that does not exist or is not the intended one. */
const KEY_NAME: readonly Attack[] = [
  ['no kid', withHeader({ kid: undefined })],
  ['no kid although only one key fits', forge(RSA, { kid: undefined }, CLAIMS)],
  ...headerAttacks('kid', ['', 'unknown', 'GOOD', 'good ', ' good', 'good\0', '../good']),
  ...headerAttacks('kid', ["' OR '1'='1", 'g'.repeat(129), 7, null, ['good'], {}]),
];

const PROTO_HEADER = '{"alg":"ES256","typ":"at+jwt","kid":"good","__proto__":{"x":1}}';

/** A key that the token supplies, and extensions. */
const EXTENSION: readonly Attack[] = [
  ['jwk of a stranger', forge(STRANGER, { jwk: STRANGER.publicKey }, CLAIMS)],
  ['jwk with a good signature', withHeader({ jwk: GOOD.publicKey })],
  ['jku', withHeader({ jku: 'https://attacker.example/jwks.json' })],
  ['x5u', withHeader({ x5u: 'https://attacker.example/cert.pem' })],
  ['x5c', withHeader({ x5c: ['MIIB'] })],
  ['x5t', withHeader({ x5t: 'abcd' })],
  ['crit that is not understood', withHeader({ crit: ['exp'], exp: NOW + 900 })],
  ['crit, empty', withHeader({ crit: [] })],
  ['crit of b64', withHeader({ crit: ['b64'], b64: true })],
  ['b64 false', sign(GOOD, `${headWith({ b64: false, crit: ['b64'] })}.${body}`)],
  ['b64 without crit', withHeader({ b64: true })],
  ['cty', withHeader({ cty: 'JWT' })],
  ['zip', withHeader({ zip: 'DEF' })],
  ['an unknown extension', withHeader({ ext: 1 })],
  ['__proto__ in the header', sign(GOOD, `${encode(PROTO_HEADER)}.${body}`)],
];

/** The same token in another spelling. */
const SPELLING: readonly Attack[] = [
  [
    'a payload with another spelling, unused bits set',
    sign(GOOD, `${unalignedHead}.${respell(unalignedBody)}`),
  ],
  ['a signature with another spelling, unused bits set', `${head}.${body}.${respell(signature)}`],
  ['padding behind the signature', `${GENUINE}==`],
  ['padding behind the payload', sign(GOOD, `${head}.${body}=`)],
  ...[' ', '\n', '\t', '\u00a0', '\ufeff'].flatMap((space): Attack[] => [
    [`${JSON.stringify(space)} in front`, `${space}${GENUINE}`],
    [`${JSON.stringify(space)} behind`, `${GENUINE}${space}`],
    [`${JSON.stringify(space)} within`, `${head}.${space}${body}.${signature}`],
  ]),
  [
    'base64 instead of base64url',
    GENUINE.replaceAll('-', '+').replaceAll('_', '/').replace(/$/, '/'),
  ],
  ['a fourth part', `${GENUINE}.`],
  ['five parts, as encrypted tokens have', `${head}.${body}.${signature}.${body}.${signature}`],
  ['two parts', `${head}.${body}`],
  ['dots alone', '..'],
  ['one dot', '.'],
  ['nothing', ''],
  ['a JSON serialization', JSON.stringify({ protected: head, payload: body, signature })],
  ['longer than 16 KiB', withClaims({ extra: 'x'.repeat(16_384) })],
  ['1 MB of letters', `${'A'.repeat(1e6)}.${body}.${signature}`],
  ['a number', 7],
  ['null', null],
  ['an object that claims to be the token', { toString: () => GENUINE }],
  ['a list with the token', [GENUINE]],
  ['bytes', new TextEncoder().encode(GENUINE)],
];

/** A payload that is not an object of claims. */
const PAYLOAD: readonly Attack[] = [
  ...['null', '7', '"text"', '[]', '{}', '{', ''].map(
    (text): Attack => [`a payload of ${text || 'nothing'}`, forge(GOOD, {}, text)],
  ),
  [
    'a payload that is not UTF-8',
    sign(GOOD, `${head}.${Buffer.from([0xff, 0xfe]).toString('base64url')}`),
  ],
];

/** Claims: each missing, each of the wrong type. */
const CLAIM_TYPE: readonly Attack[] = [
  ...Object.keys(CLAIMS).map((name): Attack => [`no ${name}`, withClaims({ [name]: undefined })]),
  ...claimAttacks('exp', NOT_NUMBERS),
  ...claimAttacks('iat', NOT_NUMBERS),
  ...claimAttacks('nbf', [`${NOW}`, null, NOW + 1]),
  ...['iss', 'aud', 'sub', 'client_id', 'jti', 'entity_uuid'].flatMap((name) =>
    claimAttacks(name, NOT_TEXTS),
  ),
  // An empty text has no scope, which is allowed.
  ...claimAttacks('scope', [null, 7, true, [], {}, ['x'], { toString: 'x' }]),
  ...claimAttacks('accessible_entities', [null, '', OWN, 7, {}, [], [7], [null], [[OWN]]]),
  ...claimAttacks('accessible_entities', [{ 0: OWN, length: 1 }]),
];

/** Another issuer, or another audience. */
const ISSUER_AND_AUDIENCE: readonly Attack[] = [
  ...claimAttacks('iss', ['https://acme.example/', 'https://ACME.example']),
  ...claimAttacks('iss', ['http://acme.example', 'acme.example']),
  ...claimAttacks('aud', [`${AUDIENCE}/`, 'https://other.example']),
  ...claimAttacks('aud', [[AUDIENCE], [AUDIENCE, 'https://other.example']]),
];

/** Another time. */
const TIME: readonly Attack[] = [
  ['expired this second', withClaims({ exp: NOW, iat: NOW - 100 })],
  ['expired long ago', withClaims({ exp: NOW - 900, iat: NOW - 1800 })],
  ['from the future', withClaims({ iat: NOW + 6 })],
  ['from next year', withClaims({ iat: NOW + 31_536_000, exp: NOW + 31_536_600 })],
  ['a lifetime of a second too much', withClaims({ exp: NOW + 901 })],
  ['a lifetime of a year', withClaims({ exp: NOW + 31_536_000 })],
  ['issued in 1970, with a negative time', withClaims({ iat: -NOW })],
  ['in milliseconds', withClaims({ iat: START, exp: START + 900_000 })],
  // Within an allowed lifetime, so that only the fraction is wrong.
  ['a fraction of a second in exp', withClaims({ exp: NOW + 100.5 })],
  ['a fraction of a second in iat', withClaims({ iat: NOW - 0.5, exp: NOW + 100 })],
  ['not yet valid', withClaims({ nbf: NOW + 60 })],
];

/** Another key, or other entities. */
const SUBJECT: readonly Attack[] = [
  ['sub that is not a UUID', withClaims({ sub: 'admin', client_id: 'admin' })],
  ['sub in upper case', withClaims({ sub: KEY_ID.toUpperCase(), client_id: KEY_ID.toUpperCase() })],
  ['client_id of another key', withClaims({ client_id: OTHER })],
  [
    'an entity in upper case',
    withClaims({ entity_uuid: OWN.toUpperCase(), accessible_entities: [OWN.toUpperCase()] }),
  ],
  [
    'an entity that is not a UUID',
    withClaims({ entity_uuid: 'own', accessible_entities: ['own'] }),
  ],
  [
    'an entity that is not a UUID, among UUIDs',
    withClaims({ entity_uuid: 'own', accessible_entities: [OWN] }),
  ],
  ['entities without its own', withClaims({ accessible_entities: [OTHER] })],
  ['an entity twice', withClaims({ accessible_entities: [OWN, OTHER, OTHER] })],
  ['an entity that is a pattern', withClaims({ accessible_entities: [OWN, '*'] })],
  ['1,001 entities', forge(GOOD, {}, { ...CLAIMS, accessible_entities: [OWN, ...uuids(1000)] })],
  [
    '301 entities of which two are one',
    withClaims({ accessible_entities: [OWN, ...uuids(250), OWN] }),
  ],
  ['jti of 129 characters', withClaims({ jti: 'x'.repeat(129) })],
  ['cnf: bound to a sender’s key', withClaims({ cnf: { jkt: 'x' } })],
  ['cnf: null', withClaims({ cnf: null })],
  // Delegated tokens used to be accepted as if the subject had sent them.
  ['act: delegated to an actor', withClaims({ act: { sub: 'somebody' } })],
  ['act: null', withClaims({ act: null })],
];

/** Scopes that no issuer writes. */
const SCOPE: readonly Attack[] = [
  ...claimAttacks('scope', ['*:*', 'threats:*', '*:read', 'threats:read users:*']),
  ...claimAttacks('scope', ['threats', 'threats:', ':read', 'threats:read,users:read']),
  ...claimAttacks('scope', ['THREATS:READ', 'threats:read\tusers:read', 'ｔhreats:read']),
  ...claimAttacks('scope', [' threats:read', 'threats:read ', 'threats:read  users:read', ' ']),
  ['scope as a list', withClaims({ scope: ['threats:read'] })],
  ['a scope twice', withClaims({ scope: 'threats:read threats:read' })],
  ['257 scopes', withClaims({ scope: scopes(257) })],
  ['__proto__ as scope', withClaims({ scope: '__proto__:read' })],
];

/** All of them. */
export const ATTACKS: readonly Attack[] = [
  ...UNSIGNED,
  ...ALGORITHM,
  ...TYPE,
  ...KEY_NAME,
  ...EXTENSION,
  ...SPELLING,
  ...PAYLOAD,
  ...CLAIM_TYPE,
  ...ISSUER_AND_AUDIENCE,
  ...TIME,
  ...SUBJECT,
  ...SCOPE,
];
