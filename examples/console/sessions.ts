/** The sessions: what the console keeps for each visitor between two pages. */
import type { Hono } from 'hono';
import { LRUCache } from 'lru-cache';
import { SIGN_IN } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Env, NewlyIssued, Session } from './visit.ts';

const MOST_SESSIONS = 10_000;
/** A session keeps at most this many open forms, new keys and notices each. */
const MOST_KEPT = 50;
/** A new key waits this long for the page that shows it. */
const SHOWN_WITHIN_MS = 60_000;

function createSession(now: () => number): Session {
  return {
    forms: new LRUCache({ max: MOST_KEPT }),
    notices: new LRUCache({ max: MOST_KEPT }),
    newKeys: new LRUCache<string, NewlyIssued>({
      max: MOST_KEPT,
      ttl: SHOWN_WITHIN_MS,
      ttlResolution: 0,
      perf: { now },
    }),
  };
}

/** Redirects visitors without a session to the sign-in. Add the members' pages after it. */
export function requireMember(app: Hono<Env>, { signIn, now }: ConsoleService): void {
  const sessions = new LRUCache<string, Session>({ max: MOST_SESSIONS });
  app.use(async (c, next) => {
    const member = await signIn.whoIs(c.req.raw);
    if (member === null) return c.redirect(SIGN_IN, 303);
    const session = sessions.get(member.session) ?? createSession(now);
    sessions.set(member.session, session);
    c.set('session', session);
    c.set('member', member);
    return next();
  });
}
