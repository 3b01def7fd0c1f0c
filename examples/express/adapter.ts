/**
 * keyscope for Express 5. Copy this file into your project and adapt it. It decides nothing; it only passes the request
 * to `keyring.admit` and puts the result on `req`, or answers the denial.
 */
import type { NextFunction, Request, Response } from 'express';
import type { ChallengeOptions, Keyring, Policy, Principal, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

// Set by the guard; on a route without one both are undefined, whatever the types say.
declare module 'express-serve-static-core' {
  interface Request {
    principal: Principal;
    /** The entity that was checked; handlers use no other. */
    entityUuid: string;
  }
}

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
  // `entity` returns what the request says: nothing, a text, or the list of values that a parameter had.
  return (operation: Op, options: { entity?: (req: Request) => unknown } = {}) => {
    policy.requires(operation); // So does an operation that the policy does not have.
    if (Reflect.ownKeys(options).some((name) => name !== 'entity'))
      throw new TypeError('guard: pass { entity } alone');
    return async <P extends Request['params']>(
      req: Request<P>,
      res: Response,
      next: NextFunction,
    ): Promise<void> => {
      res.setHeader('Cache-Control', 'no-store'); // A handler that sets another takes responsibility for it.
      try {
        // `req` and not `req.headers`, which hides a second Authorization line.
        const input = { policy, operation, entityUuid: options.entity?.(req) };
        const { principal, entityUuid } = await keyring.admit(req, input);
        req.principal = principal;
        req.entityUuid = entityUuid;
      } catch (error) {
        if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug: for your error handler and logger.
        if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
        const { status, headers, body } = toResponse(error, challenge);
        return void res.status(status).setHeaders(new Headers(headers)).end(body);
      }
      next();
    };
  };
}
