/**
 * One of several processes that serve the console: `console-child.ts`, with the folder in the
 * variable `FOLDER`. Its sessions are in a database that all processes share.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { deleteCookie, setCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import { createServer, findMember } from '../../examples/console/server.ts';
import type { SignIn } from '../../examples/console/service.ts';
import type { Visit } from '../../examples/console/visit.ts';
import { ENTITY, type Platform } from '../../examples/platform/host/boot.ts';
import { run } from '../../examples/platform/host/run.ts';

const { FOLDER: folder = '' } = process.env;
const COOKIE = 'session';
const FORM = '<form method="post"><button>Sign in</button></form>';

/** Signs Ana in without asking who visits. */
function createSignIn(platform: Platform): SignIn {
  const sessions = new DatabaseSync(join(folder, 'sessions.db'), { timeout: 5_000 });
  sessions.exec('CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY)');
  const users = platform.domain.listUsers(ENTITY, { limit: 100, after: null }).items;
  const ana = users.find(({ email }) => email === 'ana@example.com');
  const sessionOf = ({ headers }: Request): string =>
    parse(headers.get('Cookie') ?? '', COOKIE)[COOKIE] ?? '';
  return {
    whoIs(request) {
      const session = sessionOf(request);
      const row = sessions.prepare('SELECT id FROM sessions WHERE id = ?').get(session);
      const member = row === undefined ? null : findMember(platform, ENTITY, ana?.id ?? '');
      return member && { ...member, session };
    },
    serve(app) {
      app.get('/sign-in', (c: Visit) => c.html(FORM));
      app.post('/sign-in', (c: Visit) => {
        const session = randomBytes(32).toString('base64url');
        sessions.prepare('INSERT INTO sessions VALUES (?)').run(session);
        setCookie(c, COOKIE, session, { path: '/', httpOnly: true, sameSite: 'Strict' });
        return c.redirect('/console', 303);
      });
      app.post('/sign-out', (c: Visit) => {
        sessions.prepare('DELETE FROM sessions WHERE id = ?').run(sessionOf(c.req.raw));
        deleteCookie(c, COOKIE, { path: '/' });
        return c.redirect('/console/sign-in', 303);
      });
    },
  };
}

await run(
  (platform) => createServer(platform, createSignIn(platform)),
  () => '',
  folder,
);
