/**
 * The console: its pages are for people with a session. Here is what all of them have in common:
 * headers, how forms arrive, and how errors are answered.
 */
import { readFileSync } from 'node:fs';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { isAccessError, isStoreError, toResponse } from 'keyscope';
import { serveKeys } from './keys.ts';
import { messagePage } from './pages/frame.ts';
import { MENUS, menuPage } from './pages/menus.ts';
import { BASE } from './paths.ts';
import { type ConsoleService, isSecure } from './service.ts';
import { requireMember } from './sessions.ts';
import type { Env, Visit } from './visit.ts';
import { Refused, readForm } from './visit.ts';

/** In bytes. */
const FORM_LIMIT = 65_536;

const readAsset = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

const ASSETS = [
  { path: '/style', type: 'text/css', text: readAsset('style.css') },
  { path: '/script', type: 'text/javascript', text: readAsset('script.js') },
];

type HeaderOptions = NonNullable<Parameters<typeof secureHeaders>[0]>;

const HEADERS: HeaderOptions = {
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ['data:'],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  },
  // A `Referer` names no page, because the address of the sign-in has a link. With `no-referrer`,
  // browsers would send `Origin: null` with a form, which is refused.
  referrerPolicy: 'strict-origin',
  xFrameOptions: 'DENY',
};

function serveAssets(app: Hono<Env>): void {
  for (const { path, type, text } of ASSETS) {
    const headers = { 'Content-Type': `${type}; charset=utf-8`, 'Cache-Control': 'no-cache' };
    app.get(path, (c) => c.body(text, 200, headers));
  }
}

/** Refuses forms that other sites send. */
function refuseOtherSites(app: Hono<Env>, service: ConsoleService): void {
  const own = new URL(service.publicUrl).origin;
  const isOwn = (origin: string, url: string): boolean => {
    if (origin === own) return true;
    // Without TLS, as on a developer's machine, any name that the browser uses for it.
    return !isSecure(service) && origin === new URL(url).origin;
  };
  app.use(csrf({ origin: (origin, c) => isOwn(origin, c.req.url) }));
}

/**
 * Reads forms before anybody is looked up: one may take long to arrive, and what counts is who
 * somebody is once it has.
 */
function receiveForms(app: Hono<Env>): void {
  const limit = bodyLimit({ maxSize: FORM_LIMIT });
  app.post('*', async (c, next) => {
    try {
      await limit(c, async () => c.set('form', await readForm(c)));
    } catch (error) {
      const isOurs = error instanceof Refused || error instanceof HTTPException;
      if (isOurs) throw error;
      // The stream itself: a form that ends before its time is the visitor's doing.
      throw new Refused(400, 'This form did not arrive as a whole.');
    }
    return next();
  });
}

/** What the middlewares above refuse themselves, in the console's own words. */
const WORDS: Readonly<Record<number, string>> = {
  403: 'This form was sent from elsewhere.',
  413: 'This is more than a form can be.',
};

/** What a visitor may know of an error that is not their own. */
function wordsFor(error: unknown, c: Visit, body: string): string {
  if (isStoreError(error) && c.req.method === 'POST')
    return 'The key store did not answer. Look in the list before trying again.';
  const { detail } = JSON.parse(body) as { readonly detail: string };
  return detail;
}

function answerError(error: Error, c: Visit, report: (error: unknown) => void): Response {
  const member = c.get('member') ?? null;
  const page = (words: string) => messagePage('Not done', words, member);
  if (error instanceof HTTPException) {
    const words = WORDS[error.status] ?? error.message;
    return c.html(page(words), error.status) as Response;
  }
  if (error instanceof Refused) return c.html(page(error.message), error.status) as Response;
  if (!isAccessError(error)) report(error);
  const { status, headers, body } = toResponse(error, { realm: 'console' });
  const { 'Retry-After': retryAfter } = headers;
  if (retryAfter) c.header('Retry-After', retryAfter);
  return c.html(page(wordsFor(error, c, body)), status as 500) as Response;
}

/** The order matters: each step is in front of what is served after it. */
export function createConsole(service: ConsoleService): Hono<Env> {
  const { report } = service;
  const app = new Hono<Env>().basePath(BASE);
  app.use(secureHeaders(HEADERS));
  serveAssets(app);
  app.use(async (c, next) => {
    await next();
    c.header('Cache-Control', 'no-store');
  });
  refuseOtherSites(app, service);
  receiveForms(app);
  service.signIn.serve(app);
  requireMember(app, service);
  for (const menu of MENUS)
    app.get(menu.path.slice(BASE.length) || '/', (c) => c.html(menuPage(menu, c.var.member)));
  serveKeys(app, service);
  app.all('*', (c) => {
    const page = messagePage('Not found', 'There is nothing at this address.', c.var.member);
    return c.html(page, 404);
  });
  app.onError((error, c) => answerError(error, c, report));
  return app;
}
