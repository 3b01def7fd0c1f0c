/**
 * Short-lived tokens for the platform's keys: one signing key, and a separate audience for each
 * door, so that a token made for one does not open another.
 */
import { join } from 'node:path';
import type { JSONWebKeySet, JWK } from 'jose';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import type { TokenVerifier } from 'keyscope';
import type { TokenIssuer } from 'keyscope/jwt';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { z } from 'zod';
import { catalog } from '../service/catalog.ts';
import { readSecret } from './secret-file.ts';

const ALG = 'ES256';

/** What is published (RFC 7517 §5): the public parts, and which tokens they are for. */
export const keySet = z.object({
  keys: z.array(
    z.object({
      kty: z.literal('EC'),
      crv: z.literal('P-256'),
      x: z.string(),
      y: z.string(),
      kid: z.string(),
      use: z.literal('sig'),
      alg: z.literal(ALG),
    }),
  ),
});

export interface Tokens {
  /** By audience; the REST interface comes first. */
  readonly issuers: Readonly<Record<string, TokenIssuer>>;
  readonly verifiers: Readonly<Record<string, TokenVerifier>>;
  readonly jwks: JSONWebKeySet;
}

export interface Audiences {
  readonly rest: string;
  readonly mcp: string;
}

/**
 * Where each door is, as tokens name it (`aud`); all that clients and servers are told here is
 * configuration.
 */
export function audiences(publicUrl: string): Audiences {
  return { rest: `${publicUrl}/v1`, mcp: `${publicUrl}/mcp` };
}

async function generate(): Promise<string> {
  const { privateKey } = await generateKeyPair(ALG, { extractable: true });
  return JSON.stringify(await exportJWK(privateKey));
}

/**
 * A private JWK from the environment, as in production; or, so that newcomers need no setup, from a
 * file made on the first run.
 */
async function readSigningKey(folder: string): Promise<JWK> {
  const { KEYSCOPE_SIGNING_KEY: given } = process.env;
  const text = given || (await readSecret(join(folder, 'signing-key.json'), generate));
  try {
    return JSON.parse(text) as JWK;
  } catch {
    // The parser's own error quotes the secret.
    throw new TypeError('KEYSCOPE_SIGNING_KEY: pass a private JWK for ES256');
  }
}

export async function openTokens(
  folder: string,
  publicUrl: string,
  now: () => number,
): Promise<Tokens> {
  const issuer = publicUrl;
  const privateKey = await readSigningKey(folder);
  // An id derived from the key: another key has another.
  const kid = await calculateJwkThumbprint(privateKey);
  const issuerFor = (audience: string): TokenIssuer =>
    createTokenIssuer({ issuer, audience, privateKey, alg: ALG, kid, now });
  const jwks = await issuerFor(publicUrl).jwks();
  const verifierFor = (audience: string): TokenVerifier =>
    createTokenVerifier({ issuer, audience, jwks, algorithms: [ALG], catalog, now });
  const { rest, mcp } = audiences(publicUrl);
  return {
    issuers: { [rest]: issuerFor(rest), [mcp]: issuerFor(mcp) },
    verifiers: { [rest]: verifierFor(rest), [mcp]: verifierFor(mcp) },
    jwks,
  };
}
