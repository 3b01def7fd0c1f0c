/** Converts a principal to the SDKs' `AuthInfo`, and back. */
import { assert, assertFunction, readFields } from '../core/input.js';
import { systemClock } from '../core/outage.js';
import { grantedScopes, type Principal, requirePrincipal } from '../core/principal.js';
import { readResource } from './resource.js';

/** The SDK's `AuthInfo`. Made anew for each request; contains nothing secret. */
export interface McpAuthInfo {
  /** `key:<key id>`, never the credential, so that a handler that forwards it leaks no secret. */
  token: string;
  /** The key id. */
  clientId: string;
  /** A copy of the granted concrete scopes that the catalog still has. */
  scopes: string[];
  /** Seconds since the epoch. */
  expiresAt: number;
  /** Set if the credential was a token for this resource, keyless or not. Keys have no audience. */
  resource?: URL;
  /** An object type, because the SDKs require a record. */
  extra: { principal: Principal };
}

/** The options of {@link toAuthInfo}. */
export interface AuthInfoOptions {
  /** This server's own full URL. */
  readonly resource: string | URL;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The `AuthInfo` in a handler: `extra.authInfo` in SDK 1.x, `ctx.http?.authInfo` in 2.x. */
export type AuthInfoLike = AuthInfoWithExtra | undefined;

interface AuthInfoWithExtra {
  readonly extra?: { readonly principal?: unknown } | undefined;
}

/**
 * The lifetime of an AuthInfo for a key that never expires. The SDKs reject an AuthInfo without
 * `expiresAt`. It does not limit the key.
 */
const SYNTHETIC_MS = 300_000;

/**
 * Converts a verified principal to the SDK's `AuthInfo`. `extra.principal` is the principal itself,
 * because guards accept no copy; see {@link principalOf}. The SDKs keep AuthInfo in this process
 * and pass it by reference or as a shallow copy.
 *
 * Not checked: that a token's audience is `resource`. `createMcpGate` and `createMcpVerifier` check
 * it.
 *
 * @param options `resource`: this server's own full URL. `now`: milliseconds since the epoch;
 *   default `Date.now`.
 * @returns An AuthInfo. Its `expiresAt` is the principal's, rounded down, or five minutes from now
 *   for a credential that never expires.
 * @throws TypeError if `principal` is not a principal, or `resource` is not a valid resource URL.
 * @example
 * const principal = await keyring.authenticate(request);
 * const authInfo = toAuthInfo(principal, { resource: 'https://api.example.com/mcp' });
 */
export function toAuthInfo(principal: Principal, options: AuthInfoOptions): McpAuthInfo {
  readFields(options, ['resource', 'now'], 'toAuthInfo');
  const { resource, now = systemClock } = options;
  assertFunction(now, 'now');
  // Rejects copies, which nothing below would notice for a principal without scopes.
  requirePrincipal(principal);
  return createAuthInfo(principal, readResource(resource, 'resource'), now());
}

/**
 * Does the same as {@link toAuthInfo} for a `resource` that was checked at start-up. Parsing the
 * URL again would noticeably slow down each request.
 */
export function createAuthInfo(
  principal: Principal,
  resource: string | URL,
  now: number = Date.now(),
): McpAuthInfo {
  const { keyId, expiresAt } = principal;
  const endsAt = expiresAt ?? now + SYNTHETIC_MS;
  const authInfo: McpAuthInfo = {
    token: `key:${keyId}`,
    clientId: keyId,
    // The SDKs compare these literally, so omit scopes that grant nothing.
    scopes: grantedScopes(principal),
    expiresAt: Math.floor(endsAt / 1000),
    extra: { principal },
  };
  if (principal.via !== 'key') authInfo.resource = new URL(resource);
  return authInfo;
}

/**
 * Returns the principal of a handler's request.
 *
 * Not checked: scopes and entity. Use `guardTool` for these.
 *
 * @throws TypeError if the principal is missing, because nothing guards the server, or if it is a
 *   copy. The SDK answers with a tool error.
 * @example
 * const me = toMe(principalOf(ctx.http?.authInfo));
 */
export function principalOf(authInfo: AuthInfoLike): Principal {
  const principal = authInfo?.extra?.principal;
  const isThere = typeof principal === 'object' && principal !== null;
  const instead = 'principalOf: no principal. Put the gate or the verifier in front of the server';
  assert(isThere, instead);
  requirePrincipal(principal);
  return principal;
}
