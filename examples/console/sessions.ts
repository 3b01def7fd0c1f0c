/** The sessions: only members see pages, and a form works only in the session that opened it. */
import { createHmac } from 'node:crypto';
import type { Hono } from 'hono';
import { timingSafeEqual } from 'hono/utils/buffer';
import { SIGN_IN } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Env, SignedIn } from './visit.ts';
import { field, Refused } from './visit.ts';

/**
 * Returns the text that each form sends along. Every process computes the same one, and other sites
 * cannot compute it. It includes the organization, which a member may change within a session.
 */
export function csrfTokenOf({ session, entityId }: SignedIn): string {
  return createHmac('sha256', session).update(entityId).digest('base64url');
}

const OTHER_SESSION =
  'You opened this form in another session, so the console did nothing. Open the page again.';

/** Redirects visitors without a session to the sign-in. Add the members' pages after it. */
export function requireMember(app: Hono<Env>, { signIn }: ConsoleService): void {
  app.use(async (c, next) => {
    const member = await signIn.whoIs(c.req.raw);
    if (member === null) return c.redirect(SIGN_IN, 303);
    c.set('member', member);
    return next();
  });
  app.post('*', async (c, next) => {
    const isOwn = await timingSafeEqual(field(c, 'csrf'), csrfTokenOf(c.var.member));
    if (!isOwn) throw new Refused(403, OTHER_SESSION);
    return next();
  });
}
