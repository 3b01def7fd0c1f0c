/** Signing in and out, and who is signed in. */
import { randomBytes } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { LRUCache } from 'lru-cache';
import type { SignedIn } from '../platform/host/accounts.ts';
import { signInPage } from './pages/sign-in.ts';
import { BASE, SIGN_IN, SIGN_OUT } from './paths.ts';
import { createThrottle, visitorAt } from './throttle.ts';
import type { ConsoleService, Env, Session, Visit } from './visit.ts';
import { field, isSecure } from './visit.ts';

const SESSION_MS = 8 * 3_600_000;
const MOST_SESSIONS = 10_000;
/** Forms that a session may have open at once. */
const MOST_FORMS = 50;

interface CookieOptions {
  readonly path: string;
  readonly secure: boolean;
  readonly httpOnly: true;
  readonly sameSite: 'Strict';
}

interface SessionCookie {
  readonly name: string;
  readonly options: CookieOptions;
}

/**
 * By its prefix (RFC 6265bis §4.1.3), a browser takes the cookie from this host alone. Without it,
 * another host of the same domain could put a visitor into a session of its own choosing. Browsers
 * take the prefix only over TLS.
 */
function cookieFor(service: ConsoleService): SessionCookie {
  const secure = isSecure(service);
  const options = { secure, httpOnly: true, sameSite: 'Strict' } as const;
  if (secure) return { name: '__Host-session', options: { ...options, path: '/' } };
  return { name: 'session', options: { ...options, path: BASE } };
}

interface Sessions {
  /** A new one each time: nobody signs in to a session that somebody else began. */
  begin(c: Visit, account: SignedIn): void;
  find(c: Visit): Session | undefined;
  end(c: Visit): void;
}

function createSessions(service: ConsoleService): Sessions {
  const { name, options } = cookieFor(service);
  const sessions = new LRUCache<string, Session>({
    max: MOST_SESSIONS,
    ttl: SESSION_MS,
    ttlResolution: 0,
    perf: { now: service.now },
  });
  const idOf = (c: Visit): string => getCookie(c, name) ?? '';
  return {
    begin(c, account) {
      sessions.delete(idOf(c));
      const id = randomBytes(32).toString('base64url');
      sessions.set(id, { account, forms: new LRUCache({ max: MOST_FORMS }) });
      setCookie(c, name, id, { ...options, maxAge: SESSION_MS / 1000 });
    },
    find: (c) => sessions.get(idOf(c)),
    end(c) {
      sessions.delete(idOf(c));
      deleteCookie(c, name, options);
    },
  };
}

const peerOf = (c: Context): string => getConnInfo(c).remote.address ?? '';

/** Serves the sign-in, and lets nobody past without it: pages that are served later are behind. */
export function serveSessions(app: Hono<Env>, service: ConsoleService): void {
  const { accounts, now, clientAddress = peerOf } = service;
  const sessions = createSessions(service);
  const throttle = createThrottle(now);

  app.get(SIGN_IN.slice(BASE.length), (c) => c.html(signInPage(null, '')));

  app.post(SIGN_IN.slice(BASE.length), async (c) => {
    const email = field(c, 'email');
    const address = visitorAt(clientAddress(c));
    const seconds = throttle.countTry(address, email);
    if (seconds > 0) {
      const words = `That was wrong too often. Try again in ${Math.ceil(seconds / 60)} minutes.`;
      return c.html(signInPage(words, email), 429, { 'Retry-After': String(seconds) });
    }
    const account = await accounts.signIn(email, field(c, 'password'));
    if (account === null) return c.html(signInPage('Email or password is wrong.', email), 401);
    throttle.forgive(address, email);
    sessions.begin(c, account);
    return c.redirect(BASE, 303);
  });

  app.post(SIGN_OUT.slice(BASE.length), (c) => {
    sessions.end(c);
    return c.redirect(SIGN_IN, 303);
  });

  app.use(async (c, next) => {
    const session = sessions.find(c);
    // Asked each time: deletion, or another role or password, takes effect at once.
    const member = session && accounts.find(session.account);
    if (!session || !member) return c.redirect(SIGN_IN, 303);
    c.set('session', session);
    c.set('member', member);
    return next();
  });
}
