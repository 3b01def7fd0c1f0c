/**
 * Signing in by a link that works once, for a demo: its only visitor is the one who starts it. In a
 * service, write a `SignIn` of your own instead of this file.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Hono } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import { noLinkPage, signInPage } from './pages/sign-in.ts';
import { BASE, SIGN_IN, SIGN_OUT } from './paths.ts';
import { type ConsoleService, isSecure, type SignIn } from './service.ts';
import type { Env, Member, Visit } from './visit.ts';
import { field } from './visit.ts';

const LINK_MS = 15 * 60_000;
const SESSION_MS = 8 * 3_600_000;

/** The member whose link it is, as they are now; `null` once they may not enter any more. */
type FindMember = () => Member | null;

export interface Link extends SignIn {
  /** Makes a link. It signs in one visitor, once, within a quarter of an hour. */
  open(): string;
}

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
function cookieFor(service: Pick<ConsoleService, 'publicUrl'>): SessionCookie {
  const secure = isSecure(service);
  const options = { secure, httpOnly: true, sameSite: 'Strict' } as const;
  if (secure) return { name: '__Host-session', options: { ...options, path: '/' } };
  return { name: 'session', options: { ...options, path: BASE } };
}

/** 256 random bits: nobody guesses them, so tries need no limit. */
const randomText = (): string => randomBytes(32).toString('base64url');

/** Random texts that are valid for a while. Only their digests are kept. */
interface Tickets {
  make(): string;
  isValid(ticket: string): boolean;
  end(ticket: string): void;
}

function createTickets(lifetimeMs: number, now: () => number): Tickets {
  const endings = new Map<string, number>();
  const digestOf = (ticket: string): string =>
    createHash('sha256').update(ticket).digest('base64url');
  return {
    make() {
      const ticket = randomText();
      endings.set(digestOf(ticket), now() + lifetimeMs);
      return ticket;
    },
    isValid: (ticket) => now() < (endings.get(digestOf(ticket)) ?? 0),
    end: (ticket) => void endings.delete(digestOf(ticket)),
  };
}

/** Signs a member in. Links and sessions are in memory: both end with the process. */
export function createLink(
  { publicUrl, now }: Pick<ConsoleService, 'publicUrl' | 'now'>,
  findMember: FindMember,
): Link {
  const links = createTickets(LINK_MS, now);
  const sessions = createTickets(SESSION_MS, now);
  const { name, options } = cookieFor({ publicUrl });
  const sessionOf = ({ headers }: Request): string =>
    parse(headers.get('Cookie') ?? '', name)[name] ?? '';
  /** Whom a link signs in. */
  const memberFor = (link: string): Member | null => (links.isValid(link) ? findMember() : null);

  /** A GET uses nothing up: previews of links and browsers themselves send them. */
  function show(c: Visit): Response | Promise<Response> {
    const link = c.req.query('link');
    if (link === undefined) return c.html(noLinkPage(null));
    const member = memberFor(link);
    if (member === null) return c.html(noLinkPage('This link does not work.'), 403);
    return c.html(signInPage(link, member));
  }

  function enter(c: Visit): Response | Promise<Response> {
    const link = field(c, 'link');
    const member = memberFor(link);
    if (member === null) return c.html(noLinkPage('This link does not work.'), 403);
    links.end(link);
    sessions.end(sessionOf(c.req.raw));
    // A new session each time: nobody signs in to one that somebody else began.
    setCookie(c, name, sessions.make(), { ...options, maxAge: SESSION_MS / 1000 });
    return c.redirect(BASE, 303);
  }

  function leave(c: Visit): Response {
    sessions.end(sessionOf(c.req.raw));
    deleteCookie(c, name, options);
    return c.redirect(SIGN_IN, 303);
  }

  return {
    open: () => new URL(`${SIGN_IN}?link=${links.make()}`, publicUrl).href,
    whoIs(request) {
      const session = sessionOf(request);
      const member = sessions.isValid(session) ? findMember() : null;
      return member && { ...member, session };
    },
    serve(app: Hono<Env>) {
      app.get(SIGN_IN.slice(BASE.length), show);
      app.post(SIGN_IN.slice(BASE.length), enter);
      app.post(SIGN_OUT.slice(BASE.length), leave);
    },
  };
}
