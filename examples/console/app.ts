/**
 * Puts the console together. This file has what all pages share: the headers, the checks of forms,
 * and the answers to errors.
 */
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { isAccessError, isStoreError, toResponse } from 'keyscope';
import { SCRIPT } from './assets/script.ts';
import { STYLE } from './assets/style.ts';
import { serveKeys } from './keys.ts';
import { messagePage } from './pages/frame.ts';
import { BASE, CONFIGURATION, KEYS, SETTINGS } from './paths.ts';
import { type ConsoleService, isSecure } from './service.ts';
import { requireMember } from './sessions.ts';
import type { Env, Visit } from './visit.ts';
import { Refused, readForm } from './visit.ts';

/** In bytes. */
const FORM_LIMIT = 65_536;

const ASSETS = [
  { path: '/style', type: 'text/css', text: STYLE },
  { path: '/script', type: 'text/javascript', text: SCRIPT },
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
  // The address of the sign-in contains the link, so a `Referer` must not name the page. With
  // `no-referrer`, browsers would send `Origin: null` with a form, and the console refuses that.
  referrerPolicy: 'strict-origin',
  xFrameOptions: 'DENY',
};

function serveAssets(app: Hono<Env>): void {
  for (const { path, type, text } of ASSETS) {
    const headers = { 'Content-Type': `${type}; charset=utf-8`, 'Cache-Control': 'no-cache' };
    app.get(path, (c) => c.body(text, 200, headers));
  }
}

/** Refuses forms from other sites. */
function refuseOtherSites(app: Hono<Env>, service: ConsoleService): void {
  const own = new URL(service.publicUrl).origin;
  const isOwn = (origin: string, url: string): boolean => {
    if (origin === own) return true;
    // Without TLS, as on a developer's machine, accept any name that the browser uses for it.
    return !isSecure(service) && origin === new URL(url).origin;
  };
  app.use(csrf({ origin: (origin, c) => isOwn(origin, c.req.url) }));
}

/**
 * Reads the whole form before it looks up the visitor. A form can take long to arrive, and what
 * counts is what the visitor may do at the end.
 */
function receiveForms(app: Hono<Env>): void {
  const limit = bodyLimit({ maxSize: FORM_LIMIT });
  app.post('*', async (c, next) => {
    try {
      await limit(c, async () => c.set('form', await readForm(c)));
    } catch (error) {
      const isOurs = error instanceof Refused || error instanceof HTTPException;
      if (isOurs) throw error;
      // The stream failed: the visitor broke off the form.
      throw new Refused(400, 'The form did not arrive completely. Send it again.');
    }
    return next();
  });
}

/** The messages for what the middlewares above refuse, by status. */
const WORDS: Readonly<Record<number, string>> = {
  403: 'Another site sent this form, so the console did nothing. Use the forms of the console.',
  413: 'The form is too large. Shorten it and send it again.',
};

/** Returns what a visitor may learn about an error that is not their fault. */
function wordsFor(error: unknown, c: Visit, body: string): string {
  if (isStoreError(error) && c.req.method === 'POST')
    return 'The key store did not answer. Check the list of keys before you try again.';
  if (isStoreError(error)) return 'The key store did not answer. Try again in a moment.';
  if (isAccessError(error) && error.reason === 'lifetime_beyond_authority')
    return 'You may not create a key that lives this long. Select an earlier expiry.';
  const { detail } = JSON.parse(body) as { readonly detail: string };
  return detail;
}

function answerError(error: Error, c: Visit, report: (error: unknown) => void): Response {
  const member = c.get('member') ?? null;
  const page = (words: string) => messagePage('That did not work', words, member);
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

/** Makes the console. The order matters: each step also applies to everything after it. */
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
  // API Keys is the only setting, so the way to it leads straight there.
  for (const path of [BASE, SETTINGS, CONFIGURATION])
    app.get(path.slice(BASE.length) || '/', (c) => c.redirect(KEYS, 303));
  serveKeys(app, service);
  app.all('*', (c) => {
    const page = messagePage(
      'Page not found',
      'The console has no page at this address.',
      c.var.member,
    );
    return c.html(page, 404);
  });
  app.onError((error, c) => answerError(error, c, report));
  return app;
}
