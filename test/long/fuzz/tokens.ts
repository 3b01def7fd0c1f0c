/** Tokens: arbitrary texts, and headers and claims with a valid signature. */
import assert from 'node:assert/strict';
import type { Principal } from 'keyscope';
import type { Target } from './judge.ts';
import { inner, requireData, requireDenial, settled } from './judge.ts';
import { isPattern } from './scopes.ts';
import {
  audience,
  issuer,
  jwk,
  LIVE_ID,
  LIVE_TOKEN,
  OTHER,
  OWN,
  START,
  signatureOf,
  verifier,
} from './subject.ts';
import { isUuid } from './uuids.ts';

const { TEXT_CHECKS, holdsAll } =
  await inner<typeof import('../../../src/jwt/claims.js')>('jwt/claims');

const NOW = START / 1000;
const HEADER = { alg: 'EdDSA', typ: 'at+jwt', kid: 'k' };
const CLAIMS = {
  iss: issuer,
  aud: audience,
  sub: LIVE_ID,
  client_id: LIVE_ID,
  iat: NOW,
  exp: NOW + 900,
  jti: 'id',
  scope: 'threats:read threats:write',
  entity_uuid: OWN,
  accessible_entities: [OWN, OTHER],
};
// Each has one fault: accepting one of them shows at once, and accepting a similar one soon.
const WRONG_HEADERS = {
  alg: 'none',
  typ: 'JWT',
  kid: '',
  crit: ['b64'],
  b64: false,
  jwk,
  jku: issuer,
};
const WRONG_CLAIMS = {
  aud: [audience],
  iss: audience,
  sub: OWN,
  client_id: OWN,
  jti: '',
  cnf: {},
  act: {},
  nbf: NOW + 1,
  entity_uuid: OTHER,
  iat: NOW + 6,
  exp: NOW + 901,
  scope: 'threats:read threats:read',
  accessible_entities: [OWN, OWN],
};

function without(name: string): object {
  return Object.fromEntries(Object.entries(CLAIMS).filter(([other]) => other !== name));
}

/** Converts a value to JSON if possible; keeps texts unchanged. */
function written(value: unknown): string {
  try {
    return typeof value === 'string' ? value : String(JSON.stringify(value));
  } catch {
    return typeof value;
  }
}

/** Makes a token with a valid signature. */
function signed(header: unknown, claims: unknown): string {
  const encode = (part: unknown) => Buffer.from(written(part)).toString('base64url');
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${signatureOf(text)}`;
}

function isSet(list: readonly unknown[]): boolean {
  return new Set(list).size === list.length;
}

/** Checks that a principal matches the claims, and that the claims were allowed. */
function requireClaims(principal: Principal, text: string): void {
  const { via, scopes, accessibleEntities, entityId, expiresAt, keyId } = principal;
  const claims = JSON.parse(text) as Readonly<Record<string, unknown>>;
  assert.equal(via, 'jwt');
  const expected = {
    iss: issuer,
    aud: audience,
    sub: keyId,
    client_id: keyId,
    scope: scopes.join(' '),
    cnf: undefined,
    act: undefined,
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(claims[name], value, name);
  const isConcrete = (scope: string) => isPattern(scope) && !scope.includes('*');
  assert.ok(scopes.length <= 256 && isSet(scopes) && scopes.every(isConcrete));
  assert.ok(isSet(accessibleEntities));
  assert.ok([keyId, entityId, ...accessibleEntities].every(isUuid));
  assert.ok(accessibleEntities.includes(entityId));
  const { exp, iat, jti } = claims as { exp: number; iat: number; jti: unknown };
  assert.equal(typeof jti, 'string');
  assert.ok(expiresAt !== null && expiresAt > START);
  assert.equal(exp * 1000, expiresAt);
  assert.ok(exp - iat <= 900 && iat <= NOW + 5);
}

/** Checks that the checks of a token's text agree with a second implementation. */
function checkText(token: string): void {
  const parts = token.length > 16_384 ? [] : token.split('.');
  const isCanonical = (part: string) =>
    Buffer.from(part, 'base64url').toString('base64url') === part;
  assert.equal(holdsAll(TEXT_CHECKS, token), parts.length === 3 && parts.every(isCanonical));
}

const odd = Object.entries(WRONG_HEADERS).map(([name, value]) => [
  { ...HEADER, [name]: value },
  CLAIMS,
]);
const wrong = Object.entries(WRONG_CLAIMS).map(([name, value]) => [
  HEADER,
  { ...CLAIMS, [name]: value },
]);
const missing = Object.keys(CLAIMS).map((name) => [HEADER, without(name)]);

/** Arbitrary texts, and pairs of header and claims, which are signed. */
export const tokens: Target = {
  seeds: [
    undefined,
    '',
    '..',
    'a.b.c',
    LIVE_TOKEN,
    `${LIVE_TOKEN}=`,
    LIVE_TOKEN.replaceAll('.', '..'),
    [HEADER, CLAIMS],
    [HEADER, written(CLAIMS)],
    ...odd,
    ...wrong,
    ...missing,
  ],
  words: [
    ...Object.keys({ ...CLAIMS, ...WRONG_HEADERS, ...WRONG_CLAIMS }),
    issuer,
    audience,
    OWN,
    OTHER,
    LIVE_ID,
    'none',
    'HS256',
    'EdDSA',
    'at+jwt',
    'application/at+jwt',
    'k',
    'threats:read',
    'threats:*',
    '.',
    'A',
    '=',
    '__proto__',
  ],
  async check(given) {
    const pair = Array.isArray(given) ? (given as readonly unknown[]) : null;
    const token = pair === null ? given : signed(pair[0], pair[1]);
    if (typeof token === 'string') checkText(token);
    const { value, error } = await settled(verifier.verify(token as string));
    if (value === undefined) return requireDenial(error, ['invalid_token']);
    requireData(value);
    if (pair === null) assert.equal(token, LIVE_TOKEN, 'a token that nobody signed');
    else requireClaims(value, written(pair[1]));
  },
};
