/** keyscope for tRPC 11. Copy this file and adapt it. It decides nothing: `admit` does. */
import { initTRPC, TRPCError } from '@trpc/server';
import type { ChallengeOptions, Keyring, Policy, RequestLike, StoreError } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';

/** What `createContext` has to return: of Node's servers `req`, of fetch's the `Request`. */
export interface Context {
  readonly req: RequestLike;
}

export interface GuardOptions<Op extends string> extends ChallengeOptions {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly policy: Policy<Op>;
  /** Called before an answer of 503. `causeOf(error)` is the driver's, which may quote rows. */
  readonly onOutage?: (error: StoreError) => void;
}

const CODES = { 400: 'BAD_REQUEST', 401: 'UNAUTHORIZED', 403: 'FORBIDDEN' } as const;

/** `t.procedure.use(guard('listThreats'))`: handlers get `ctx.principal` and `ctx.entityUuid`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const { keyring, policy, onOutage, ...challenge } = options;
  const usage = 'createGuard: pass { keyring, policy, realm }';
  if (!keyring?.admit || !policy?.requires) throw new TypeError(usage);
  toResponse(undefined, challenge); // A realm that no header can carry fails here, at start-up.
  const t = initTRPC.context<Context>().create();
  // `entity` returns what the input says, as the client sent it: nothing, a text, or a list.
  return (operation: Op, reader: { entity?: (input: unknown) => unknown } = {}) => {
    policy.requires(operation); // So does an operation that the policy does not have.
    const isKnown = Reflect.ownKeys(reader).every((name) => name === 'entity');
    if (!isKnown) throw new TypeError('guard: pass { entity } alone');
    const mark = { [Symbol.for('keyscope.operation')]: operation };
    const middleware = t.middleware(async ({ ctx, getRawInput, next }) => {
      const entityUuid = reader.entity?.(await getRawInput());
      const admitted = keyring.admit(ctx.req, { policy, operation, entityUuid });
      const admission = await admitted.catch((error: unknown) => {
        if (!isAccessError(error) && !isStoreError(error)) throw error; // A bug: for `onError`.
        if (isStoreError(error)) (async () => onOutage?.(error))().catch(() => {});
        const { status, body } = toResponse(error, challenge);
        const code = CODES[status as keyof typeof CODES] ?? 'SERVICE_UNAVAILABLE';
        const { detail } = JSON.parse(body) as { detail: string };
        throw new TRPCError({ code, message: detail, cause: error });
      });
      return next({ ctx: admission }); // Handlers use no other entity than this one.
    });
    for (const each of middleware._middlewares) Object.assign(each, mark);
    return middleware;
  };
}

/** `createHTTPServer({ responseMeta: createResponseMeta({ realm }), ... })`: the headers. */
export function createResponseMeta(challenge: ChallengeOptions) {
  toResponse(undefined, challenge);
  return ({ errors }: { errors: readonly TRPCError[] }) => {
    const denial = errors.find(({ cause }) => isAccessError(cause) || isStoreError(cause))?.cause;
    const headers = denial === undefined ? {} : toResponse(denial, challenge).headers;
    const { 'Content-Type': _, ...rest } = headers; // The body is tRPC's own.
    return { headers: { ...rest, 'Cache-Control': 'no-store' } };
  };
}
