/** keyscope for Express 5. Copy this file and adapt it. It decides nothing: `admit` does. */
import type { NextFunction as Next, Request, Response } from 'express';
import type { ChallengeOptions, Keyring, Policy, Principal, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

// Set by the guard; on a route without one both are undefined, whatever the types say.
declare module 'express-serve-static-core' {
  interface Request {
    principal: Principal;
    entityUuid: string; // The entity that was checked; handlers use no other.
  }
}

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
  return (operation: Op, reader: { entity?: (req: Request) => unknown } = {}) => {
    policy.requires(operation); // So does an operation that the policy does not have.
    const isKnown = Reflect.ownKeys(reader).every((name) => name === 'entity');
    if (!isKnown) throw new TypeError('guard: pass { entity } alone');
    const mark = { [Symbol.for('keyscope.operation')]: operation };
    async function check<P extends Request['params']>(req: Request<P>, res: Response, next: Next) {
      res.setHeader('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        const input = { policy, operation, entityUuid: reader.entity?.(req) };
        // Not `req.headers`, which hides a second Authorization line.
        Object.assign(req, await keyring.admit(req, input));
      } catch (error) {
        if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug, for your logger.
        if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
        const { status, headers, body } = toResponse(error, challenge);
        res.status(status).setHeaders(new Headers(headers)).end(body);
        return;
      }
      next();
    }
    return Object.assign(check, mark) as typeof check;
  };
}
