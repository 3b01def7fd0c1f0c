/**
 * A resource server: it accepts the platform's tokens, and needs only the URL of the public keys.
 * It does not notice that a key was revoked, and a token lives for up to 15 minutes. If that is too
 * long and you can reach the key store, pass a keyring with the verifier as `tokens`. The keyring
 * looks up the key on each use.
 *
 *   const jwks = new URL(`${issuer}/.well-known/jwks.json`);
 *   const tokens = createTokens({ issuer, audience, jwks });
 *   createServer(tokens, 'reports').listen(8080); // without a database
 *   createServer(createKeyring({ …, store, tokens }), 'reports').listen(8080); // checks revocation
 *
 * Start the platform with `npm run demo`, and then this server with
 * `npx node examples/more/resource-server/server.ts`.
 */
import type { Server } from 'node:http';
import { parseArgs } from 'node:util';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { Principal } from 'keyscope';
import { AccessError, isAccessError, parseAuthorization, toMe, toResponse } from 'keyscope';
import { createTokenVerifier, type JwtVerifier, type TokenVerifierOptions } from 'keyscope/jwt';
import { REALM } from '../../platform/host/http.ts';
import { atFirstSignal, listen, readPort, stop, whyNot } from '../../platform/host/listen.ts';
import { createNodeServer } from '../../platform/host/node-server.ts';
import { audiences } from '../../platform/host/tokens.ts';
import { catalog } from '../../platform/service/catalog.ts';
import { policy } from '../../platform/service/policy.ts';
import type { Report } from '../../platform/service/problem.ts';
import { reportError } from '../../platform/service/problem.ts';

/** Authenticates the caller: a keyring, or only a verifier. */
interface Door {
  authenticate(request: Request): Promise<Principal>;
}

/** Makes a verifier for the platform's tokens. */
export function createTokens(
  options: Omit<TokenVerifierOptions, 'algorithms' | 'catalog'>,
): JwtVerifier {
  return createTokenVerifier({ ...options, algorithms: ['ES256'], catalog });
}

/** Reads headers like a keyring, and accepts only tokens. */
function doorOf(tokens: JwtVerifier): Door {
  return {
    async authenticate({ headers }) {
      const credential = parseAuthorization(headers.get('authorization'));
      if (credential.kind === 'bearer') return tokens.verify(credential.token);
      if (credential.kind === 'malformed')
        throw new AccessError('invalid_request', 'malformed_header');
      throw new AccessError('missing_credentials', 'no_header');
    },
  };
}

export function createServer(
  given: Door | JwtVerifier,
  realm: string,
  report: Report = reportError,
): Server {
  const door = 'authenticate' in given ? given : doorOf(given);
  const app = new Hono();
  app.use((c, next) => {
    c.res.headers.set('Cache-Control', 'no-store');
    return next();
  });
  app.get('/v1/me', async (c) => c.json(toMe(await door.authenticate(c.req.raw))));
  app.get('/v1/reports/executive', async (c) => {
    const principal = await door.authenticate(c.req.raw);
    const entityId = policy.authorize(principal, 'exportReport', {
      entityId: c.req.queries('entity_uuid'),
    });
    return c.json({ entity_uuid: entityId, rows: [] });
  });
  app.onError((error) => {
    if (!isAccessError(error)) report(error);
    const { status, headers, body } = toResponse(error, { realm });
    return new Response(body, { status, headers });
  });
  return createNodeServer(getRequestListener(app.fetch));
}

// ── Behind the demo ─────────────────────────────────────────────────────────────────────────────

const HELP = `Usage: npx node examples/more/resource-server/server.ts [--help]

Accepts the tokens of a running platform, which you start with npm run demo. The environment
variables PORT (default: 8788) and PLATFORM_URL (default: http://127.0.0.1:8787), the public URL of
the platform, are optional.`;

/** Explains how to get a token from the platform, and how to use it here. */
function instructions(platform: string, url: string): string {
  const grants = 'urn:ietf:params:oauth:grant-type';
  const types = 'urn:ietf:params:oauth:token-type';
  return `The resource server is up at ${url}

It accepts tokens of ${platform} for the REST interface, and serves a part of that
interface. Set KEY to the key that the platform printed, and exchange it for a token:

  TOKEN=$(curl -s ${platform}/v1/token \\
    -d grant_type=${grants}:token-exchange \\
    -d subject_token_type=${types}:access_token \\
    --data-urlencode "subject_token=$KEY" --data-urlencode "resource=${audiences(platform).rest}" |
    sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')

Try:

  curl -i -H "Authorization: Bearer $TOKEN" ${url}/me
      200: the content of the token, without a database

  curl -i -H "Authorization: Bearer $TOKEN" ${url}/reports/executive
      200: a report, or 403 if the key lacks reports:read

  curl -i -H "Authorization: Bearer $KEY" ${url}/me
      401: this server accepts tokens, not keys

Stop: Ctrl-C`;
}

/** Returns false, so that nothing starts, for `--help` and for wrong arguments. */
function readCommandLine(): boolean {
  try {
    const { help } = parseArgs({ options: { help: { type: 'boolean' } } }).values;
    if (!help) return true;
    console.log(HELP);
  } catch {
    process.exitCode = 1;
    console.error(HELP);
  }
  return false;
}

async function start(): Promise<void> {
  const { PLATFORM_URL } = process.env;
  const issuer = PLATFORM_URL || 'http://127.0.0.1:8787';
  // The platform makes tokens only for its own interfaces. This server is a part of REST.
  const audience = audiences(issuer).rest;
  const jwks = new URL(`${issuer}/.well-known/jwks.json`);
  const server = createServer(createTokens({ issuer, audience, jwks }), REALM);
  const url = await listen(server, readPort(8788));
  atFirstSignal(() => stop(server));
  console.log(instructions(issuer, url));
}

async function main(): Promise<void> {
  if (!readCommandLine()) return;
  try {
    await start();
  } catch (error) {
    console.error(whyNot(error));
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();
