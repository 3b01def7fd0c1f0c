/**
 * keyscope for your own framework, here for none: plain `node:http`. It decides nothing; it only passes the request to
 * `keyring.admit` and the result to the handler, or answers the denial.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission, ChallengeOptions, Keyring, Policy, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

/** Gets the principal, and the entity that was checked: handlers use no other. */
export type Handler = (req: IncomingMessage, res: ServerResponse, admission: Admission) => unknown;

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before a request is answered with 503; the error's `cause` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

/** `const listThreats = guard('listThreats')(handler)`; call it with each request of the route. */
export function createGuard<Op extends string>({ keyring, policy, onOutage, ...challenge }: GuardOptions<Op>) {
  if (!keyring?.admit || !policy?.requires) throw new TypeError('createGuard: pass { keyring, policy, realm }');
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  // `entity` returns what the request says: nothing, a text, or the list of values that a parameter had.
  return (operation: Op, options: { entity?: (req: IncomingMessage) => unknown } = {}) => {
    policy.requires(operation); // So does an operation that the policy does not have.
    if (Reflect.ownKeys(options).some((name) => name !== 'entity')) throw new TypeError('guard: pass { entity } alone');
    return (handler: Handler) =>
      async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
        res.setHeader('Cache-Control', 'no-store'); // A handler that sets another takes responsibility for it.
        let admission: Admission;
        try {
          // `req` and not `req.headers`, which hides a second Authorization line.
          admission = await keyring.admit(req, { policy, operation, entityUuid: options.entity?.(req) });
        } catch (error) {
          if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug: for the caller and your logger.
          if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
          const { status, headers, body } = toResponse(error, challenge);
          return void res.writeHead(status, headers).end(body);
        }
        await handler(req, res, admission); // Outside the `try`: its errors are not denials.
      };
  };
}
