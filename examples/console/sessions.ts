/** Who visits, and what the console keeps for them between two pages. */
import type { Hono } from 'hono';
import type { IssuedKey } from 'keyscope';
import { LRUCache } from 'lru-cache';
import { SIGN_IN } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Env, Session } from './visit.ts';

const MOST_SESSIONS = 10_000;
/** Forms that a session may have open at once, and new keys that it may be about to see. */
const MOST_FORMS = 50;
/** How long a new key waits for the page that shows it. */
const SHOWN_WITHIN_MS = 60_000;

function createSession(now: () => number): Session {
  return {
    forms: new LRUCache({ max: MOST_FORMS }),
    newKeys: new LRUCache<string, IssuedKey>({
      max: MOST_FORMS,
      ttl: SHOWN_WITHIN_MS,
      ttlResolution: 0,
      perf: { now },
    }),
  };
}

/** Lets nobody past who has not signed in: pages that are served later are behind it. */
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
