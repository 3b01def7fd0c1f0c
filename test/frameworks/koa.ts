/** The contract's routes on Koa. */
import Router from '@koa/router';
import Koa from 'koa';
import type { Guarded } from './.project/koa/adapter.ts';
import { createGuard } from './.project/koa/adapter.ts';
import { entitiesOf, overHttp, type Serve } from './served.ts';

export { createGuard };

export const serve: Serve = ({ handle, ...options }, { errors, cache }) => {
  const guard = createGuard(options);
  const answer: Koa.Middleware<Guarded> = (ctx) => {
    if (cache !== undefined) ctx.set('Cache-Control', cache);
    ctx.body = handle(ctx.state.principal, ctx.state.entityId);
  };
  const router = new Router<Guarded>();
  router.get('/whoami', guard('whoami'), answer);
  router.get('/reports', guard('readReports', { entity: entitiesOf }), answer);
  const app = new Koa().use(router.routes());
  app.on('error', (error) => errors.push(error));
  return overHttp(app.callback());
};
