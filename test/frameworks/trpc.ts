/**
 * The contract's routes as procedures of tRPC, over its own HTTP server. A server in front puts the
 * query into tRPC's input and takes the answer out of tRPC's envelope.
 */
import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import { initTRPC } from '@trpc/server';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';
import { AccessError, StoreError, toResponse } from 'keyscope';
import type { Context } from './.project/trpc/adapter.ts';
import { createGuard, createResponseMeta } from './.project/trpc/adapter.ts';
import { entitiesOf, overHttp, type Serve, type Setup, type Spy } from './served.ts';

export { createGuard };

function createListener({ handle, ...options }: Setup, { errors }: Spy): RequestListener {
  const { realm, resourceMetadata } = options;
  const guard = createGuard(options);
  const entity = (input: unknown) => (input as { entity?: unknown } | undefined)?.entity;
  const t = initTRPC.context<Context>().create();
  const router = t.router({
    whoami: t.procedure
      .use(guard('whoami'))
      .query(({ ctx }) => handle(ctx.principal, ctx.entityId)),
    reports: t.procedure
      .use(guard('readReports', { entity }))
      .query(({ ctx }) => handle(ctx.principal, ctx.entityId)),
  });
  return createHTTPHandler({
    router,
    createContext: ({ req }): Context => ({ req }),
    responseMeta: createResponseMeta({ realm, resourceMetadata }),
    onError: ({ error }) => errors.push(error),
  });
}

/** Makes the path that a tRPC client requests, with the entities in the input. */
function pathOf(req: IncomingMessage): string {
  const url = new URL(req.url ?? '/', 'http://localhost');
  const entities = entitiesOf(req);
  if (entities.length > 0) url.searchParams.set('input', JSON.stringify({ entity: entities }));
  return url.pathname + url.search;
}

interface Envelope {
  readonly result?: { readonly data: string };
  readonly error?: { readonly message: string };
}

/** Every denial with a separate sentence. */
const DENIALS = [
  ['missing_credentials', 'no_header'],
  ['invalid_request', 'malformed_header'],
  ['invalid_request', 'quoted_key'],
  ['invalid_request', 'malformed_entity'],
  ['invalid_request', 'repeated_entity'],
  ['invalid_token', 'unknown_key'],
  ['insufficient_scope', 'scope_missing'],
  ['entity_forbidden', 'entity_not_accessible'],
] as const;

/** Returns the document of `toResponse` that has this sentence, or undefined. */
function problemOf(sentence: string, realm: string): string | undefined {
  const requiredScopes = ['reports:read'];
  const denials = DENIALS.map(([code, reason]) => {
    const details = code === 'insufficient_scope' ? { requiredScopes } : {};
    return new AccessError(code, reason, details);
  });
  const problems = [...denials, new StoreError('')].map((error) => toResponse(error, { realm }));
  return problems.find(({ body }) => body.includes(JSON.stringify(sentence)))?.body;
}

/** Returns what the contract compares: the text of a handler, or the document of a denial. */
function unwrap(body: string, realm: string): { readonly body: string; readonly type: string } {
  if (body === '') return { body, type: '' };
  const { result, error } = JSON.parse(body) as Envelope;
  if (result !== undefined) return { body: result.data, type: 'text/plain' };
  const problem = problemOf(error?.message ?? '', realm);
  if (problem === undefined) return { body, type: 'application/json' };
  return { body: problem, type: 'application/problem+json' };
}

export const serve: Serve = async (setup, spy) => {
  const behind = await overHttp(createListener(setup, spy));
  const front = await overHttp(async (req, res) => {
    // Passes `rawHeaders` on, so that two lines stay two.
    const { method, rawHeaders: headers } = req;
    const forwarded = send(behind.url + pathOf(req), { method, headers }).end();
    const [answer] = (await once(forwarded, 'response')) as [IncomingMessage];
    const { body, type } = unwrap(await text(answer), setup.realm);
    const { 'content-length': _, 'transfer-encoding': __, ...rest } = answer.headers;
    const answered = { ...rest, 'content-type': type };
    res.writeHead(answer.statusCode ?? 0, answered).end(body);
  });
  return {
    ...front,
    async close() {
      await front.close?.();
      await behind.close?.();
    },
  };
};
