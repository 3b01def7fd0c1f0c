/**
 * keyscope for your own framework, here for none: plain `node:http`. It decides nothing: it passes
 * the request to `keyring.admit`, and the result to the handler, or it answers the denial.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission, ChallengeOptions, Keyring, Policy, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

/** Gets the principal, and the entity that was checked: handlers use no other. */
export type Handler = (req: IncomingMessage, res: ServerResponse, admission: Admission) => unknown;

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before an answer of 503; `causeOf(error)` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

/** `const listThreats = guard('listThreats')(handler)`; call it with each request of the route. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const { keyring, policy, onOutage, ...challenge } = options;
  if (!keyring?.admit || !policy?.requires) throw new TypeError('pass { keyring, policy, realm }');
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  const deny = (error: unknown, res: ServerResponse): void => {
    if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug: for your logger.
    if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
    const { status, headers, body } = toResponse(error, challenge);
    res.writeHead(status, headers).end(body);
  };
  // `entity` returns what the request says: nothing, a text, or all values of a parameter.
  return (operation: Op, route: { entity?: (req: IncomingMessage) => unknown } = {}) => {
    policy.requires(operation); // An operation that the policy lacks fails at start-up too.
    const known = Reflect.ownKeys(route).every((name) => name === 'entity');
    if (!known) throw new TypeError('guard: pass { entity } alone');
    const mark = { [Symbol.for('keyscope.operation')]: operation };
    return (handler: Handler) =>
      Object.assign(async (req: IncomingMessage, res: ServerResponse) => {
        res.setHeader('Cache-Control', 'no-store'); // A handler may set another, at its own risk.
        let admission: Admission;
        try {
          const entityUuid = route.entity?.(req);
          // `req` and not `req.headers`, which hides a second Authorization line.
          admission = await keyring.admit(req, { policy, operation, entityUuid });
        } catch (error) {
          return deny(error, res);
        }
        await handler(req, res, admission); // Outside the `try`: its errors are not denials.
      }, mark);
  };
}
