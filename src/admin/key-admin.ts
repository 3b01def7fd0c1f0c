/** The endpoints that manage keys, as one handler of fetch requests. */
import { isAccessError, isInputError } from '../core/errors.js';
import { answerNothing, isResponse, type Problem } from '../http/answer.js';
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

const MEDIA_TYPE: Problem = {
  status: 415,
  detail: 'Send a JSON object, if only {}, with "Content-Type: application/json".',
};

const CROSS_SITE: Problem = {
  status: 403,
  detail:
    'Pages of another origin may not do this. To allow a page of your own, add its origin in ' +
    'the server: createKeyAdmin({ origins }).',
};

/** The part of a request that a body parser has read before. */
export interface KeyAdminInput {
  /**
   * The body from a parser in front, such as `req.body` in Express or Fastify. The parser then
   * limits its length. `undefined` if nothing has read the body.
   */
  readonly parsedBody?: unknown;
}

/**
 * Answers a request. Behind a body parser, pass the parsed body: `admin(request, { parsedBody:
 * req.body })`. Other arguments that servers pass are ignored.
 */
export type KeyAdmin = (request: Request, input?: KeyAdminInput | object) => Promise<Response>;

/**
 * Makes the endpoints that manage keys. Mount them under `basePath`:
 *
 * - `GET /keys` lists (`after`, `limit`, `addressing`), `POST /keys` issues;
 * - `POST /keys/keyless` issues one without a secret, if the keyring has `tokens`;
 * - `GET /keys/{keyId}` reads one;
 * - `POST /keys/{keyId}/…` with `rotate`, `suspend`, `resume`, `revoke`, `revoke-lineage` or
 *   `withdraw` changes one.
 *
 * Bodies and answers are JSON in the shapes of `keyscope/schemas`. Only the 201 answers of `issue`
 * and `rotate` contain a key. Denials are those of `toResponse`. In addition, there are 404 for an
 * unknown path, 405 with `Allow`, 413 for more than 128 KiB, 415 unless the body is
 * `application/json`, and 403 for requests from pages of other sites. `HEAD` is `GET` without the
 * body, and `OPTIONS` answers with `Allow`.
 *
 * A 400 says what is allowed and never repeats the input. A challenge names `Cookie` instead of
 * `Bearer` if a page sent the request, because a person does not have a key to send. Such a request
 * has a cookie or Fetch metadata, and no `Authorization`.
 *
 * `authorityOf` answers before any part of a body is read. If it throws anything except an
 * `AccessError` or a `StoreError`, or returns anything except an authority, `null`, `'forbidden'`
 * or a `Response`, nothing is done, the answer is 500, and `onError` gets the error. If it does not
 * answer in time, the answer is 503.
 *
 * Not checked: the caller, whom `authorityOf` authenticates; the rate of requests, so put a limit
 * in front; slow bodies, which servers limit.
 *
 * @throws TypeError on an invalid option; the handler throws it if it does not get a `Request`.
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
  // 1. Does the path exist, and does it have this method?
  const found = findBelow(config.basePath, pathname);
  const allowed = methodsOf(found);
  const isKnown = found.routes.length > 0;
  if (isKnown && request.method === 'OPTIONS') return answerNothing({ Allow: allowed.join(', ') });
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const route = requireRoute(found.routes, method, allowed);
  // 2. Is it certain that no page of another site sent it?
  if (route.method === 'POST') {
    if (!isFromOwnPage(request, config.origins)) throw new Refusal(CROSS_SITE);
    if (!isJson(request)) throw new Refusal(MEDIA_TYPE, { Accept: 'application/json' });
  }
  // 3. Who asks? The body has not been read yet.
  const { authorityOf, authorityTimeoutMs } = config;
  const authority = await askAuthority(authorityOf, authorityTimeoutMs, request, route.operation);
  if (isResponse(authority)) return authority;
  // 4. What is the input? The keyring decides whether it is allowed.
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

/** Returns no routes for a path that is not below the base path. */
function findBelow(basePath: string, pathname: string): Found {
  const isBelow = pathname === basePath || pathname.startsWith(`${basePath}/`);
  return isBelow ? findRoutes(pathname.slice(basePath.length)) : { routes: [], keyId: '' };
}

function methodsOf({ routes }: Found): readonly string[] {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'];
}
