/**
 * keyscope for Hono 4. Copy this file into your project and adapt it. It decides nothing; it only passes the request to
 * `keyring.admit` and puts the result on the context, or answers the denial.
 */
import type { Context, MiddlewareHandler } from 'hono';
import type { Admission, ChallengeOptions, Keyring, Policy, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

/**
 * `new Hono<Guarded>()`: `principal`, and `entityUuid`, the entity that was checked: handlers use no other. Set by the
 * guard; on a route without one both are undefined, whatever the types say.
 */
export type Guarded = { Variables: Admission };

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before a request is answered with 503; the error's `cause` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

/** `app.get('/threats', guard('listThreats'), handler)`: on routes, never on a path prefix. */
export function createGuard<Op extends string>({
  keyring,
  policy,
  onOutage,
  ...challenge
}: GuardOptions<Op>) {
  if (!keyring?.admit || !policy?.requires)
    throw new TypeError('createGuard: pass { keyring, policy, realm }');
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  const [CACHE, NO_STORE] = ['Cache-Control', 'no-store'];
  // `entity` returns what the request says: nothing, a text, or the list of values that a parameter had.
  return (
    operation: Op,
    options: { entity?: (c: Context) => unknown } = {},
  ): MiddlewareHandler<Guarded> => {
    policy.requires(operation); // So does an operation that the policy does not have.
    if (Reflect.ownKeys(options).some((name) => name !== 'entity'))
      throw new TypeError('guard: pass { entity } alone');
    return async (c, next) => {
      c.header(CACHE, NO_STORE); // For `c.json` and the like; a Response that the handler made itself is copied below.
      try {
        const input = { policy, operation, entityUuid: options.entity?.(c) };
        const { principal, entityUuid } = await keyring.admit(c.req.raw, input);
        c.set('principal', principal);
        c.set('entityUuid', entityUuid);
      } catch (error) {
        c.res.headers.set(CACHE, NO_STORE); // Any answer from here on takes over the headers of `c.res`.
        if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug: for `app.onError`, and your logger.
        if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
        const { status, headers, body } = toResponse(error, challenge);
        return new Response(body, { status, headers }); // Hono omits the body when it answers HEAD.
      }
      await next();
      return c.res.headers.has(CACHE) ? undefined : c.header(CACHE, NO_STORE);
    };
  };
}
