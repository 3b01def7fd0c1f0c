/**
 * The servers that the HTTP part loads: one route on four frameworks, each bare, behind a
 * middleware that does nothing, behind the hand-written check, behind keyscope, and behind what
 * people install for it.
 */
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import type {
  FastifyInstance,
  FastifyPluginCallback,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
} from 'fastify';
import { fastify } from 'fastify';
import { Hono, type MiddlewareHandler } from 'hono';
import { bearerAuth } from 'hono/bearer-auth';
import { SignJWT } from 'jose';
import { createKeyring, definePolicy, isAccessError, toResponse } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { createGuard as createExpressGuard } from '../../examples/express/adapter.ts';
import { createGuard as createFastifyGuard } from '../../examples/fastify/adapter.ts';
import { createGuard as createHonoGuard, type Guarded } from '../../examples/hono/adapter.ts';
import { catalog, ENTITY, EXPIRES, type Headers, NEEDED, PREFIX, SCOPES } from '../keys.ts';
import { load } from '../peers/load.ts';
import { type Caller, check, digest, HttpError, issue, type Keys } from '../plain.ts';

/** What a server is asked with. */
export interface Credentials {
  /** Each is answered 200. */
  readonly tokens: readonly string[];
  /**
   * As genuine as those, but without the scope: answered 403. Only where the server knows scopes.
   */
  readonly underScoped?: string;
  /** Whether no credential, or another, is answered 401. */
  readonly guarded: boolean;
}

export interface Served extends Credentials {
  readonly listener: RequestListener;
}

type Serve = () => Served | Promise<Served>;

const COUNT = 1000;
export const PATH = '/threats';
export const answerTo = (entityUuid: string) => ({ entityUuid, threats: [] });

/** The yardstick's name, and ours. */
export const [PLAIN, OURS] = ['plain check', 'keyscope'];
const NOTHING = 'middleware that does nothing';

// ── Credentials ───────────────────────────────────────────────────────────────────────────────────────

function plainKeys() {
  const keys: Keys = new Map();
  const known = new Set(catalog.all);
  const make = (scopes: readonly string[]) =>
    issue(keys, known, { name: 'bench', entity: ENTITY, expiresAt: EXPIRES, scopes }).key;
  const tokens = Array.from({ length: COUNT }, () => make(SCOPES));
  const underScoped = make(['decoys:read']);
  const find = (key: string): Caller | undefined => keys.get(digest(key));
  const entityOf = (headers: IncomingHttpHeaders) =>
    check(keys, headers as Partial<Headers>, NEEDED).entity;
  return { entityOf, find, tokens, credentials: { tokens, underScoped, guarded: true } };
}

/** Sent to servers that do not look, too: a header costs something to read. */
const unread = (): Credentials => ({ tokens: plainKeys().tokens, guarded: false });

async function ourKeys() {
  const policy = definePolicy(catalog, { listThreats: [NEEDED] });
  const keyring = createKeyring({ prefix: PREFIX, catalog, store: memoryStore(), peppers: 'none' });
  const make = async (scopes: typeof SCOPES) =>
    (
      await keyring.issue(
        { name: 'bench', scopes, expiresAt: new Date(EXPIRES) },
        { entityUuid: ENTITY },
      )
    ).key;
  const tokens = await Promise.all(Array.from({ length: COUNT }, () => make(SCOPES)));
  return {
    guarding: { policy, keyring, realm: 'bench' },
    credentials: { tokens, underScoped: await make(['decoys:read']), guarded: true },
  };
}

async function jwts() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const [issuer, audience] = ['https://issuer.example/', 'https://api.example'];
  const make = (scope: string, subject: string) =>
    new SignJWT({ scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey);
  const tokens = await Promise.all(
    Array.from({ length: COUNT }, (_, i) => make(SCOPES.join(' '), `client ${i}`)),
  );
  const jwk = publicKey.export({ format: 'jwk' });
  return {
    options: { issuer, audience, publicKey: jwk },
    credentials: { tokens, underScoped: await make('decoys:read', 'client'), guarded: true },
  };
}

// ── node:http ─────────────────────────────────────────────────────────────────────────────────────────

const send = (response: Parameters<RequestListener>[1], entityUuid: string) =>
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answerTo(entityUuid)));

const onNode: Record<string, Serve> = {
  bare: () => ({ ...unread(), listener: (_request, response) => send(response, ENTITY) }),
  // Without a framework there is no middleware; this much an asynchronous handler costs.
  'an await of nothing': () => {
    const listener: RequestListener = async (_request, response) => {
      await undefined;
      send(response, ENTITY);
    };
    return { ...unread(), listener };
  },
  [PLAIN]: () => {
    const { entityOf, credentials } = plainKeys();
    const listener: RequestListener = (request, response) => {
      try {
        send(response, entityOf(request.headers));
      } catch (error) {
        response.writeHead(error instanceof HttpError ? error.status : 500).end();
      }
    };
    return { ...credentials, listener };
  },
  // As in the README's quick start.
  [OURS]: async () => {
    const { guarding, credentials } = await ourKeys();
    const { policy, keyring, realm } = guarding;
    const listener: RequestListener = async (request, response) => {
      response.setHeader('Cache-Control', 'no-store');
      try {
        const { entityUuid } = await keyring.admit(request, { policy, operation: 'listThreats' });
        send(response, entityUuid);
      } catch (error) {
        if (!isAccessError(error)) console.error(error);
        const { status, headers, body } = toResponse(error, { realm });
        response.writeHead(status, headers).end(body);
      }
    };
    return { ...credentials, listener };
  },
};

