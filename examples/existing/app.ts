import { getRequestListener } from '@hono/node-server';
import express, { type RequestHandler } from 'express';
import { createGuard } from '../express/adapter.ts';
import { withSession } from '../express/with-session.ts';
import { keyring } from './access.ts';
import { mcp } from './mcp.ts';
import { addInvoice, invoicesOf, personOf, projectsOf } from './product.ts';
import { settings } from './settings.ts';

const session: RequestHandler = async (req, res, next) => {
  const person = await personOf(req.headers.cookie);
  if (person === null) return void res.status(401).json({ message: 'Sign in.' });
  req.entityId = person.organizationId; // As the guard does for keys.
  return next();
};
const either = withSession(createGuard({ keyring, onError: console.error }), session);

export const app = express();
app.use(express.json());
app.all('/settings/keys{/*path}', (req, res, next) =>
  getRequestListener((request) => settings(request, { parsedBody: req.body }), {
    errorHandler: next,
  })(req, res),
);
app.all('/mcp', (req, res, next) =>
  getRequestListener((request) => mcp(request, req.body), { errorHandler: next })(req, res),
);
app.get('/projects', either('listProjects'), async (req, res) => {
  res.json(await projectsOf(req.entityId));
});
app.get('/invoices', either('listInvoices'), async (req, res) => {
  res.json(await invoicesOf(req.entityId));
});
app.post('/invoices', either('createInvoice'), async (req, res) => {
  res.status(201).json(await addInvoice(req.entityId, req.body));
});
