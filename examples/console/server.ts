/**
 * The platform's console, where keys are made, shown once, replaced and revoked. Its pages are for
 * people with a session; for programs, it serves REST and MCP as well. `npm run demo` starts it,
 * and so does `npx node examples/console/server.ts`.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { isIPv6 } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import type { Authority, IssuedKey } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';
import { issueInputSchemaFor } from 'keyscope/schemas';
import { LRUCache } from 'lru-cache';
import { createHandler, tryMcp } from '../mcp/server.ts';
import type { Member, SignedIn } from '../platform/host/accounts.ts';
import { ENTITY, type Platform, run } from '../platform/host/boot.ts';
import { fetchListener } from '../platform/host/fetch.ts';
import { createNodeServer, REALM } from '../platform/host/http.ts';
import { catalog } from '../platform/service/catalog.ts';
import { BODY_LIMIT, reportError } from '../platform/service/problem.ts';
import {
  BASE,
  KEYS,
  keyPage,
  keysPage,
  LIFETIMES,
  MENUS,
  messagePage,
  newKeyPage,
  OVERLAPS,
  shownOncePage,
  signInPage,
} from './pages.ts';

/**
 * What the console is made of: a {@link Platform}, and who is told of errors that no visitor has
 * caused.
 */
export type ConsoleService = Pick<Platform, 'keyring' | 'accounts' | 'publicUrl' | 'now'> & {
  readonly report?: (error: unknown) => void;
  /**
   * A visitor's address. Default: the other end of the connection, which behind a proxy is the
   * proxy.
   */
  readonly clientAddress?: (c: Context) => string;
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SESSION_MS = 8 * HOUR_MS;
/** How long a scope must be unused for `advise` to name it. */
const UNUSED_MS = 90 * DAY_MS;

/**
 * Who is signed in. `forms`: those that were shown and not yet sent, so that none makes two keys.
 */
interface Session {
  readonly account: SignedIn;
  readonly forms: LRUCache<string, true>;
}

type Env = {
  Bindings: HttpBindings;
  Variables: { form: URLSearchParams; session: Session; member: Member };
};
type Visit = Context<Env>;

const asset = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const ASSETS = {
  style: ['text/css', asset('style.css')],
  script: ['text/javascript', asset('script.js')],
} as const;

/** Thrown when a page cannot be served. */
class Refused extends Error {
  readonly status: 400 | 403 | 404 | 409 | 415;

  constructor(status: Refused['status'], words: string) {
    super(words);
    this.status = status;
  }
}

/** The fields of a form, as the console's own pages send them. */
async function formOf(c: Visit): Promise<URLSearchParams> {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(c.req.header('content-type') ?? '');
  if (!isForm) throw new Refused(415, 'This is no form of the console.');
  return new URLSearchParams(await c.req.text());
}
const field = (form: URLSearchParams, name: string): string => form.get(name) ?? '';

// What the middlewares below refuse themselves.
const WORDS: Readonly<Record<number, string>> = {
  403: 'This form was sent from elsewhere.',
  413: 'This is more than a form can be.',
};

export function createConsole(service: ConsoleService): Hono<Env> {
  const { publicUrl, report = reportError } = service;
  const app = new Hono<Env>().basePath(BASE);

  // ── What every answer has ──

  const policy = {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ['data:'],
  };
  const contentSecurityPolicy = {
    ...policy,
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  };
  app.use(
    secureHeaders({ contentSecurityPolicy, referrerPolicy: 'same-origin', xFrameOptions: 'DENY' }),
  );
  app.get('/:asset{style|script}', (c) => {
    const [type, text] = ASSETS[c.req.param('asset') as keyof typeof ASSETS];
    return c.body(text, 200, {
      'Content-Type': `${type}; charset=utf-8`,
      'Cache-Control': 'no-cache',
    });
  });
  app.use(async (c, next) => {
    await next();
    c.header('Cache-Control', 'no-store');
  });
  const own = new URL(publicUrl).origin;
  // Without TLS, as on a developer's machine, any name that the browser uses for it.
  const isOwn = (origin: string, url: string) =>
    origin === own || (!isSecure(service) && origin === new URL(url).origin);
  app.use(csrf({ origin: (origin, c) => isOwn(origin, c.req.url) }));
  const limit = bodyLimit({ maxSize: BODY_LIMIT });
  // Before anybody is looked up: it may take long to arrive, and what counts is who somebody is
  // once it has.
  app.post('*', async (c, next) => {
    const read = async () => c.set('form', await formOf(c));
    await limit(c, read).catch((error) => {
      // Anything else is the stream itself: a form that ends before its time is the visitor's
      // doing.
      const ours = error instanceof Refused || error instanceof HTTPException;
      throw ours ? error : new Refused(400, 'This form did not arrive as a whole.');
    });
    return next();
  });

  // ── Pages ──

  serveSessions(app, service);
  for (const [path, menu] of Object.entries(MENUS))
    app.get(path.slice(BASE.length) || '/', (c) => c.html(menu(c.var.member)));
  serveKeys(app, service);
  app.all('*', (c) =>
    c.html(messagePage('Not found', 'There is nothing at this address.', c.var.member), 404),
  );
  app.onError((error, c) => {
    const page = (words: string) => messagePage('Not done', words, c.get('member') ?? null);
    if (error instanceof HTTPException)
      return c.html(page(WORDS[error.status] ?? error.message), error.status);
    if (error instanceof Refused) return c.html(page(error.message), error.status);
    if (!isAccessError(error)) report(error);
    const { status, headers, body } = toResponse(error, { realm: REALM });
    const { 'Retry-After': retry } = headers;
    if (retry) c.header('Retry-After', retry);
    const unknown = isStoreError(error) && c.req.method === 'POST';
    const words = unknown
      ? 'The key store did not answer. Look in the list before trying again.'
      : null;
    return c.html(page(words ?? JSON.parse(body).detail), status as 500);
  });
  return app;
}

const isSecure = ({ publicUrl }: ConsoleService): boolean => publicUrl.startsWith('https:');

/**
 * Whoever has one IPv6 address has 2^64, so a network of that size counts as one visitor. An IPv4
 * address in the form of IPv6 is one by itself.
 */
function visitor(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':'));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}