// ── Hono ──────────────────────────────────────────────────────────────────────────────────────────────

function hono(...middleware: readonly MiddlewareHandler<Guarded>[]): RequestListener {
  const app = new Hono<Guarded>();
  app.on('GET', [PATH], ...middleware, (c) => c.json(answerTo(c.get('entityUuid') ?? ENTITY)));
  app.onError((error) => {
    if ('getResponse' in error) return (error as { getResponse(): Response }).getResponse();
    return new Response(null, { status: error instanceof HttpError ? error.status : 500 });
  });
  return getRequestListener(app.fetch);
}

const onHono: Record<string, Serve> = {
  bare: () => ({ ...unread(), listener: hono() }),
  [NOTHING]: () => ({ ...unread(), listener: hono(async (_c, next) => await next()) }),
  [PLAIN]: () => {
    const { entityOf, credentials } = plainKeys();
    const listener = hono(async (c, next) => {
      c.set('entityUuid', entityOf({ authorization: c.req.header('Authorization') }));
      await next();
    });
    return { ...credentials, listener };
  },
  [OURS]: async () => {
    const { guarding, credentials } = await ourKeys();
    return { ...credentials, listener: hono(createHonoGuard(guarding)('listThreats')) };
  },
  'hono/bearer-auth, one token': () => {
    const [token = ''] = plainKeys().tokens;
    return { tokens: [token], guarded: true, listener: hono(bearerAuth({ token })) };
  },
  'hono/bearer-auth, look-up by hand': () => {
    const { find, tokens } = plainKeys();
    const listener = hono(bearerAuth({ verifyToken: (token) => find(token) !== undefined }));
    return { tokens, guarded: true, listener };
  },
};

// ── Fastify ───────────────────────────────────────────────────────────────────────────────────────────

type Hook = onRequestHookHandler | onRequestAsyncHookHandler;

async function onRoute(
  onRequest?: Hook,
  prepare?: (app: FastifyInstance) => unknown,
): Promise<RequestListener> {
  const app = fastify();
  await prepare?.(app);
  app.get(PATH, onRequest ? { onRequest } : {}, (request) =>
    answerTo(request.entityUuid ?? ENTITY),
  );
  await app.ready();
  return (request, response) => app.routing(request, response);
}

type BearerAuth = {
  readonly keys?: ReadonlySet<string>;
  readonly auth?: (token: string) => boolean;
};

async function behindBearerAuth(options: BearerAuth): Promise<RequestListener> {
  const { default: plugin } = (await load('@fastify/bearer-auth')) as {
    default: FastifyPluginCallback<BearerAuth>;
  };
  return onRoute(undefined, (app) => app.register(plugin, options));
}

const onFastify: Record<string, Serve> = {
  bare: async () => ({ ...unread(), listener: await onRoute() }),
  [NOTHING]: async () => ({
    ...unread(),
    listener: await onRoute((_request, _reply, done) => done()),
  }),
  [PLAIN]: async () => {
    const { entityOf, credentials } = plainKeys();
    const hook: onRequestHookHandler = (request, _reply, done) => {
      request.entityUuid = entityOf(request.headers);
      done();
    };
    return {
      ...credentials,
      listener: await onRoute(hook, (app) => app.decorateRequest('entityUuid', '')),
    };
  },
  [OURS]: async () => {
    const { guarding, credentials } = await ourKeys();
    return { ...credentials, listener: await onRoute(createFastifyGuard(guarding)('listThreats')) };
  },
  '@fastify/bearer-auth, 1,000 keys': async () => {
    const { tokens } = plainKeys();
    return { tokens, guarded: true, listener: await behindBearerAuth({ keys: new Set(tokens) }) };
  },
  '@fastify/bearer-auth, look-up by hand': async () => {
    const { find, tokens } = plainKeys();
    const listener = await behindBearerAuth({ auth: (token) => find(token) !== undefined });
    return { tokens, guarded: true, listener };
  },
};

// ── Express ───────────────────────────────────────────────────────────────────────────────────────────

function routed(...middleware: readonly RequestHandler[]): RequestListener {
  const app = express();
  app.get(PATH, ...middleware, (req, res) => void res.json(answerTo(req.entityUuid ?? ENTITY)));
  const onError: ErrorRequestHandler = (error, _req, res, _next) =>
    void res.status(error.status ?? 500).end();
  app.use(onError);
  return app;
}

type OAuth2 = {
  auth(options: object): RequestHandler;
  requiredScopes(scope: string): RequestHandler;
};

const onExpress: Record<string, Serve> = {
  bare: () => ({ ...unread(), listener: routed() }),
  [NOTHING]: () => ({ ...unread(), listener: routed((_req, _res, next) => next()) }),
  [PLAIN]: () => {
    const { entityOf, credentials } = plainKeys();
    const listener = routed((req, _res, next) => {
      req.entityUuid = entityOf(req.headers);
      next();
    });
    return { ...credentials, listener };
  },
  [OURS]: async () => {
    const { guarding, credentials } = await ourKeys();
    return { ...credentials, listener: routed(createExpressGuard(guarding)('listThreats')) };
  },
  'express-oauth2-jwt-bearer, RS256': async () => {
    const { options, credentials } = await jwts();
    const { auth, requiredScopes } = (await load('express-oauth2-jwt-bearer')) as OAuth2;
    return { ...credentials, listener: routed(auth(options), requiredScopes(NEEDED)) };
  },
};

/** Framework → case → its server. */
export const SERVERS: Readonly<Record<string, Readonly<Record<string, Serve>>>> = {
  'node:http': onNode,
  Hono: onHono,
  Fastify: onFastify,
  Express: onExpress,
};
