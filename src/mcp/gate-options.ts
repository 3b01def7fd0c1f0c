/** The options of a gate, which it validates at start-up. */
import type { Admitting } from '../core/admit.js';
import type { AuthenticateOptions } from '../core/authenticate.js';
import { isStoreError, type StoreError } from '../core/errors.js';
import { createReport, type EventContext } from '../core/events.js';
import { assert, assertFunction, hasMethods, readFields, readInteger } from '../core/input.js';
import type { Invalidation } from '../core/invalidation.js';
import { systemClock } from '../core/outage.js';
import type { Principal } from '../core/principal.js';
import type { RequestLike } from '../core/request.js';
import type { Awaitable } from '../core/store.js';
import { type ChallengeOptions, toResponse } from '../http/challenge.js';
import { createKeyWatch, type StartWatch } from './key-watch.js';
import { protectedResourceMetadata } from './metadata.js';
import { assertMapped, type McpTool, policyOf } from './tools.js';

/** The methods of a keyring that the gate uses. Pass the keyring that `createKeyring` returned. */
export interface McpKeyring<Operation extends string = string> extends Admitting<Operation> {
  /**
   * Verifies the bearer credential of a request. The gate calls it repeatedly for open streams, and
   * with `fresh`, to bypass caches, when the channel reports a change of the key.
   */
  authenticate(request: RequestLike, options?: AuthenticateOptions): Promise<Principal>;
}

export interface McpGateOptions<Operation extends string = string> {
  /** The keyring that `createKeyring` returned. */
  readonly keyring: McpKeyring<Operation>;
  /**
   * All tools of the server, as of when you make the gate. The keyring's policy must have an
   * operation named after each. The gate refuses calls of other tools, even if the SDK or the
   * policy has them.
   */
  readonly tools: readonly McpTool[];
  /** The realm of challenges, the same as for REST. Default: the keyring's prefix. */
  readonly realm?: string | undefined;
  /** This server's own URL. */
  readonly resource: string | URL;
  /**
   * The URL of the metadata. Default: the well-known URL of `resource`; see
   * `protectedResourceMetadata`. Pass `false` if there are only keys: a challenge with metadata
   * would send clients to look for an authorization server.
   */
  readonly resourceMetadata?: string | false | undefined;
  /**
   * An operation for every request, whether or not it calls a tool, such as `connect: []`. Every
   * request needs its scopes, and a 401 names them. With it, events and usage cover every admitted
   * or refused request; without it, only tool calls by authenticated callers.
   */
  readonly operation?: NoInfer<Operation> | undefined;
  /** The limit of the body; a longer one gets 413. Default: 4 MiB, as in the SDKs. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * For stateful transports: returns the `sessionOwner` of the entry that started this session, or
   * nothing if the session does not exist. A session id is not a credential: other callers get 404,
   * as for an unknown session. Without this option, every request that names a session gets 404.
   */
  readonly sessionOwner?: ((sessionId: string) => Awaitable<string | null | undefined>) | undefined;
  /**
   * How often to check the key of an open stream again, in milliseconds. A revoked key ends its
   * streams within this time plus the `maxStalenessMs` of a cache. Default: 30,000.
   */
  readonly recheckMs?: number | undefined;
  /**
   * The same channel as for `cacheStore`. Streams then end as soon as a message reports a change of
   * their key; `recheckMs` covers lost messages.
   */
  readonly invalidation?: Pick<Invalidation, 'subscribe'> | undefined;
  /** Milliseconds since the epoch, for the expiry of streams. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /**
   * Called before the gate answers 503, when it ends a stream because it cannot check the key, and
   * when it cannot subscribe to `invalidation`. `causeOf(error)` is the driver's own error, which
   * may quote rows.
   */
  readonly onError?: ((error: StoreError) => unknown) | undefined;
  /**
   * Returns details of a request for its events, such as its id and the client's address; see
   * `context` of `keyring.admit`. Called once per request, before authentication. It may read
   * headers, but not the body. If it throws, the events have no context, and the request continues.
   */
  readonly context?: ((request: Request) => EventContext) | undefined;
}

/** {@link McpGateOptions}, validated and with defaults. */
export interface GateConfig {
  readonly keyring: McpKeyring;
  /** The names of all tools. */
  readonly tools: ReadonlySet<unknown>;
  readonly operation: string | undefined;
  /** The scopes that every request needs. */
  readonly scopes: readonly string[];
  /** In the exact spelling of a token's audience. */
  readonly resource: string;
  readonly challenge: ChallengeOptions;
  readonly maxBodyBytes: number;
  readonly sessionOwner: McpGateOptions['sessionOwner'];
  /** Reports an outage. Never throws. */
  readonly reportOutage: (error: unknown) => void;
  readonly startWatch: StartWatch;
  readonly context: McpGateOptions['context'];
}

const OPTIONS: readonly (keyof McpGateOptions)[] = [
  'keyring',
  'tools',
  'realm',
  'resource',
  'resourceMetadata',
  'operation',
  'maxBodyBytes',
  'sessionOwner',
  'recheckMs',
  'invalidation',
  'now',
  'onError',
  'context',
];

const DEFAULT_MAX_BODY_BYTES = 4 * 1024 * 1024;
const DEFAULT_RECHECK_MS = 30_000;
/** The maximum number of open streams per key. Above it, the oldest ends and can reconnect. */
const MAX_PER_KEY = 1_000;
/** The maximum number of all open streams. Above it, the entity with the most loses one. */
const MAX_WATCHED = 10_000;
const DAY_MS = 86_400_000;

/** @throws TypeError on any invalid option, at start-up. */
export function readGateOptions(options: McpGateOptions): GateConfig {
  readFields(options, OPTIONS, 'createMcpGate');
  const { keyring, tools, operation } = options;
  assert(hasMethods(keyring, 'admit', 'authenticate'), 'keyring: pass what createKeyring returned');
  const policy = policyOf(keyring);
  assert(Array.isArray(tools), 'tools: pass the list of all tools, each with its name');
  assertMapped(policy, tools);
  // Throws if the policy lacks this operation.
  const scopes = operation === undefined ? [] : policy.requires(operation);
  const { sessionOwner, onError, context } = options;
  for (const callback of [sessionOwner, onError, context]) {
    const isCallable = callback === undefined || typeof callback === 'function';
    assert(isCallable, 'sessionOwner, onError, context: pass functions or leave them out');
  }
  const reportOutage = createOutageReport(onError);
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  const { url, document } = protectedResourceMetadata({ resource: options.resource });
  return Object.freeze<GateConfig>({
    keyring,
    tools: namesOf(tools),
    operation,
    scopes,
    resource: document.resource,
    challenge: readChallenge(options.realm ?? keyring.prefix, options.resourceMetadata ?? url),
    maxBodyBytes: readInteger(maxBodyBytes, 1, 2 ** 30, 'maxBodyBytes'),
    sessionOwner,
    reportOutage,
    startWatch: readWatch(options, reportOutage),
    context,
  });
}

/** Copies the names, so that later changes of the list have no effect. */
function namesOf(tools: readonly McpTool[]): ReadonlySet<unknown> {
  return new Set(tools.map((tool) => tool.name));
}

/** Reports outages without waiting for the listener. */
function createOutageReport(onError: McpGateOptions['onError']): (error: unknown) => void {
  const report = createReport(onError);
  return (error) => {
    if (isStoreError(error)) report(error);
  };
}

function readWatch(
  { recheckMs, invalidation, now = systemClock }: McpGateOptions,
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
