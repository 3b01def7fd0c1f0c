import Router from '@koa/router';
import Koa from 'koa';
import { keyring } from '../keys.ts';
import type { Guarded } from './adapter.ts';
import { createGuard } from './adapter.ts';

const guard = createGuard({ keyring });
// Not `ctx.query`, which stops at 1,000 parameters.
const entity = (ctx: Koa.Context) => new URLSearchParams(ctx.querystring).getAll('entity_uuid');

const router = new Router<Guarded>();
router.get('/projects', guard('listProjects', { entity }), (ctx) => {
  ctx.body = { projects: [], entity: ctx.state.entityId };
});

export const app = new Koa().use(router.routes());
if (import.meta.main) app.listen(3000);
