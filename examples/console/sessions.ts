/** Signing in and out, and who is signed in. */
import { randomBytes } from 'node:crypto';
import type { Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { IssuedKey } from 'keyscope';
import { LRUCache } from 'lru-cache';
import { signInPage } from './pages/sign-in.ts';
import { BASE, SIGN_IN, SIGN_OUT } from './paths.ts';
import { type ConsoleService, isSecure, type SignedIn } from './service.ts';
import { createThrottle, type Throttle, visitorAt } from './throttle.ts';
import type { Answer, Env, Session, Visit } from './visit.ts';
import { field } from './visit.ts';

const SESSION_MS = 8 * 3_600_000;
const MOST_SESSIONS = 10_000;
/** Forms that a session may have open at once, and new keys that it may be about to see. */
const MOST_FORMS = 50;
/** How long a new key waits for the page that shows it. */
const SHOWN_WITHIN_MS = 60_000;

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
      sessions.set(id, {
        account,
        forms: new LRUCache({ max: MOST_FORMS }),
        newKeys: new LRUCache<string, IssuedKey>({
          max: MOST_FORMS,
          ttl: SHOWN_WITHIN_MS,
          ttlResolution: 0,
          perf: { now: service.now },
        }),
      });
      setCookie(c, name, id, { ...options, maxAge: SESSION_MS / 1000 });
    },
    find: (c) => sessions.get(idOf(c)),
    end(c) {
      sessions.delete(idOf(c));
      deleteCookie(c, name, options);
    },
  };
}

/** How long somebody has to wait, in words. */
function inWords(seconds: number): string {
  if (seconds === 1) return 'in a second';
  return seconds < 60 ? `in ${seconds} seconds` : `in ${Math.ceil(seconds / 60)} minutes`;
}

function waitPage(c: Visit, email: string, status: 429 | 503, seconds: number): Answer {
  const problem = status === 429 ? 'There were too many wrong tries.' : 'Many people sign in now.';
  const words = `${problem} Try again ${inWords(seconds)}.`;
  return c.html(signInPage(words, email), status, { 'Retry-After': String(seconds) });
}

/** Thrown instead of making a try that has to wait. */
class TooOften extends Error {
  readonly seconds: number;

  constructor(seconds: number) {
    super('There were too many wrong tries.');
    this.seconds = seconds;
  }
}

/**
 * Tries to sign in. Whoever has to wait anyway takes no turn. A try is counted when it is made and
 * before it has ended, because others may come in the meantime; those that get no turn are none.
 */
async function trySignIn(
  { accounts }: ConsoleService,
  throttle: Throttle,
  address: string,
  email: string,
  password: string,
): Promise<SignedIn | null> {
  const wait = throttle.secondsUntil(address, email);
  if (wait > 0) throw new TooOften(wait);
  const begin = (): void => {
    const seconds = throttle.countTry(address, email);
    if (seconds > 0) throw new TooOften(seconds);
  };
  const isFirst = throttle.isKnown(address, email);
  const account = await accounts.signIn(email, password, { begin, isFirst });
  if (account !== null) throttle.forgive(address, email);
  return account;
}

async function enter(
  c: Visit,
  service: ConsoleService,
  throttle: Throttle,
): Promise<SignedIn | Response> {
  const { clientAddress, isBusy } = service;
  const email = field(c, 'email');
  const address = visitorAt(clientAddress(c.env.incoming));
  try {
    const account = await trySignIn(service, throttle, address, email, field(c, 'password'));
    return account ?? c.html(signInPage('Email or password is wrong.', email), 401);
  } catch (error) {
    if (error instanceof TooOften) return waitPage(c, email, 429, error.seconds);
    if (isBusy(error)) return waitPage(c, email, 503, 1);
    throw error;
  }
}

/** Serves the sign-in, and lets nobody past without it: pages that are served later are behind. */
export function serveSessions(app: Hono<Env>, service: ConsoleService): void {
  const { accounts, now } = service;
  const sessions = createSessions(service);
  const throttle = createThrottle(now);

  app.get(SIGN_IN.slice(BASE.length), (c) => c.html(signInPage(null, '')));

  app.post(SIGN_IN.slice(BASE.length), async (c) => {
    const entered = await enter(c, service, throttle);
    if (entered instanceof Response) return entered;
    sessions.begin(c, entered);
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
