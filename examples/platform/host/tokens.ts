/**
 * Short-lived tokens for the platform's keys, and the tokens of CI that act as keys without a
 * secret. REST and MCP have separate audiences, so that a token for one does not open the other.
 */
import { join } from 'node:path';
import type { JSONWebKeySet, JWK } from 'jose';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import type { TokenVerifier } from 'keyscope';
import type { TokenIssuer } from 'keyscope/jwt';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { createKeylessVerifier, type KeylessIssuer } from 'keyscope/keyless';
import { z } from 'zod';
import { catalog } from '../service/catalog.ts';
import { reportError } from '../service/problem.ts';
import { readSecret } from './secret-file.ts';

const ALG = 'ES256';

/** The published key set (RFC 7517 §5). */
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
  readonly verifiers: Readonly<Record<string, readonly TokenVerifier[]>>;
  readonly jwks: JSONWebKeySet;
}

export interface Audiences {
  readonly rest: string;
  readonly mcp: string;
}

/** Returns the audiences of the tokens (`aud`). They come from configuration only. */
export function audiences(publicUrl: string): Audiences {
  return { rest: `${publicUrl}/v1`, mcp: `${publicUrl}/mcp` };
}

async function generate(): Promise<string> {
  const { privateKey } = await generateKeyPair(ALG, { extractable: true });
  return JSON.stringify(await exportJWK(privateKey));
}

/**
 * Reads a private JWK from the environment, as in production. Otherwise it reads a file, which the
 * first run creates so that the demo needs no setup.
 */
async function readSigningKey(folder: string): Promise<JWK> {
  const { KEYSCOPE_SIGNING_KEY: given } = process.env;
  const text = given || (await readSecret(join(folder, 'signing-key.json'), generate));
  try {
    return JSON.parse(text) as JWK;
  } catch {
    // The parser's error would quote the secret.
    throw new TypeError('KEYSCOPE_SIGNING_KEY is not JSON. Set it to a private JWK for ES256');
  }
}

export async function openTokens(
  folder: string,
  publicUrl: string,
  now: () => number,
  issuers: readonly KeylessIssuer[],
): Promise<Tokens> {
  const issuer = publicUrl;
  const privateKey = await readSigningKey(folder);
  // The id is derived from the key, so another key has another id.
  const kid = await calculateJwkThumbprint(privateKey);
  const issuerFor = (audience: string): TokenIssuer =>
    createTokenIssuer({ issuer, audience, privateKey, alg: ALG, kid, now });
  const jwks = await issuerFor(publicUrl).jwks();
  const verifiersFor = (audience: string): readonly TokenVerifier[] => [
    createTokenVerifier({ issuer, audience, jwks, algorithms: [ALG], catalog, now }),
    createKeylessVerifier({ audience, issuers, now, onError: reportError }),
  ];
  const { rest, mcp } = audiences(publicUrl);
  return {
    issuers: { [rest]: issuerFor(rest), [mcp]: issuerFor(mcp) },
    verifiers: { [rest]: verifiersFor(rest), [mcp]: verifiersFor(mcp) },
    jwks,
  };
}
