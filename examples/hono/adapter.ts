/** keyscope for Hono 4. Copy this file and adapt it. It decides nothing: `admit` does. */
import type { Context, MiddlewareHandler as Handler } from 'hono';
import type { Admission, ChallengeOptions, Keyring, Policy, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

// Set by the guard; on a route without one both are undefined, whatever the types say.
/** `new Hono<Guarded>()`: `principal`, and `entityUuid`, the checked one: use no other. */
export type Guarded = { Variables: Admission };

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before an answer of 503. `causeOf(error)` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

/** `app.get('/threats', guard('listThreats'), handler)`: on routes, never on a path prefix. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const { keyring, policy, onOutage, ...challenge } = options;
  const usage = 'createGuard: pass { keyring, policy, realm }';
  if (!keyring?.admit || !policy?.requires) throw new TypeError(usage);
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  // `entity` returns what the request says: nothing, a text, or the list of a parameter's values.
  return (operation: Op, reader: { entity?: (c: Context) => unknown } = {}): Handler<Guarded> => {
    policy.requires(operation); // So does an operation that the policy does not have.
    const isKnown = Reflect.ownKeys(reader).every((name) => name === 'entity');
    if (!isKnown) throw new TypeError('guard: pass { entity } alone');
    const mark = { [Symbol.for('keyscope.operation')]: operation };
    return Object.assign<Handler<Guarded>, object>(async (c, next) => {
      c.header('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        const input = { policy, operation, entityUuid: reader.entity?.(c) };
        const { principal, entityUuid } = await keyring.admit(c.req.raw, input);
        c.set('principal', principal);
        c.set('entityUuid', entityUuid);
      } catch (error) {
        c.res.headers.set('Cache-Control', 'no-store'); // Hono's answer to an error takes it over.
        if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug, for your logger.
        if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
        const { status, headers, body } = toResponse(error, challenge);
        return new Response(body, { status, headers }); // Hono omits the body when it answers HEAD.
      }
      await next();
      // A Response that the handler made itself does not have it yet.
      if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');
      return undefined;
    }, mark);
  };
}