/**
 * Limits wrong tries in a quarter of an hour: for one email from one address, and for any email
 * from one address. There is no limit for one email from anywhere, with which strangers could lock
 * a member out. The counters are bounded too: the address is counted first, so that one over its
 * limit adds no more emails, and apart, so that emails evict no address.
 */
function createThrottle(now: () => number) {
  const counter = (most: number) => {
    const settings = {
      max: 10_000,
      ttl: HOUR_MS / 4,
      ttlResolution: 0,
      noUpdateTTL: true,
      perf: { now },
    };
    const tries = new LRUCache<string, number>(settings);
    const count = (name: string): number => {
      const found = (tries.get(name) ?? 0) + 1;
      tries.set(name, found);
      return found > most ? Math.max(1, Math.ceil(tries.getRemainingTTL(name) / 1000)) : 0;
    };
    return { count, forget: (name: string) => tries.delete(name) };
  };
  const [pairs, addresses] = [counter(10), counter(100)];
  const pair = (address: string, email: string) => `${address} ${email.slice(0, 254)}`;
  return {
    /** The number of seconds until the next try; 0 if this one is allowed. */
    wait: (address: string, email: string) =>
      addresses.count(address) || pairs.count(pair(address, email)),
    /** A correct try clears the wrong ones for this email, but none for others. */
    forgive: (address: string, email: string) => pairs.forget(pair(address, email)),
  };
}

