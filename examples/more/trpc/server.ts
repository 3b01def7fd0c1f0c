import { initTRPC } from '@trpc/server';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { keyring } from '../keys.ts';
import type { Context } from './adapter.ts';
import { createGuard, createResponseMeta } from './adapter.ts';

const guard = createGuard({ keyring });
const entity = (input: unknown) => (input as { entityId?: unknown } | undefined)?.entityId;

const t = initTRPC.context<Context>().create();
const router = t.router({
  projects: t.procedure
    .use(guard('listProjects', { entity }))
    .query(({ ctx }) => ({ projects: [], entity: ctx.entityId })),
});

export const server = createHTTPServer({
  router,
  createContext: ({ req }): Context => ({ req }),
  responseMeta: createResponseMeta({ realm: 'acme' }),
});
if (import.meta.main) server.listen(3000);
