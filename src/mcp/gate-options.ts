/** The options of a gate, and how they are read at start-up. */
import type { Admitting } from '../core/admit.js';
import type { AuthenticateOptions } from '../core/authenticate.js';
import { isStoreError, type StoreError } from '../core/errors.js';
import { createReport, type EventContext } from '../core/events.js';
import { assert, assertFunction, hasMethods, readFields, readInteger } from '../core/input.js';
import type { Invalidation } from '../core/invalidation.js';
import type { Policy } from '../core/policy.js';
import type { Principal } from '../core/principal.js';
import type { RequestLike } from '../core/request.js';
import type { Awaitable } from '../core/store.js';
import { type ChallengeOptions, toResponse } from '../http/challenge.js';
import { createKeyWatch, type StartWatch } from './key-watch.js';
import { protectedResourceMetadata } from './metadata.js';
import { assertMapped, type McpTool } from './tools.js';

/** What this entry needs of a keyring; pass the one that `createKeyring` returned. */
export interface McpKeyring extends Admitting {
  /**
   * Verifies the bearer credential of a request; for open streams again and again, and `fresh`,
   * which is not from a cache, when the channel says that the key has changed.
   */
  authenticate(request: RequestLike, options?: AuthenticateOptions): Promise<Principal>;
}

export interface McpGateOptions<Operation extends string = string> {
  /** What `createKeyring` returned. */
  readonly keyring: McpKeyring;
  readonly policy: Policy<Operation>;
  /**
   * All tools of the server, when the gate is made. The policy must have an operation with the name
   * of each. A call of any other tool is refused, also if the SDK or the policy has one of that
   * name.
   */
  readonly tools: readonly McpTool[];
  /** The realm of challenges, the same as for REST. */
  readonly realm: string;
  /** This server's own URL. */
  readonly resource: string | URL;
  /**
   * The URL of the metadata. Default: the well-known URL of `resource`; see
   * `protectedResourceMetadata`. `false`: there is none, because there are only keys; a challenge
   * that named it would send clients in search of an authorization server.
   */
  readonly resourceMetadata?: string | false | undefined;
  /**
   * The operation that every request counts as, whether or not it calls a tool, such as `connect:
   * []`. Every request needs its scopes, which a 401 names. With it, events and usage cover every
   * request that is admitted or refused; without it, only tool calls by callers that have
   * authenticated.
   */
  readonly operation?: NoInfer<Operation> | undefined;
  /** The argument in which tools name the entity. Default: `entity_uuid`. */
  readonly entityArgument?: string | undefined;
  /** A longer body is answered with 413. Default: 4 MiB, as in the SDKs. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * For stateful transports: returns the `sessionOwner` of the entry that started this session, or
   * nothing if there is no such session. A session id is not a credential: everyone else gets 404,
   * as for a session that never existed. Without this option there are no sessions, and every
   * request that names one gets 404.
   */
  readonly sessionOwner?: ((sessionId: string) => Awaitable<string | null | undefined>) | undefined;
  /**
   * How often the key of an open stream is checked again, in milliseconds: a key that was revoked
   * ends its streams within this time and the `maxStalenessMs` of a cache. Default: 30,000.
   */
  readonly recheckMs?: number | undefined;
  /**
   * What `cacheStore` has, too: streams then end as soon as a message says that their key has
   * changed, and `recheckMs` is for messages that were lost.
   */
  readonly invalidation?: Pick<Invalidation, 'subscribe'> | undefined;
  /** Milliseconds since the epoch, for the expiry of streams. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /**
   * Called before a request is answered with 503, if a stream was ended because its key could not
   * be checked, and if `invalidation` cannot be subscribed to. `causeOf(error)` is the driver's,
   * which may quote rows.
   */
  readonly onOutage?: ((error: StoreError) => unknown) | undefined;
  /**
   * What the events of a request say about it, such as its id and the client's address; see
   * `context` of `keyring.admit`. Called once a request, before anybody authenticates: it reads
   * headers, and leaves the body to the gate. It refuses nobody: if it throws, the events do
   * without.
   */
  readonly context?: ((request: Request) => EventContext) | undefined;
}

