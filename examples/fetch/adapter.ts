/**
 * keyscope for handlers that take a fetch `Request`: Next, Bun, Deno, Workers. Copy this file and
 * adapt it. It decides nothing: `admit` does.
 */
import type { Admission, ChallengeOptions, Keyring, Policy, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before an answer of 503. `causeOf(error)` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

/** `rest` is whatever the runtime passes after the request. Handlers use no other entity. */
export type Handler<R extends Request, Rest extends readonly unknown[]> = (
  request: R,
  admission: Admission,
  ...rest: Rest
) => Response | Promise<Response>;

/** `export const GET = guard('listThreats')((request, { entityUuid }) => ...)`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const { keyring, policy, onOutage, ...challenge } = options;
  const usage = 'createGuard: pass { keyring, policy, realm }';
  if (!keyring?.admit || !policy?.requires) throw new TypeError(usage);
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  // `entity` returns what the request says: nothing, a text, or the list of a parameter's values.
  return (operation: Op, reader: { entity?: (request: Request) => unknown } = {}) => {
    policy.requires(operation); // So does an operation that the policy does not have.
    const isKnown = Reflect.ownKeys(reader).every((name) => name === 'entity');
    if (!isKnown) throw new TypeError('guard: pass { entity } alone');
    const mark = { [Symbol.for('keyscope.operation')]: operation };
    return <R extends Request, Rest extends readonly unknown[]>(handler: Handler<R, Rest>) =>
      Object.assign(async (request: R, ...rest: Rest): Promise<Response> => {
        let admission: Admission;
        try {
          const input = { policy, operation, entityUuid: reader.entity?.(request) };
          admission = await keyring.admit(request, input);
        } catch (error) {
          if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug: for your logger.
          if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
          const { status, headers, body } = toResponse(error, challenge);
          return new Response(request.method === 'HEAD' ? null : body, { status, headers });
        }
        const answer = await handler(request, admission, ...rest); // What it throws is no denial.
        if (answer.headers.has('Cache-Control')) return answer;
        const response = new Response(answer.body, answer); // Its own headers may be read-only.
        response.headers.set('Cache-Control', 'no-store');
        return response;
      }, mark);
  };
}
