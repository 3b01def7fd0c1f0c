/**
 * The contract's routes on Elysia, through fetch. `runtime-contract.ts` runs them on Bun's server.
 */
import { Elysia } from 'elysia';
import { createGuard } from './.project/elysia/adapter.ts';
import { entitiesOf, type Serve } from './served.ts';

export { createGuard };

export const serve: Serve = ({ handle, ...options }, { errors, cache }) => {
  const guard = createGuard(options);
  const app = new Elysia()
    .onError(({ error, set }) => {
      errors.push(error);
      set.status = 500;
      return 'failed';
    })
    .get(
      '/whoami',
      guard('whoami')(({ principal, entityId, set }) => {
        if (cache !== undefined) set.headers['cache-control'] = cache;
        return handle(principal, entityId);
      }),
    )
    .get(
      '/reports',
      guard('readReports', { entity: entitiesOf })(({ principal, entityId }) => {
        const headers = cache === undefined ? {} : { 'Cache-Control': cache };
        return new Response(handle(principal, entityId), { headers });
      }),
    );
  return { fetch: (request: Request) => app.handle(request) };
};
