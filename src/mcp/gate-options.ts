/** The options of a gate, and how they are read at start-up. */
import { type ChallengeOptions, toResponse } from '../core/challenge.js';
import type { StoreError } from '../core/errors.js';
import { assert, readFields, readInteger } from '../core/input.js';
import type { Policy } from '../core/policy.js';
import type { Awaitable } from '../core/store.js';
import type { McpKeyring } from './keyring.js';
import { protectedResourceMetadata } from './metadata.js';
import { assertMapped, type McpTool } from './tools.js';

export interface McpGateOptions<Operation extends string = string> {
  /** What `createKeyring` returned. */
  readonly keyring: McpKeyring;
  readonly policy: Policy<Operation>;
  /** All tools of the server. The policy must have an operation with the name of each. */
  readonly tools: readonly McpTool[];
  /** The realm of challenges, the same as for REST. */
  readonly realm: string;
  /** This server's own URL. */
  readonly resource: string | URL;
  /**
   * The URL of the metadata. Default: the well-known URL of `resource`; see
   * `protectedResourceMetadata`.
   */
  readonly resourceMetadata?: string | undefined;
  /**
   * The operation that every request counts as, whether or not it calls a tool, such as `connect:
   * []`. Every request needs its scopes. With it, events and usage cover every request that is
   * admitted or refused; without it, only tool calls by callers that have authenticated.
   */
  readonly operation?: NoInfer<Operation> | undefined;
  /** The argument in which tools name the entity. Default: `entity_uuid`. */
  readonly entityArgument?: string | undefined;
  /** A longer body is answered with 413. Default: 4 MiB, as in the SDKs. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * For stateful transports: returns the `sessionOwner` of the entry that started this session, or
   * nothing if there is no such session. A session id is not a credential: everyone else gets 404,
   * as for a session that never existed.
   */
  readonly sessionOwner?: ((sessionId: string) => Awaitable<string | null | undefined>) | undefined;
  /**
   * Called before a request is answered with 503; the error's `cause` is the driver's, which may
   * quote rows.
   */
  readonly onOutage?: ((error: StoreError) => unknown) | undefined;
}

/** {@link McpGateOptions}, checked and completed. */
export interface GateConfig {
  readonly keyring: McpKeyring;
  readonly policy: Policy;
  /** The operations of the policy. The SDK handles calls of other tools. */
  readonly known: ReadonlySet<string>;
  readonly operation: string | undefined;
  /** In the exact spelling that a token's audience has. */
  readonly resource: string;
  readonly challenge: ChallengeOptions;
  readonly entityArgument: string;
  readonly maxBodyBytes: number;
  readonly sessionOwner: McpGateOptions['sessionOwner'];
  readonly onOutage: McpGateOptions['onOutage'];
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
  'onOutage',
];

const DEFAULT_MAX_BODY_BYTES = 4 * 1024 * 1024;

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
  if (operation !== undefined) policy.requires(operation);
  assert(typeof entityArgument === 'string', 'entityArgument: pass the name of an argument');
  const { sessionOwner, onOutage } = options;
  for (const callback of [sessionOwner, onOutage]) {
    const isCallable = callback === undefined || typeof callback === 'function';
    assert(isCallable, 'sessionOwner, onOutage: pass functions or leave them out');
  }
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  const { url, document } = protectedResourceMetadata({ resource: options.resource });
  return Object.freeze<GateConfig>({
    keyring,
    policy,
    known: new Set(policy.operations),
    operation,
    resource: document.resource,
    challenge: readChallenge(options.realm, options.resourceMetadata ?? url),
    entityArgument,
    maxBodyBytes: readInteger(maxBodyBytes, 1, 2 ** 30, 'maxBodyBytes'),
    sessionOwner,
    onOutage,
  });
}

function readChallenge(realm: string, resourceMetadata: string): ChallengeOptions {
  const challenge = Object.freeze({ realm, resourceMetadata });
  // An invalid realm throws here instead of at the first denial.
  toResponse(undefined, challenge);
  return challenge;
}
