/** keyscope for Fastify 5. Copy this file and adapt it. It decides nothing: `admit` does. */
import type { FastifyReply, FastifyRequest, RawServerBase } from 'fastify';
import type { ChallengeOptions, Keyring, Policy, Principal, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

// Set by the guard; on a route without one both are undefined, whatever the types say.
declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal;
    entityUuid: string; // The entity that was checked; handlers use no other.
  }
}
type Request = FastifyRequest<object, RawServerBase>;
type Reply = FastifyReply<object, RawServerBase>;

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before an answer of 503. `causeOf(error)` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

/** `app.get('/threats', { onRequest: guard('listThreats') }, handler)`: before the body is read. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const { keyring, policy, onOutage, ...challenge } = options;
  const usage = 'createGuard: pass { keyring, policy, realm }';
  if (!keyring?.admit || !policy?.requires) throw new TypeError(usage);
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  // `entity` returns what the request says: nothing, a text, or the list of a parameter's values.
  return (operation: Op, reader: { entity?(request: Request): unknown } = {}) => {
    policy.requires(operation); // So does an operation that the policy does not have.
    const isKnown = Reflect.ownKeys(reader).every((name) => name === 'entity');
    if (!isKnown) throw new TypeError('guard: pass { entity } alone');
    const mark = { [Symbol.for('keyscope.operation')]: operation };
    return Object.assign(async (request: Request, reply: Reply) => {
      reply.header('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        const input = { policy, operation, entityUuid: reader.entity?.(request) };
        // Not `request.headers`, which hides a second Authorization line.
        Object.assign(request, await keyring.admit(request.raw, input));
      } catch (error) {
        if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug, for your logger.
        if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
        const { status, headers, body } = toResponse(error, challenge);
        return reply.code(status).headers(headers).send(Buffer.from(body)); // Texts get a charset.
      }
    }, mark);
  };
}
