/** The endpoints to manage keys, as one handler of fetch requests. */
import { isAccessError, isInputError } from '../core/errors.js';
import { assert } from '../core/input.js';
import { answerNothing } from '../http/answer.js';
import type { GrantAuthority } from '../management/authority.js';
import { askAuthority, isResponse } from './authority.js';
import { NO_INPUT } from './inputs.js';
import { type KeyAdminConfig, type KeyAdminOptions, readKeyAdminOptions } from './options.js';
import { isFromOwnPage } from './origin.js';
import { createDenial, createRefusal } from './refusal.js';
import { type Found, findRoutes, type Route } from './routes.js';
import { isJson, readJson, readQuery } from './sent.js';

/** What somebody else has read of a request. */
export interface KeyAdminInput {
  /**
   * The body, if a parser in front has read it: `req.body` of Express or of Fastify. The limit of
   * its length is the parser's. `undefined`: nobody has read the body.
   */
  readonly parsedBody?: unknown;
}

/**
 * Answers a request. Behind a body parser, hand over what it has read: `admin(request, {
 * parsedBody: req.body })`. Whatever else servers pass beside a request is ignored.
 */
export type KeyAdmin = (request: Request, input?: KeyAdminInput | object) => Promise<Response>;

const NOT_A_REQUEST =
  'admin: pass a fetch Request (Hono: c.req.raw); on node:http, Express or Fastify let ' +
  'getRequestListener of @hono/node-server make one';

/**
 * Makes the endpoints to manage keys, to be mounted under `basePath`:
 *
 * - `GET /keys` lists (`after`, `limit`, `addressing`), `POST /keys` issues;
 * - `GET /keys/{keyId}` reads one;
 * - `POST /keys/{keyId}/…` with `rotate`, `suspend`, `resume`, `revoke`, `revoke-lineage` or
 *   `withdraw` does that.
 *
 * Bodies and answers are JSON in the shapes of `keyscope/schemas`. A key is in the 201 answer of
 * `issue` or `rotate` and in no other. Denials are those of `toResponse`; beside them there are 404
 * for another path, 405 with `Allow`, 413 for more than 128 KiB, 415 for what is not
 * `application/json`, and 403 for requests of other sites' pages. `HEAD` is `GET` without the body,
 * and `OPTIONS` answers with `Allow`. A key that cannot be rotated because it is not live is 409.
 *
 * Nothing is read of a body before `authorityOf` has answered. If that throws what is no
 * `AccessError` and no `StoreError`, or returns what is no authority, the answer is 500, `onError`
 * hears of it, and nothing was done; if it does not answer in time, 503.
 *
 * Not checked: who is asking, which is up to `authorityOf`; how often, so put a rate limit in
 * front; how slowly a body arrives, which servers limit.
 *
 * @throws TypeError on an invalid option; later, on what is not a fetch `Request`.
 * @example
 * const admin = createKeyAdmin({ keyring, authorityOf, onError: console.error });
 * const response = await admin(request);
 */
export function createKeyAdmin(options: KeyAdminOptions): KeyAdmin {
  const config = readKeyAdminOptions(options);
  return async (request, input) => {
    assert(typeof request?.headers?.get === 'function', NOT_A_REQUEST);
    const parsedBody = (input as KeyAdminInput | undefined)?.parsedBody;
    const response = await answer(config, request, parsedBody);
    const isTooMuch = request.method === 'HEAD' && response.body !== null;
    return isTooMuch ? new Response(null, response) : response;
  };
}

async function answer(
  config: KeyAdminConfig,
  request: Request,
  parsedBody: unknown,
): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  // 1. Is there such a path, and does it have this method?
  const found = findBelow(config.basePath, pathname);
  if (found.routes.length === 0) return createRefusal('unknown_path');
  const allow = { Allow: methodsOf(found) };
  if (request.method === 'OPTIONS') return answerNothing(allow);
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const route = found.routes.find((each) => each.method === method);
  if (route === undefined) return createRefusal('unknown_method', allow);
  // 2. Can no other site's page have sent it?
  if (route.method === 'POST') {
    if (!isFromOwnPage(request, config.origins)) return createRefusal('cross_site');
    if (!isJson(request)) return createRefusal('media_type', { Accept: 'application/json' });
  }
  try {
    // 3. On whose behalf? Nothing of the body is read before.
    const { authorityOf, authorityTimeoutMs } = config;
    const authority = await askAuthority(authorityOf, authorityTimeoutMs, request, route.operation);
    if (isResponse(authority)) return authority;
    // 4. What exactly? The keyring decides whether.
    const query = readQuery(searchParams);
    if (route.method === 'GET') return await run(config, found, route, authority, query);
    NO_INPUT.read(query);
    const { body, refusal } = await readJson(request, parsedBody);
    if (refusal !== undefined) return createRefusal(refusal);
    return await run(config, found, route, authority, body);
  } catch (error) {
    if (!isAccessError(error) && !isInputError(error)) config.report(error);
    return createDenial(error, config.realm);
  }
}

function run(
  { keyring, basePath }: KeyAdminConfig,
  { keyId }: Found,
  route: Route,
  authority: GrantAuthority,
  sent: unknown,
): Promise<Response> {
  return route.run({ keyring, authority, keyId, basePath }, sent);
}

/** Nothing, for a path that is not below the base path. */
function findBelow(basePath: string, pathname: string): Found {
  const isBelow = pathname === basePath || pathname.startsWith(`${basePath}/`);
  return isBelow ? findRoutes(pathname.slice(basePath.length)) : { routes: [], keyId: '' };
}

/** What `Allow` says (RFC 9110 §10.2.1). */
function methodsOf({ routes }: Found): string {
  const methods = routes.map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method));
  return [...methods, 'OPTIONS'].join(', ');
}
