/**
 * A service behind the gate: accepts the platform's tokens, and needs only the address of its
 * public keys. It does not notice that a key was revoked; a token lives for at most 15 minutes. If
 * that is too long and the key store can be reached, pass a keyring made with the verifier as
 * `tokens`: it looks the key up on each use.
 *
 *   const jwks = new URL(`${issuer}/.well-known/jwks.json`);
 *   const tokens = createTokens({ issuer, audience, jwks });
 *   createServer(tokens, 'reports').listen(8080); // without any database
 *   createServer(createKeyring({ …, store, tokens }), 'reports').listen(8080); // revocation on use
 *
 * `npx node examples/more/resource-server/server.ts` starts it behind a platform started with `npm
 * run demo`.
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

/** What identifies the caller: a keyring, or just a verifier. */
interface Door {
  authenticate(request: Request): Promise<Principal>;
}

/** A verifier of the platform's tokens. */
export function createTokens(
  options: Omit<TokenVerifierOptions, 'algorithms' | 'catalog'>,
): JwtVerifier {
  return createTokenVerifier({ ...options, algorithms: ['ES256'], catalog });
}

/** Headers are read as a keyring reads them; only tokens are accepted. */
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
    const entityUuid = policy.authorize(principal, 'exportReport', {
      entityUuid: c.req.queries('entity_uuid'),
    });
    return c.json({ entity_uuid: entityUuid, rows: [] });
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

Takes the tokens of a platform that is running: start that with npm run demo. The environment
variables PORT (8788) and PLATFORM_URL (http://127.0.0.1:8787), what the platform calls itself, are
read.`;

/** How to exchange a key for a token there, and what the token opens here. */
function instructions(platform: string, url: string): string {
  const grants = 'urn:ietf:params:oauth:grant-type';
  const types = 'urn:ietf:params:oauth:token-type';
  return `The resource server is up at ${url}

It takes tokens of ${platform} that are for its REST interface, of which it serves
a part. Exchange the key that the platform showed, which is the variable KEY here:

  TOKEN=$(curl -s ${platform}/v1/token \\
    -d grant_type=${grants}:token-exchange \\
    -d subject_token_type=${types}:access_token \\
    --data-urlencode "subject_token=$KEY" --data-urlencode "resource=${audiences(platform).rest}" |
    sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')

Try:

  curl -i -H "Authorization: Bearer $TOKEN" ${url}/me
      200: what the token says, for no database is asked

  curl -i -H "Authorization: Bearer $TOKEN" ${url}/reports/executive
      200: a report; 403 where the key has no reports:read

  curl -i -H "Authorization: Bearer $KEY" ${url}/me
      401: keys are for the platform alone

Stop: Ctrl-C`;
}

/** Whether there is anything to start: not if the command line asks for help, or is wrong. */
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
  // The platform makes tokens only for its own doors. This is a part of one of them, served
  // separately.
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
