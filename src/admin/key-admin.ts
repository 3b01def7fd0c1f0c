/** The endpoints to manage keys, as one handler of fetch requests. */
import { isAccessError, isInputError } from '../core/errors.js';
import { answerNothing, isResponse } from '../http/answer.js';
import { createFetchHandler, Refusal, requireRoute } from '../http/fetch-handler.js';
import type { GrantAuthority } from '../management/authority.js';
import { askAuthority } from './ask-authority.js';
import { answerThrown } from './denials.js';
import { type Found, findRoutes, type Route } from './endpoints.js';
import { NO_INPUT } from './inputs.js';
import {
  type KeyAdminConfig,
  type KeyAdminOptions,
  readKeyAdminOptions,
} from './key-admin-options.js';
import { isFromOwnPage } from './origin.js';
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
 * A 400 says what is allowed, and never what was sent. A 401 to a page, which has a cookie or Fetch
 * metadata and no `Authorization`, has the challenge `Cookie` and not `Bearer`: a person has no key
 * to send.
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
  const handle = createFetchHandler<KeyAdminInput | object, Response>(
    'admin',
    (request, input) => answer(config, request, input as KeyAdminInput | undefined),
    (error, sender) => {
      if (!isAccessError(error) && !isInputError(error)) config.report(error);
      return answerThrown(error, sender, config.realm);
    },
    config.report,
  );
  return async (request, input) => {
    const response = await handle(request, input);
    const isTooMuch = request.method === 'HEAD' && response.body !== null;
    return isTooMuch ? new Response(null, response) : response;
  };
}

async function answer(
  config: KeyAdminConfig,
  request: Request,
  input: KeyAdminInput | undefined,
): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  // 1. Is there such a path, and does it have this method?
  const found = findBelow(config.basePath, pathname);
  const allowed = methodsOf(found);
  const isKnown = found.routes.length > 0;
  if (isKnown && request.method === 'OPTIONS') return answerNothing({ Allow: allowed.join(', ') });
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const route = requireRoute(found.routes, method, allowed);
  // 2. Can no other site's page have sent it?
  if (route.method === 'POST') {
    if (!isFromOwnPage(request, config.origins)) throw new Refusal('cross_site');
    if (!isJson(request)) throw new Refusal('media_type', { Accept: 'application/json' });
  }
  // 3. On whose behalf? Nothing of the body is read before.
  const { authorityOf, authorityTimeoutMs } = config;
  const authority = await askAuthority(authorityOf, authorityTimeoutMs, request, route.operation);
  if (isResponse(authority)) return authority;
  // 4. What exactly? The keyring decides whether.
  const query = readQuery(searchParams);
  if (route.method === 'GET') return run(config, found, route, authority, query);
  NO_INPUT.read(query);
  const body = await readJson(request, input?.parsedBody);
  return run(config, found, route, authority, body);
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

function methodsOf({ routes }: Found): readonly string[] {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'];
}
