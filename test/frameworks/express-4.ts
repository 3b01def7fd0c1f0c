/** The contract's routes on Express 4, with the same adapter as on Express 5. */
import { createRequire } from 'node:module';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { createGuard } from './.project/express/adapter.ts';
import { entitiesOf, overHttp, type Serve } from './served.ts';

export { createGuard };

const express = createRequire(import.meta.url)('express-4') as typeof import('express');

export const serve: Serve = ({ handle, ...options }, { errors, cache }) => {
  const guard = createGuard(options);
  const app = express();
  const answer = (req: Request, res: Response) => {
    if (cache !== undefined) res.set('Cache-Control', cache);
    res.send(handle(req.principal, req.entityId));
  };
  app.get('/whoami', guard('whoami'), answer);
  app.get('/reports', guard('readReports', { entity: entitiesOf }), answer);
  const onError: ErrorRequestHandler = (error, _req, res, _next) => {
    errors.push(error);
    res.status(500).end();
  };
  return overHttp(app.use(onError));
};
