/** keyscope for Koa 3. Copy this file and adapt it. It decides nothing: `admit` does. */

import type { Admission, ChallengeOptions, Keyring, Policy, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';
import type { Context, Middleware } from 'koa';

/**
 * `new Router<Guarded>()`: `principal`, and `entityUuid`, which was checked: handlers use no other.
 * Set by the guard; on a route without one both are undefined, whatever the types say.
 */
export type Guarded = Admission;

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before an answer of 503. `causeOf(error)` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

/** `router.get('/threats', guard('listThreats'), handler)`: on routes, never on a path prefix. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const { keyring, policy, onOutage, ...challenge } = options;
  const usage = 'createGuard: pass { keyring, policy, realm }';
  if (!keyring?.admit || !policy?.requires) throw new TypeError(usage);
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  // `entity` returns what the request says: nothing, a text, or the list of a parameter's values.
  return (operation: Op, reader: { entity?: (ctx: Context) => unknown } = {}) => {
    policy.requires(operation); // So does an operation that the policy does not have.
    const isKnown = Reflect.ownKeys(reader).every((name) => name === 'entity');
    if (!isKnown) throw new TypeError('guard: pass { entity } alone');
    const mark = { [Symbol.for('keyscope.operation')]: operation };
    const middleware: Middleware<Guarded> = async (ctx, next) => {
      ctx.set('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        const input = { policy, operation, entityUuid: reader.entity?.(ctx) };
        // Not `ctx.headers`, which hides a second Authorization line.
        Object.assign(ctx.state, await keyring.admit(ctx.req, input));
      } catch (error) {
        if (!isAccessError(error) && !isStoreError(error)) throw notStored(error); // A bug.
        if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
        const { status, headers, body } = toResponse(error, challenge);
        ctx.status = status;
        ctx.set(headers);
        ctx.body = body;
        return;
      }
      await next().catch((error: unknown) => Promise.reject(notStored(error)));
    };
    return Object.assign(middleware, mark);
  };
}

/** Of an answer to an error, Koa keeps the headers of the error alone. */
function notStored(error: unknown): unknown {
  if (!(error instanceof Error) || !Object.isExtensible(error)) return error;
  const { headers } = error as { headers?: object };
  return Object.assign(error, { headers: { 'Cache-Control': 'no-store', ...headers } });
}
