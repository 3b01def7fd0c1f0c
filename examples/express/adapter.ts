/**
 * keyscope for Express 5. Copy this file into your project and make it yours: it decides nothing, it only hands
 * the request to `keyring.admit` and puts what comes back on `req`, or answers the denial.
 */
import type { Request, RequestHandler } from 'express';
import type { ChallengeOptions, Keyring, Policy, Principal } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

// Set by the guard; on a route without one both are undefined, whatever the types say.
declare module 'express-serve-static-core' {
  interface Request {
    principal: Principal;
    /** The entity that was checked; handlers use no other. */
    entityUuid: string;
  }
}

export interface GuardOptions<Operation extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Operation>;
}

/** What the request says about the entity: nothing, a text, or the list of values that a parameter had. */
type EntityReader = (request: Request) => unknown;

/** `app.get('/threats', guard('listThreats'), handler)`: on routes, never on a path prefix. */
export function createGuard<Operation extends string>({ keyring, policy, ...challenge }: GuardOptions<Operation>) {
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  return (operation: Operation, { entity }: { entity?: EntityReader } = {}): RequestHandler => {
    policy.requires(operation); // So does an operation that the policy does not have.
    return async (req, res, next) => {
      res.setHeader('Cache-Control', 'no-store');
      try {
        // `req` and not `req.headers`, which hides a second Authorization line.
        const input = { policy, operation, entityUuid: entity?.(req) };
        const { principal, entityUuid } = await keyring.admit(req, input);
        req.principal = principal;
        req.entityUuid = entityUuid;
      } catch (error) {
        // A bug is no denial: it goes to the error handler, where your logger sees it.
        if (!isAccessError(error) && !isStoreError(error)) throw error;
        const { status, headers, body } = toResponse(error, challenge);
        // Node leaves the body out of an answer to HEAD.
        res.status(status).setHeaders(new Headers(headers)).end(body);
        return;
      }
      next();
    };
  };
}
