/**
 * keyscope for Fastify 5. Copy this file into your project and make it yours: it decides nothing, it only hands
 * the request to `keyring.admit` and puts what comes back on `request`, or answers the denial.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ChallengeOptions, Keyring, Policy, Principal } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

// Set by the guard; on a route without one both are undefined, whatever the types say.
declare module 'fastify' {
  interface FastifyRequest {
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
type EntityReader = (request: FastifyRequest) => unknown;

/** `app.get('/threats', { onRequest: guard('listThreats') }, handler)`: before the body is read. */
export function createGuard<Operation extends string>({ keyring, policy, ...challenge }: GuardOptions<Operation>) {
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  return (operation: Operation, { entity }: { entity?: EntityReader } = {}) => {
    policy.requires(operation); // So does an operation that the policy does not have.
    return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      reply.header('Cache-Control', 'no-store');
      try {
        // `raw` has every header line; `request.headers` hides a second Authorization.
        const input = { policy, operation, entityUuid: entity?.(request) };
        const { principal, entityUuid } = await keyring.admit(request.raw, input);
        request.principal = principal;
        request.entityUuid = entityUuid;
        return;
      } catch (error) {
        // A bug is no denial: it goes to the error handler, where your logger sees it.
        if (!isAccessError(error) && !isStoreError(error)) throw error;
        const { status, headers, body } = toResponse(error, challenge);
        // As bytes: Fastify adds a charset to JSON texts. Node leaves the body out of an answer to HEAD.
        return reply.code(status).headers(headers).send(Buffer.from(body));
      }
    };
  };
}