function serveSessions(app: Hono<Env>, service: ConsoleService): void {
  const { accounts, now, clientAddress = (c) => getConnInfo(c).remote.address ?? '' } = service;
  const sessions = new LRUCache<string, Session>({
    max: 10_000,
    ttl: SESSION_MS,
    ttlResolution: 0,
    perf: { now },
  });
  const throttle = createThrottle(now);
  const secure = isSecure(service);
  // By its prefix (RFC 6265bis §4.1.3), a browser takes the cookie from this host alone. Without
  // it, another host of the same domain could put a visitor into a session of its own choosing.
  const [name, scope] = secure ? ['__Host-session', '/'] : ['session', BASE];
  const cookie = { path: scope, httpOnly: true, sameSite: 'Strict', secure } as const;
  const idOf = (c: Visit) => getCookie(c, name) ?? '';
  const end = (c: Visit) => sessions.delete(idOf(c));

  app.get('/sign-in', (c) => c.html(signInPage(null, '')));
  app.post('/sign-in', async (c) => {
    const { form } = c.var;
    const [email, password, address] = [
      field(form, 'email'),
      field(form, 'password'),
      visitor(clientAddress(c)),
    ];
    const seconds = throttle.wait(address, email);
    if (seconds > 0) {
      const words = `That was wrong too often. Try again in ${Math.ceil(seconds / 60)} minutes.`;
      return c.html(signInPage(words, email), 429, { 'Retry-After': String(seconds) });
    }
    const account = await accounts.signIn(email, password);
    if (account === null) return c.html(signInPage('Email or password is wrong.', email), 401);
    throttle.forgive(address, email);
    // A new one each time: nobody signs in to a session that somebody else began.
    end(c);
    const id = randomBytes(32).toString('base64url');
    sessions.set(id, { account, forms: new LRUCache({ max: 50 }) });
    setCookie(c, name, id, { ...cookie, maxAge: SESSION_MS / 1000 });
    return c.redirect(BASE, 303);
  });
  app.post('/sign-out', (c) => {
    end(c);
    deleteCookie(c, name, cookie);
    return c.redirect(`${BASE}/sign-in`, 303);
  });
  app.use(async (c, next) => {
    const session = sessions.get(idOf(c));
    // Asked each time: deletion, or another role or password, takes effect at once.
    const member = session && accounts.find(session.account);
    if (!session || !member) return c.redirect(`${BASE}/sign-in`, 303);
    c.set('session', session);
    c.set('member', member);
    return next();
  });
}

