/**
 * The part that the adapters of all frameworks share. An adapter passes a request in and sends the
 * answer. Everything in between is here, so that an update of the package brings a fix to every
 * service.
 */
import type { Admission, Admitting } from '../core/admit.js';
import { isAccessError, isStoreError, type StoreError } from '../core/errors.js';
import { createReport, type EventContext, quietly } from '../core/events.js';
import { assert, assertFunction, hasMethods, readText } from '../core/input.js';
import type { RequestLike } from '../core/request.js';
import { type ChallengeOptions, type DenialResponse, toResponse } from './challenge.js';

/** The options of {@link defineGuard}. */
export interface GuardOptions<Operation extends string = string>
  extends Pick<ChallengeOptions, 'resourceMetadata'> {
  /** The result of `createKeyring`. */
  readonly keyring: Admitting<Operation>;
  /** The realm of challenges, in printable ASCII. Default: the keyring's prefix. */
  readonly realm?: string | undefined;
  /** Called before a 503. `causeOf(error)` returns the driver's error, which may quote rows. */
  readonly onError?: ((error: StoreError) => unknown) | undefined;
}

/** The options of one route's guard. */
export interface RouteGuardOptions<FrameworkRequest> {
  /** Returns the requested entity: nothing, a text, or all values of a parameter. */
  entity?(request: FrameworkRequest): unknown;
  /** Returns the context for events: see `AdmitInput`. If it throws, the event has none. */
  context?(request: FrameworkRequest): EventContext | undefined;
  /**
   * Who else may call the route, because your own sign-in opens it too, such as `people with a
   * session`; at most 100 characters. It is only for the lock (`keyscope/lock`): the guard itself
   * still lets in only keys.
   */
  readonly also?: string | undefined;
}

/** The guard of one operation, without a framework. */
export interface Guard<FrameworkRequest> {
  /** Copy it onto the middleware or hook. `routesOf` recognises guards by it, and reads `also`. */
  readonly mark: object;
  /**
   * Authenticates and authorizes.
   *
   * @param request The framework's own request, for `entity` and `context`.
   * @param lines The request for `authenticate`: Node's request, a fetch `Request`, or headers.
   * @throws Any error of `keyring.admit` or `entity`. Pass it to `answer`.
   */
  admit(request: FrameworkRequest, lines: RequestLike): Promise<Admission>;
  /**
   * Turns an error of `admit` into the response to send, and calls `onError` for an outage.
   *
   * @throws The error itself if it is neither a denial nor an outage. That is a bug: log it.
   */
  answer(error: unknown): DenialResponse;
}

/** Makes the guard of an operation when you declare its route. */
type GuardMaker<Operation extends string> = <FrameworkRequest>(
  operation: Operation,
  route?: RouteGuardOptions<FrameworkRequest>,
) => Guard<FrameworkRequest>;

const MARK = Symbol.for('keyscope.operation');
const ALSO = Symbol.for('keyscope.also');
const MAX_ALSO_LENGTH = 100;
const ROUTE_OPTIONS: readonly unknown[] = ['entity', 'context', 'also'];

/**
 * Defines the guards of a service, for the adapter of a framework. Checks options and operations at
 * start-up.
 *
 * The adapter must set `Cache-Control: no-store` on every answer and pass the principal to the
 * handler, because each framework has its own way to do so.
 *
 * @returns A function that makes the guard of one operation.
 * @throws TypeError on a missing or unknown option, and on a `realm` or `resourceMetadata` that no
 *   header can carry. The returned function throws one on an operation that is not in the policy,
 *   on an unknown field, and on an invalid `also`.
 * @example
 * const define = defineGuard({ keyring });
 * const guard = define('listThreats');
 * const { principal, entityId } = await guard.admit(request, request);
 */
export function defineGuard<Operation extends string>(
  options: GuardOptions<Operation>,
): GuardMaker<Operation> {
  const { keyring, onError, ...given } = Object(options) as GuardOptions<Operation>;
  const { policy, prefix } = Object(keyring) as Admitting<Operation>;
  const isUsable = hasMethods(keyring, 'admit') && hasMethods(policy, 'requires');
  assert(isUsable, 'createGuard: pass { keyring }, made with a policy');
  assertFunction(onError, 'onError');
  const challenge = { ...given, realm: given.realm ?? prefix };
  // Refuses a realm that no header can carry, and an unknown option.
  toResponse(undefined, challenge);
  const report = createReport(onError);

  function answer(error: unknown): DenialResponse {
    const isOutage = isStoreError(error);
    if (!isOutage && !isAccessError(error)) throw error;
    if (isOutage) report(error);
    return toResponse(error, challenge);
  }

  return <FrameworkRequest>(
    operation: Operation,
    route: RouteGuardOptions<FrameworkRequest> = {},
  ): Guard<FrameworkRequest> => {
    policy.requires(operation);
    const isKnown = Reflect.ownKeys(route).every((name) => ROUTE_OPTIONS.includes(name));
    assert(isKnown, 'guard: pass { entity, context, also }, or only some of them');
    const { also } = route;
    if (also !== undefined) readText(also, MAX_ALSO_LENGTH, 'guard: also');
    return Object.freeze<Guard<FrameworkRequest>>({
      mark: Object.freeze({ [MARK]: operation, [ALSO]: also }),
      admit: async (request, lines) => {
        const entityId = route.entity?.(request);
        const context = quietly(() => route.context?.(request));
        return keyring.admit(lines, { operation, entityId, context });
      },
      answer,
    });
  };
}
