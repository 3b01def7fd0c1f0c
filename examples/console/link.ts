/**
 * Signs in with a link that works once. This is for a demo: one visitor, and one process, whose
 * memory has the sessions. In a service, write your own `SignIn` instead of this file.
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

const NO_LONGER = 'This link does not work. It may have been used already, or it has expired.';

/** Returns the member that the link signs in, or `null` if they may no longer enter. */
type FindMember = () => Member | null;

export interface Link extends SignIn {
  /** Makes a link. It signs in one visitor, once, within 15 minutes. */
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
 * With the prefix `__Host-` (RFC 6265bis §4.1.3), a browser accepts the cookie only from this host.
 * Otherwise another host of the same domain could put a visitor into a session of its choosing.
 * Browsers accept the prefix only over TLS.
 */
function cookieFor(service: Pick<ConsoleService, 'publicUrl'>): SessionCookie {
  const secure = isSecure(service);
  const options = { secure, httpOnly: true, sameSite: 'Strict' } as const;
  if (secure) return { name: '__Host-session', options: { ...options, path: '/' } };
  return { name: 'session', options: { ...options, path: BASE } };
}

/** Returns 256 random bits. Nobody can guess them, so attempts need no limit. */
const randomText = (): string => randomBytes(32).toString('base64url');

/** Random texts that are valid for a while. Memory holds only their digests. */
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

/** Makes links that sign a member in. Links and sessions are in memory and end with the process. */
export function createLink(
  { publicUrl, now }: Pick<ConsoleService, 'publicUrl' | 'now'>,
  findMember: FindMember,
): Link {
  const links = createTickets(LINK_MS, now);
  const sessions = createTickets(SESSION_MS, now);
  const { name, options } = cookieFor({ publicUrl });
  const sessionOf = ({ headers }: Request): string =>
    parse(headers.get('Cookie') ?? '', name)[name] ?? '';
  /** Returns the member that a link signs in; `null` if the link is not valid. */
  const memberFor = (link: string): Member | null => (links.isValid(link) ? findMember() : null);

  /** A GET does not use the link up, because browsers and previews of links send one too. */
  function show(c: Visit): Response | Promise<Response> {
    const link = c.req.query('link');
    if (link === undefined) return c.html(noLinkPage(null));
    const member = memberFor(link);
    if (member === null) return c.html(noLinkPage(NO_LONGER), 403);
    return c.html(signInPage(link, member));
  }

  function enter(c: Visit): Response | Promise<Response> {
    const link = field(c, 'link');
    const member = memberFor(link);
    if (member === null) return c.html(noLinkPage(NO_LONGER), 403);
    links.end(link);
    sessions.end(sessionOf(c.req.raw));
    // Always a new session, so that nobody signs in to one that another visitor began.
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