function serveKeys(app: Hono<Env>, { keyring, publicUrl, now }: ConsoleService): void {
  const path = KEYS.slice(BASE.length);
  const schema = issueInputSchemaFor(catalog, { now });

  /** On whose behalf: the session decides, and nothing that a form says. */
  function authorityOf(c: Visit): Authority {
    const { authority } = c.var.member;
    if (authority === null)
      throw new Refused(403, 'Your role looks at keys, and makes and ends none.');
    return authority;
  }
  const offered = (c: Visit) => catalog.expand(authorityOf(c).scopes ?? ['*:*']);

  function openForm(c: Visit): string {
    const once = randomUUID();
    c.var.session.forms.set(once, true);
    return once;
  }
  function closeForm({ var: { session, form } }: Visit): void {
    if (session.forms.delete(field(form, 'once'))) return;
    throw new Refused(
      409,
      'This form was sent before, or is too old. If it made a key that you did not see, revoke it.',
    );
  }
  const showOnce = (c: Visit, { key, info }: IssuedKey) =>
    c.html(shownOncePage(c.var.member, key, info, `${publicUrl}/v1`), 201);

  app.get(path, async (c) => {
    const { entityUuid } = c.var.member;
    const after = c.req.query('after');
    const { keys, next } = await keyring
      .list({ after, limit: 50 }, { entityUuid })
      .catch((error) => {
        throw error instanceof TypeError && after !== undefined
          ? new Refused(400, 'This is no page of the list.')
          : error;
      });
    return c.html(keysPage(c.var.member, keys, next, now()));
  });

  app.get(`${path}/new`, (c) => {
    const empty = { name: '', scopes: [], lifetime: '90', justification: '' };
    return c.html(newKeyPage(c.var.member, offered(c), openForm(c), empty, null));
  });

  app.post(path, async (c) => {
    const [authority, form] = [authorityOf(c), c.var.form];
    const entered = {
      name: field(form, 'name').trim(),
      scopes: form.getAll('scopes'),
      lifetime: field(form, 'lifetime'),
      justification: field(form, 'justification').trim(),
    };
    const { name, scopes, lifetime, justification } = entered;
    closeForm(c);
    const days = Object.hasOwn(LIFETIMES, lifetime) ? Number(lifetime) : 0;
    const expiresAt =
      lifetime === 'never' ? lifetime : new Date(now() + days * DAY_MS).toISOString();
    const read = schema.safeParse({
      name,
      scopes,
      expiresAt,
      ...(justification !== '' && { justification }),
    });
    if (read.success) return showOnce(c, await keyring.issue(read.data, authority));
    const error = read.error.issues.map(({ message }) => message).join('; ');
    return c.html(newKeyPage(c.var.member, offered(c), openForm(c), entered, error), 400);
  });

  app.get(`${path}/:id`, async (c) => {
    const [{ entityUuid }, id] = [c.var.member, c.req.param('id')];
    // First, because it writes the usage that this process has noted.
    const { unusedScopes } = await keyring.advise(id, { unusedForMs: UNUSED_MS }, { entityUuid });
    const key = await keyring.get(id, { entityUuid });
    if (key === null) throw new Refused(404, 'There is no such key.');
    const once = c.var.member.authority === null ? '' : openForm(c);
    return c.html(keyPage(c.var.member, key, unusedScopes, once, now()));
  });

  app.post(`${path}/:id`, async (c) => {
    const [authority, form, id] = [authorityOf(c), c.var.form, c.req.param('id')];
    if (field(form, 'action') === 'revoke') {
      await keyring.revoke(id, authority);
      return c.redirect(`${KEYS}/${id}`, 303);
    }
    const overlap = field(form, 'overlap');
    const known = field(form, 'action') === 'rotate' && Object.hasOwn(OVERLAPS, overlap);
    if (!known) throw new Refused(400, 'The form asks for what nobody offered.');
    closeForm(c);
    const next = keyring
      .rotate(id, { overlapMs: Number(overlap) * HOUR_MS }, authority)
      .catch((error) => {
        // For programs, a denial of their credential; here, the key on the page has changed.
        const ended = isAccessError(error) && error.code === 'invalid_token';
        throw ended
          ? new Refused(409, 'This key has ended, or its record is damaged: make a new one.')
          : error;
      });
    return showOnce(c, await next);
  });
}

/** The whole platform: the console, REST and MCP. */
export function createServer(platform: Platform): Server {
  const [console, programs] = [createConsole(platform), createHandler(platform)];
  const isConsole = (pathname: string) => pathname === BASE || pathname.startsWith(`${BASE}/`);
  return createNodeServer(
    fetchListener((request, env) =>
      isConsole(new URL(request.url).pathname) ? console.fetch(request, env) : programs(request),
    ),
    platform,
  );
}

/** A new password for an admin of the demo's organization; `null` if it has no admin. */
export async function openAccount({
  accounts,
  domain,
}: Platform): Promise<{ email: string; password: string } | null> {
  const admin = domain
    .listUsers(ENTITY, { limit: 10, after: null })
    .items.find(({ role }) => role === 'admin');
  if (!admin) return null;
  const password = randomBytes(12).toString('base64url');
  await accounts.setPassword({ entityUuid: ENTITY, userId: admin.id }, password);
  return { email: admin.email, password };
}

/** If nobody can sign in yet, creates a sign-in; says how to sign in. */
async function trySignIn(origin: string, platform: Platform): Promise<string> {
  const address = `Console: ${origin}${BASE}, then Settings, Configuration, API Keys`;
  if (platform.accounts.any()) return `${address}. The password was shown on the first run.`;
  const account = await openAccount(platform);
  return account
    ? `${address}\n\n  sign in as ${account.email} with the password ${account.password} (shown this once)`
    : '';
}

/** For whoever has just started it. */
export const tryDoors = async (origin: string, platform: Platform): Promise<string> =>
  `${tryMcp(origin)}\n${await trySignIn(origin, platform)}\n`;

if (import.meta.main) await run(createServer, tryDoors);
