/** keyscope for Nest 12. Copy this file and adapt it. It decides nothing: `admit` does. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { Admission, ChallengeOptions, Keyring, Policy, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

/**
 * `@Req() request: Guarded`: `principal`, and `entityUuid`, which was checked: handlers use no
 * other. On a route without a guard both are undefined, whatever the types say.
 */
export interface Guarded extends Admission {
  readonly url: string;
}

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before an answer of 503. `causeOf(error)` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

/** Node's own is in `raw` where the framework has one of its own, as Fastify has. */
const rawOf = <T>(framework: T & { readonly raw?: T }): T => framework.raw ?? framework;

/** `@UseGuards(guard('listThreats'))`, on the handlers of routes. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const { keyring, policy, onOutage, ...challenge } = options;
  const usage = 'createGuard: pass { keyring, policy, realm }';
  if (!keyring?.admit || !policy?.requires) throw new TypeError(usage);
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  // `entity` returns what the request says: nothing, a text, or the list of a parameter's values.
  return (operation: Op, reader: { entity?: (req: IncomingMessage) => unknown } = {}) => {
    policy.requires(operation); // So does an operation that the policy does not have.
    const isKnown = Reflect.ownKeys(reader).every((name) => name === 'entity');
    if (!isKnown) throw new TypeError('guard: pass { entity } alone');
    const mark = { [Symbol.for('keyscope.operation')]: operation };
    const canActivate = async (context: ExecutionContext): Promise<boolean> => {
      if (context.getType() !== 'http') throw new TypeError('guard: for HTTP routes alone');
      const request = context.switchToHttp().getRequest<IncomingMessage>();
      const res = rawOf(context.switchToHttp().getResponse<ServerResponse>());
      res.setHeader('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        const req = rawOf(request); // Not its `headers`, which hide a second Authorization line.
        const input = { policy, operation, entityUuid: reader.entity?.(req) };
        Object.assign(request, await keyring.admit(req, input));
        return true;
      } catch (error) {
        if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug: for your filters.
        if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
        const { status, headers, body } = toResponse(error, challenge);
        res.writeHead(status, headers).end(body);
        return false; // Of the ForbiddenException that follows Nest sends nothing more.
      }
    };
    return { canActivate, ...mark } satisfies CanActivate;
  };
}
