/**
 * A service with a key whose text nobody holds, an issuer whose keys the test has, and its tokens.
 */
import type { JWK } from 'jose';
import type { KeyringOptions, Trust } from 'keyscope';
import {
  createKeylessVerifier,
  type KeylessIssuer,
  type KeylessVerifierOptions,
} from 'keyscope/keyless';
import { forge, makePair, type Pair } from './jwt.ts';
import { AUTHORITY, PLAIN, type RingOptions, START, setUp } from './keyring.ts';

export const ISSUER = 'https://ci.example';
export const AUDIENCE = 'https://api.acme.example';
export const NOW = Math.floor(START / 1000);

/** The keys of the issuer, and those of a stranger that claim to be the same. */
export const CI: Pair = await makePair('RS256', 'ci');
export const STRANGER: Pair = await makePair('RS256', 'ci');

export const TRUST: Trust = {
  issuer: ISSUER,
  claims: { repository_id: '123', ref: 'refs/heads/main' },
};

/** Makes the entry of the issuer with this public key. */
export function entryFor(publicKey: JWK): KeylessIssuer {
  return {
    issuer: ISSUER,
    jwks: { keys: [publicKey] },
    algorithms: ['RS256', 'ES256'],
    identifies: ['repository_id', '/owner/id'],
  };
}

export const ENTRY: KeylessIssuer = entryFor(CI.publicKey);

/** The claims of a token of the job that {@link TRUST} means. */
export const JOB = {
  iss: ISSUER,
  sub: 'repo:acme/app:ref:refs/heads/main',
  repository_id: '123',
  ref: 'refs/heads/main',
  iat: NOW,
  nbf: NOW - 300,
  exp: NOW + 300,
  jti: '0e0e0e0e-0000-4000-8000-00000000000e',
};

type Claims = Readonly<Record<string, unknown>>;

/** What a test changes. */
export interface World extends RingOptions {
  readonly verifier?: Partial<KeylessVerifierOptions>;
  readonly trust?: Trust;
}

/** Makes the service, its key, and a function that makes tokens for it; `undefined` removes. */
export async function setUpKeyless({ verifier, trust = TRUST, ...options }: World = {}) {
  const issuers = [ENTRY];
  const now = () => START;
  const tokens = createKeylessVerifier({ audience: AUDIENCE, issuers, now, ...verifier });
  const world = setUp({ tokens, ...options } as RingOptions & Pick<KeyringOptions, 'tokens'>);
  const { info } = await world.keyring.issueKeyless({ ...PLAIN, trust }, AUTHORITY);
  const aud = `${AUDIENCE}#${info.keyId}`;
  const tokenOf = (claims: Claims = {}, header: Claims = {}, pair: Pair = CI): string =>
    forge(pair, { typ: 'JWT', ...header }, { aud, ...JOB, ...claims });
  const enter = (token: string) => world.keyring.authenticate(`Bearer ${token}`);
  return { ...world, tokens, info, aud, tokenOf, enter };
}
