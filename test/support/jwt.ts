/**
 * Shared by the token tests: an issuer's keys, a verifier with a stopped clock, and forged tokens.
 */
import type { JsonWebKey } from 'node:crypto';
import { constants, createPrivateKey, sign as signBytes } from 'node:crypto';
import type { JWK, JWTPayload } from 'jose';
import { base64url, exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JwtVerifier } from 'keyscope/jwt';
import { testPrincipal } from 'keyscope/testing';
import { expect } from 'vitest';
import { catalog, denied, OTHER, OWN, START } from './keyring.ts';

export const ISSUER = 'https://acme.example';
export const AUDIENCE = 'https://api.acme.example';
export const NOW = Math.floor(START / 1000);
export const KEY_ID = '0f0f0f0f-0000-4000-8000-00000000000f';

export type Alg = 'ES256' | 'EdDSA' | 'RS256' | 'PS256';
export const ALGS: readonly Alg[] = ['ES256', 'EdDSA', 'RS256', 'PS256'];

export interface Pair {
  readonly alg: Alg;
  readonly kid: string;
  readonly privateKey: JWK;
  readonly publicKey: JWK;
}

export async function makePair(alg: Alg, kid: string = alg): Promise<Pair> {
  const pair = await generateKeyPair(alg, { extractable: true });
  const publicKey = { ...(await exportJWK(pair.publicKey)), alg, kid, use: 'sig' };
  return { alg, kid, privateKey: await exportJWK(pair.privateKey), publicKey };
}

/** A principal from `verify`, with two scopes and two entities. */
export const principal = testPrincipal({
  catalog,
  scopes: ['threats:read', 'threats:write'],
  entityId: OWN,
  accessibleEntities: [OTHER],
  keyId: KEY_ID,
});

/** The claims that the issuer writes. */
export const CLAIMS: JWTPayload = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: KEY_ID,
  client_id: KEY_ID,
  iat: NOW,
  exp: NOW + 900,
  jti: '0e0e0e0e-0000-4000-8000-00000000000e',
  scope: 'threats:read threats:write',
  entity_uuid: OWN,
  accessible_entities: [OWN, OTHER],
};

/** Encodes a part of a token: a text unchanged, any other value as JSON. */
export function encode(value: unknown): string {
  return base64url.encode(typeof value === 'string' ? value : JSON.stringify(value));
}

interface Signing {
  readonly hash: string | null;
  readonly options: object;
}

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
const SIGNINGS: Readonly<Record<Alg, Signing>> = {
  ES256: { hash: 'sha256', options: { dsaEncoding: 'ieee-p1363' } },
  EdDSA: { hash: null, options: {} },
  RS256: { hash: 'sha256', options: {} },
  PS256: { hash: 'sha256', options: PSS },
};

/** Signs any text with the algorithm of a key pair. */
export function sign({ alg, privateKey }: Pair, text: string): string {
  const { hash, options } = SIGNINGS[alg];
  const key = createPrivateKey({ key: privateKey as JsonWebKey, format: 'jwk' });
  const signature = signBytes(hash, Buffer.from(text), { key, ...options });
  return `${text}.${signature.toString('base64url')}`;
}

/**
 * Makes a token with any header and payload and a valid signature, as a faulty issuer would.
 */
export function forge(
  pair: Pair,
  header: Readonly<Record<string, unknown>>,
  payload: unknown,
): string {
  const protectedHeader = encode({ alg: pair.alg, typ: 'at+jwt', kid: pair.kid, ...header });
  return sign(pair, `${protectedHeader}.${encode(payload)}`);
}

/** Makes a token with jose and these claims. */
export function jwt(pair: Pair, claims: JWTPayload): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: pair.alg, typ: 'at+jwt', kid: pair.kid })
    .sign(pair.privateKey);
}

/** The issuer options of a key pair. */
export function signingWith(pair: Pair): Omit<Pair, 'publicKey'> {
  const { alg, kid, privateKey } = pair;
  return { alg, kid, privateKey };
}

/** The default key pair of issuers. */
export const FIRST: Pair = await makePair('ES256', 'first');

/** A key pair of another algorithm. */
export const SECOND: Pair = await makePair('EdDSA', 'second');

const now = () => START;

/** The options of an issuer with the first key pair. */
export const SIGNING = {
  issuer: ISSUER,
  audience: AUDIENCE,
  privateKey: FIRST.privateKey,
  alg: 'ES256',
  kid: 'first',
  now,
} as const;

/** The options of a verifier for the first key pair. */
export const ACCEPTING = {
  issuer: ISSUER,
  audience: AUDIENCE,
  jwks: { keys: [FIRST.publicKey] },
  algorithms: ['ES256'],
  catalog,
  now,
} as const;

/** Asserts that a token is denied with the code and reason of every invalid token. */
export function expectRefused(verifier: JwtVerifier, token: string): Promise<unknown> {
  return denied(() => verifier.verify(token), 'invalid_token', 'token_refused');
}

/** Asserts that a token is accepted. */
export async function expectAccepted(verifier: JwtVerifier, token: string): Promise<void> {
  expect((await verifier.verify(token)).keyId).toBe(KEY_ID);
}

/** Whether a verifier accepts a token. */
export function accepts(verifier: JwtVerifier, token: unknown): Promise<boolean> {
  return verifier.verify(token as string).then(
    () => true,
    () => false,
  );
}

/** The answer to every invalid token, without its body. */
export const TOKEN_REFUSAL = {
  status: 401,
  headers: {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'WWW-Authenticate': 'Bearer realm="acme", error="invalid_token"',
  },
};
