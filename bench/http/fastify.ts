/** The servers on Fastify. */
import type { RequestListener } from 'node:http';
import type {
  FastifyInstance,
  FastifyPluginCallback,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
} from 'fastify';
import { fastify } from 'fastify';
import { createGuard } from '../../examples/fastify/adapter.ts';
import { ENTITY } from '../keys.ts';
import { load } from '../peers/load.ts';
import { ourKeys, plainKeys, unread } from './credentials.ts';
import { answerTo, NOTHING, OURS, PATH, PLAIN, type Serve } from './route.ts';

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

interface BearerAuth {
  readonly keys?: ReadonlySet<string>;
  readonly auth?: (token: string) => boolean;
}

interface Plugin {
  readonly default: FastifyPluginCallback<BearerAuth>;
}

async function behindBearerAuth(options: BearerAuth): Promise<RequestListener> {
  const { default: plugin } = (await load('@fastify/bearer-auth')) as Plugin;
  return onRoute(undefined, (app) => app.register(plugin, options));
}

export const onFastify: Readonly<Record<string, Serve>> = {
  bare: async () => ({ ...unread(), listener: await onRoute() }),
  [NOTHING]: async () => ({
    ...unread(),
    listener: await onRoute((_request, _reply, done) => done()),
  }),
  [PLAIN]: async () => {
    const { entityOf, credentials } = plainKeys();
    const hook: onRequestHookHandler = (request, reply, done) => {
      reply.header('Cache-Control', 'no-store');
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
    return { ...credentials, listener: await onRoute(createGuard(guarding)('listThreats')) };
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
