/**
 * A service behind the gate: takes the platform's tokens, and needs nothing but the address of its public keys. What it
 * does not see is that a key was revoked; a token lives for 15 minutes at the most. Where that is too long and the key
 * store can be reached, hand over a keyring made with the verifier as `tokens`: it looks the key up on each use.
 *
 *   const tokens = createTokens({ issuer, audience, jwks: new URL(`${issuer}/.well-known/jwks.json`) });
 *   createServer(tokens, 'reports').listen(8080); // without any database
 *   createServer(createKeyring({ …, store, tokens }), 'reports').listen(8080); // revocation on use
 */
import type { Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { Principal, TokenVerifier } from 'keyscope';
import { AccessError, isAccessError, isStoreError, parseAuthorization, toMe, toResponse } from 'keyscope';
import { createTokenVerifier, type TokenVerifierOptions } from 'keyscope/jwt';
import { catalog } from '../platform/catalog.ts';
import { createNodeServer } from '../platform/http.ts';
import { policy } from '../platform/policy.ts';

/** What tells who calls: a keyring, or a verifier alone. */
type Door = { authenticate(request: Request): Promise<Principal> };

/** A verifier of the platform's tokens. */
export const createTokens = (options: Omit<TokenVerifierOptions, 'algorithms' | 'catalog'>): TokenVerifier =>
  createTokenVerifier({ ...options, algorithms: ['ES256'], catalog });

/** Headers are read as a keyring reads them; only tokens are taken. */
const doorOf = (tokens: TokenVerifier): Door => ({
  async authenticate({ headers }) {
    const credential = parseAuthorization(headers.get('authorization'));
    if (credential.kind === 'bearer') return tokens.verify(credential.token);
    if (credential.kind === 'malformed') throw new AccessError('invalid_request', 'malformed_header');
    throw new AccessError('missing_credentials', 'no_header');
  },
});

export function createServer(given: Door | TokenVerifier, realm: string): Server {
  const door = 'authenticate' in given ? given : doorOf(given);
  const app = new Hono();
  app.use((c, next) => {
    c.res.headers.set('Cache-Control', 'no-store');
    return next();
  });
  app.get('/v1/me', async (c) => c.json(toMe(await door.authenticate(c.req.raw))));
  app.get('/v1/reports/executive', async (c) => {
    const principal = await door.authenticate(c.req.raw);
    const entityUuid = policy.authorize(principal, 'exportReport', { entityUuid: c.req.queries('entity_uuid') });
    return c.json({ entity_uuid: entityUuid, rows: [] });
  });
  app.onError((error) => {
    if (!isAccessError(error) && !isStoreError(error)) console.error(error);
    const { status, headers, body } = toResponse(error, { realm });
    return new Response(body, { status, headers });
  });
  return createNodeServer(getRequestListener(app.fetch));
}
