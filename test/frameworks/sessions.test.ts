/** A person whom express-session knows manages keys, mounted as in docs/admin.md. */
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import { createKeyring, defineScopes, type GrantAuthority } from 'keyscope';
import { createKeyAdmin } from 'keyscope/admin';
import { memoryStore } from 'keyscope/stores/memory';
import { expect, onTestFinished, test } from 'vitest';
import { describeInstalled } from './installed.ts';
import { overHttp } from './served.ts';

declare module 'express-session' {
  interface SessionData {
    entityId: string;
  }
}

const catalog = defineScopes({ projects: { read: 'List projects.' } });
const keyring = createKeyring({
  prefix: 'acme',
  catalog,
  store: memoryStore(),
  peppers: 'none',
  entityIds: 'text',
});

const people = new WeakMap<Request, GrantAuthority>();
const admin = createKeyAdmin({ keyring, authorityOf: (request) => people.get(request) ?? null });

async function serve(): Promise<string> {
  const { default: session } = await import('express-session');
  const app = express();
  app.use(session({ secret: 'of a test', resave: false, saveUninitialized: false }));
  app.use(express.json());
  app.post('/sign-in/:entityId', (req, res) => {
    req.session.entityId = req.params.entityId;
    res.end();
  });
  app.all('/keys{/*path}', (req, res) =>
    getRequestListener((request) => {
      const { entityId } = req.session;
      if (entityId !== undefined) people.set(request, { entityId, scopes: 'all', actor: 'ada' });
      return admin(request, { parsedBody: req.body as unknown });
    })(req, res),
  );
  const { url, close } = await overHttp(app);
  onTestFinished(async () => void (await close?.()));
  return url;
}

describeInstalled('a session of express-session', () => {
  test('reaches authorityOf, and each request has only its own person', async () => {
    const url = await serve();
    async function signIn(entityId: string) {
      const signedIn = await fetch(`${url}/sign-in/${entityId}`, { method: 'POST' });
      return { Cookie: signedIn.headers.getSetCookie()[0] ?? '' };
    }
    const [ours, theirs] = await Promise.all([signIn('org_a'), signIn('org_b')]);
    const created = await fetch(`${url}/keys`, {
      method: 'POST',
      headers: { ...ours, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'CI', scopes: ['projects:read'], expiresAt: 'never' }),
    });
    expect(created.status).toBe(201);
    async function list(headers: Readonly<Record<string, string>>) {
      const response = await fetch(`${url}/keys`, { headers });
      const { keys } = (await response.json()) as { readonly keys?: readonly object[] };
      return [response.status, keys?.length];
    }
    const lists = await Promise.all(
      [ours, theirs, {}, ours, { Cookie: 'connect.sid=x' }].map(list),
    );
    expect(lists).toEqual([
      [200, 1],
      [200, 0],
      [401, undefined],
      [200, 1],
      [401, undefined],
    ]);
  });
});