/** {@link McpGateOptions}, checked and completed. */
export interface GateConfig {
  readonly keyring: McpKeyring;
  readonly policy: Policy;
  /** The names of all tools. */
  readonly tools: ReadonlySet<unknown>;
  readonly operation: string | undefined;
  /** The scopes that every request needs. */
  readonly scopes: readonly string[];
  /** In the exact spelling that a token's audience has. */
  readonly resource: string;
  readonly challenge: ChallengeOptions;
  readonly entityArgument: string;
  readonly maxBodyBytes: number;
  readonly sessionOwner: McpGateOptions['sessionOwner'];
  /** Tells of an outage. Never throws. */
  readonly reportOutage: (error: unknown) => void;
  readonly startWatch: StartWatch;
  readonly context: McpGateOptions['context'];
}

const OPTIONS: readonly (keyof McpGateOptions)[] = [
  'keyring',
  'policy',
  'tools',
  'realm',
  'resource',
  'resourceMetadata',
  'operation',
  'entityArgument',
  'maxBodyBytes',
  'sessionOwner',
  'recheckMs',
  'invalidation',
  'now',
  'onOutage',
  'context',
];

const DEFAULT_MAX_BODY_BYTES = 4 * 1024 * 1024;
const DEFAULT_RECHECK_MS = 30_000;
/** Streams of one key that are open at a time: the oldest ends, and its client opens another. */
const MAX_PER_KEY = 1_000;
/** Streams of all keys: the key that has most loses its newest. */
const MAX_WATCHED = 10_000;
const DAY_MS = 86_400_000;

/** @throws TypeError on any invalid option, so that it shows at start-up. */
export function readGateOptions(options: McpGateOptions): GateConfig {
  readFields(options, OPTIONS, 'createMcpGate');
  const { keyring, policy, tools, operation, entityArgument = 'entity_uuid' } = options;
  const isKeyring =
    typeof keyring?.admit === 'function' && typeof keyring.authenticate === 'function';
  assert(isKeyring, 'keyring: pass what createKeyring returned');
  assert(typeof policy?.unmapped === 'function', 'policy: pass what definePolicy returned');
  assert(Array.isArray(tools), 'tools: pass the list of all tools, each with its name');
  assertMapped(policy, tools);
  // Throws if the policy does not have this operation.
  const scopes = operation === undefined ? [] : policy.requires(operation);
  assert(typeof entityArgument === 'string', 'entityArgument: pass the name of an argument');
  const { sessionOwner, onOutage, context } = options;
  for (const callback of [sessionOwner, onOutage, context]) {
    const isCallable = callback === undefined || typeof callback === 'function';
    assert(isCallable, 'sessionOwner, onOutage, context: pass functions or leave them out');
  }
  const reportOutage = createOutageReport(onOutage);
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  const { url, document } = protectedResourceMetadata({ resource: options.resource });
  return Object.freeze<GateConfig>({
    keyring,
    policy,
    tools: namesOf(tools),
    operation,
    scopes,
    resource: document.resource,
    challenge: readChallenge(options.realm, options.resourceMetadata ?? url),
    entityArgument,
    maxBodyBytes: readInteger(maxBodyBytes, 1, 2 ** 30, 'maxBodyBytes'),
    sessionOwner,
    reportOutage,
    startWatch: readWatch(options, reportOutage),
    context,
  });
}

/** As they are now: a list that grows later has to be passed to another gate. */
function namesOf(tools: readonly McpTool[]): ReadonlySet<unknown> {
  return new Set(tools.map((tool) => tool.name));
}

/** Nobody waits for the listener: no answer depends on it. */
function createOutageReport(onOutage: McpGateOptions['onOutage']): (error: unknown) => void {
  const report = createReport(onOutage);
  return (error) => {
    if (isStoreError(error)) report(error);
  };
}

function readWatch(
  { recheckMs, invalidation, now = Date.now }: McpGateOptions,
  report: (error: unknown) => void,
): StartWatch {
  const interval = readInteger(recheckMs ?? DEFAULT_RECHECK_MS, 1, DAY_MS, 'recheckMs');
  const isChannel = invalidation === undefined || hasMethods(invalidation, 'subscribe');
  assert(isChannel, 'invalidation: pass { subscribe } or leave it out');
  assertFunction(now, 'now');
  const bounds = { maxPerKey: MAX_PER_KEY, maxWatched: MAX_WATCHED };
  return createKeyWatch({ ...bounds, recheckMs: interval, invalidation, now, report });
}

function readChallenge(realm: string, resourceMetadata: string | false): ChallengeOptions {
  const isNone = resourceMetadata === false;
  const challenge = Object.freeze(isNone ? { realm } : { realm, resourceMetadata });
  // An invalid realm throws here instead of at the first denial.
  toResponse(undefined, challenge);
  return challenge;
}
