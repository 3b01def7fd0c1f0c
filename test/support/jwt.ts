/**
 * What the token tests share: an issuer's keys, a verifier with a clock that stands still, and
 * forged tokens.
 */
import type { JsonWebKey } from 'node:crypto';
import { constants, createPrivateKey, sign as signBytes } from 'node:crypto';
import type { JWK, JWTPayload } from 'jose';
import { base64url, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { testPrincipal } from 'keyscope/testing';
import { catalog, OTHER, OWN, START } from './keyring.ts';

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

/** A principal as `verify` yields it of a key with two scopes and two entities. */
export const principal = testPrincipal({
  catalog,
  scopes: ['threats:read', 'threats:write'],
  entityUuid: OWN,
  accessibleEntities: [OTHER],
  keyId: KEY_ID,
});

/** Claims as the issuer writes them. */
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

export const encode = (value: unknown): string =>
  base64url.encode(typeof value === 'string' ? value : JSON.stringify(value));

const WAYS: Readonly<Record<Alg, readonly [hash: string | null, options: object]>> = {
  ES256: ['sha256', { dsaEncoding: 'ieee-p1363' }],
  EdDSA: [null, {}],
  RS256: ['sha256', {}],
  PS256: ['sha256', { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }],
};

/** The signature of any text, in the way of the pair's algorithm. */
export function sign({ alg, privateKey }: Pair, text: string): string {
  const [hash, options] = WAYS[alg];
  const key = createPrivateKey({ key: privateKey as JsonWebKey, format: 'jwk' });
  return `${text}.${signBytes(hash, Buffer.from(text), { key, ...options }).toString('base64url')}`;
}

/**
 * A token with any header and any payload under a good signature: what an issuer that went wrong
 * would write.
 */
export function forge(
  pair: Pair,
  header: Readonly<Record<string, unknown>>,
  payload: unknown,
): string {
  const protectedHeader = encode({ alg: pair.alg, typ: 'at+jwt', kid: pair.kid, ...header });
  return sign(pair, `${protectedHeader}.${encode(payload)}`);
}

/** A token as jose makes it, with these claims. */
export const jwt = (pair: Pair, claims: JWTPayload, header: object = {}): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: pair.alg, typ: 'at+jwt', kid: pair.kid, ...header })
    .sign(pair.privateKey);
