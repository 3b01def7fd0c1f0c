/** keyscope for Elysia 1. Copy this file and adapt it. It decides nothing: `admit` does. */
import type { Context } from 'elysia';
import type { Admission, ChallengeOptions, Keyring, Policy, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before an answer of 503. `causeOf(error)` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

/** What a guard uses of the context. */
type Guarded = Pick<Context, 'request' | 'set'>;

/**
 * `app.get('/threats', guard('listThreats')(handler))`: around handlers, because not each hook that
 * returns a response keeps the handler from running.
 */
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
    /** Handlers get `principal`, and `entityUuid`, which was checked; they use no other. */
    return <C extends Guarded, T>(handler: (context: C & Admission) => T) =>
      Object.assign(async (context: C): Promise<Awaited<T> | Response> => {
        const { request, set } = context;
        set.headers['cache-control'] = 'no-store'; // Unless the handler sets another.
        try {
          const input = { policy, operation, entityUuid: reader.entity?.(request) };
          Object.assign(context, await keyring.admit(request, input));
        } catch (error) {
          if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug: for `onError`.
          if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
          const { status, headers, body } = toResponse(error, challenge);
          return new Response(request.method === 'HEAD' ? null : body, { status, headers });
        }
        return await handler(context as C & Admission);
      }, mark);
  };
}
