/**
 * What the adapters of all frameworks have in common. An adapter hands over a request and sends an
 * answer; everything between is here, so that a fix reaches every service by an update.
 */
import type { Admission, Admitting } from '../core/admit.js';
import { isAccessError, isStoreError, type StoreError } from '../core/errors.js';
import { createReport, type EventContext, quietly } from '../core/events.js';
import { assert, assertFunction, hasMethods } from '../core/input.js';
import type { Policy } from '../core/policy.js';
import type { RequestLike } from '../core/request.js';
import { type ChallengeOptions, type DenialResponse, toResponse } from './challenge.js';

/** How the guards of a service work. */
export interface GuardOptions<Operation extends string = string> extends ChallengeOptions {
  /** What `createKeyring` returned. */
  readonly keyring: Admitting;
  /** What `definePolicy` returned. */
  readonly policy: Policy<Operation>;
  /** Called before an answer of 503. `causeOf(error)` is the driver's, which may quote rows. */
  readonly onOutage?: ((error: StoreError) => unknown) | undefined;
}

/** What a guard reads from the framework's own request. */
export interface GuardReaders<FrameworkRequest> {
  /** The entity that the request asks for: nothing, a text, or all values of a parameter. */
  entity?(request: FrameworkRequest): unknown;
  /** What events say about the request: see `AdmitInput`. If it throws, they do without. */
  context?(request: FrameworkRequest): EventContext | undefined;
}

/** The guard of one operation, without a framework. */
export interface Guard<FrameworkRequest> {
  /** Copy it onto the middleware or hook: `routesOf` recognises guards by it. */
  readonly mark: object;
  /**
   * Authenticates and authorizes.
   *
   * @param request The framework's own request, for the readers.
   * @param lines What `authenticate` takes: Node's request, a fetch `Request`, headers.
   * @throws Whatever `keyring.admit` or a reader throws. Pass it to `answer`.
   */
  admit(request: FrameworkRequest, lines: RequestLike): Promise<Admission>;
  /**
   * Turns what `admit` threw into the response to send, and calls `onOutage` for an outage.
   *
   * @throws The error itself if it is neither a denial nor an outage: a bug, for your logger.
   */
  answer(error: unknown): DenialResponse;
}

/** Makes the guard of an operation, when its route is declared. */
type GuardMaker<Operation extends string> = <FrameworkRequest>(
  operation: Operation,
  readers?: GuardReaders<FrameworkRequest>,
) => Guard<FrameworkRequest>;

const MARK = Symbol.for('keyscope.operation');
const READERS: readonly unknown[] = ['entity', 'context'];

/**
 * Defines what the guards of a service have in common, for the adapter of a framework. Options and
 * operations are checked at start-up.
 *
 * Not done here, because each framework has its own way: setting `Cache-Control: no-store` on every
 * answer, and handing the principal to the handler.
 *
 * @returns A function that makes the guard of one operation.
 * @throws TypeError on a missing or unknown option, and on a `realm` or `resourceMetadata` that no
 *   header can carry; from the function that it returns, on an operation that the policy does not
 *   have and on an unknown reader.
 * @example
 * const define = defineGuard({ keyring, policy, realm: 'acme' });
 * const guard = define('listThreats');
 * const { principal, entityUuid } = await guard.admit(request, request);
 */
export function defineGuard<Operation extends string>(
  options: GuardOptions<Operation>,
): GuardMaker<Operation> {
  const { keyring, policy, onOutage, ...challenge } = Object(options) as GuardOptions<Operation>;
  const isUsable = hasMethods(keyring, 'admit') && hasMethods(policy, 'requires');
  assert(isUsable, 'createGuard: pass { keyring, policy, realm }');
  if (onOutage !== undefined) assertFunction(onOutage, 'onOutage');
  // Refuses a realm that no header can carry, and an unknown option.
  toResponse(undefined, challenge);
  const report = createReport(onOutage);

  function answer(error: unknown): DenialResponse {
    const isOutage = isStoreError(error);
    if (!isOutage && !isAccessError(error)) throw error;
    if (isOutage) report(error);
    return toResponse(error, challenge);
  }

  return <FrameworkRequest>(
    operation: Operation,
    readers: GuardReaders<FrameworkRequest> = {},
  ): Guard<FrameworkRequest> => {
    policy.requires(operation);
    const isKnown = Reflect.ownKeys(readers).every((name) => READERS.includes(name));
    assert(isKnown, 'guard: pass { entity } alone, or with { context }');
    return Object.freeze<Guard<FrameworkRequest>>({
      mark: Object.freeze({ [MARK]: operation }),
      admit: async (request, lines) => {
        const entityUuid = readers.entity?.(request);
        const context = quietly(() => readers.context?.(request));
        return keyring.admit(lines, { policy, operation, entityUuid, context });
      },
      answer,
    });
  };
}
