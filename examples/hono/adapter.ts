/**
 * keyscope for Hono 4. Copy this file into your project and make it yours: it decides nothing, it only hands
 * the request to `keyring.admit` and puts what comes back on the context, or answers the denial.
 */
import type { Context, MiddlewareHandler } from 'hono';
import type { ChallengeOptions, Keyring, Policy, Principal } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

/** `new Hono<Guarded>()`. Set by the guard; on a route without one both are undefined, whatever the types say. */
export interface Guarded {
  Variables: {
    principal: Principal;
    /** The entity that was checked; handlers use no other. */
    entityUuid: string;
  };
}

export interface GuardOptions<Operation extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Operation>;
}

/** What the request says about the entity: nothing, a text, or the list of values that a parameter had. */
type EntityReader = (c: Context) => unknown;
const [CACHE, NO_STORE] = ['Cache-Control', 'no-store'];

/** `app.get('/threats', guard('listThreats'), handler)`: on routes, never on a path prefix. */
export function createGuard<Operation extends string>({ keyring, policy, ...challenge }: GuardOptions<Operation>) {
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  return (operation: Operation, { entity }: { entity?: EntityReader } = {}): MiddlewareHandler<Guarded> => {
    policy.requires(operation); // So does an operation that the policy does not have.
    return async (c, next) => {
      c.header(CACHE, NO_STORE); // In `c.json` and the like; a Response that the handler made by itself is copied below.
      try {
        const input = { policy, operation, entityUuid: entity?.(c) };
        const { principal, entityUuid } = await keyring.admit(c.req.raw, input);
        c.set('principal', principal);
        c.set('entityUuid', entityUuid);
      } catch (error) {
        c.res.headers.set(CACHE, NO_STORE); // Whatever is answered from here on takes over what `c.res` has.
        // A bug is no denial: it goes to `app.onError`, where your logger sees it.
        if (!isAccessError(error) && !isStoreError(error)) throw error;
        const { status, headers, body } = toResponse(error, challenge);
        return new Response(body, { status, headers }); // Hono leaves the body out of an answer to HEAD.
      }
      await next();
      return c.res.headers.get(CACHE) === NO_STORE ? undefined : c.header(CACHE, NO_STORE);
    };
  };
}
