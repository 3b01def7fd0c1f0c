/** Converts a caller to what the SDKs pass to handlers, and back. */
import { assert, assertFunction, readFields } from '../core/input.js';
import { hasScopes, type Principal, requirePrincipal } from '../core/principal.js';
import { readResource } from './resource.js';

/** The SDK's `AuthInfo`. Made anew for each request; contains nothing secret. */
export interface McpAuthInfo {
  /** `key:<key id>`, never the credential: a handler that forwards it forwards no secret. */
  token: string;
  /** The key id. */
  clientId: string;
  /** A copy of the granted concrete scopes, without those that the catalog no longer has. */
  scopes: string[];
  /** Seconds since the epoch. */
  expiresAt: number;
  /** Set if the credential was a token made for this resource. A key claims no audience. */
  resource?: URL;
  /** Not an interface, because the SDKs require a record. */
  extra: { principal: Principal };
}

/** For {@link toAuthInfo}. */
export interface AuthInfoOptions {
  /** This server's own full URL. */
  readonly resource: string | URL;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** What handlers get: `extra.authInfo` in the SDK's 1.x, `ctx.http?.authInfo` in 2.x. */
export type AuthInfoLike = AuthInfoWithExtra | undefined;

interface AuthInfoWithExtra {
  readonly extra?: { readonly principal?: unknown } | undefined;
}

/**
 * The SDKs refuse a token without `expiresAt`, but a key may never expire. This limits an AuthInfo
 * that somebody keeps; it does not limit the key.
 */
const SYNTHETIC_MS = 300_000;

/**
 * Presents a verified caller to the SDK. `extra.principal` is the principal itself: AuthInfo stays
 * in this process (the SDKs pass it on by reference or as a shallow copy), and guards accept no
 * other object; see {@link principalOf}.
 *
 * Not checked: that a token's audience is `resource`. `createMcpGate` and `createMcpVerifier` check
 * it.
 *
 * @param options `resource`: this server's own full URL. `now`: milliseconds since the epoch;
 *   default `Date.now`.
 * @returns `expiresAt` is the principal's own, rounded down; a credential that never ends gets five
 *   minutes from now.
 * @throws TypeError if `principal` is not a principal, or `resource` is not a valid resource URL.
 * @example
 * const principal = await keyring.authenticate(request);
 * const authInfo = toAuthInfo(principal, { resource: 'https://api.example.com/mcp' });
 */
export function toAuthInfo(principal: Principal, options: AuthInfoOptions): McpAuthInfo {
  readFields(options, ['resource', 'now'], 'toAuthInfo');
  const { resource, now = Date.now } = options;
  assertFunction(now, 'now');
  // Refuses copies. Without scopes to check, nothing else below would notice one.
  requirePrincipal(principal);
  return createAuthInfo(principal, readResource(resource, 'resource'), now());
}

/**
 * {@link toAuthInfo} for callers that checked `resource` at start-up. Parsing the URL again would
 * noticeably slow down each request.
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
    // The SDKs compare these literally, so scopes that grant nothing are left out.
    scopes: principal.scopes.filter((scope) => hasScopes(principal, scope)),
    expiresAt: Math.floor(endsAt / 1000),
    extra: { principal },
  };
  if (principal.via === 'jwt') authInfo.resource = new URL(resource);
  return authInfo;
}

/**
 * Returns the principal of the request that a handler serves.
 *
 * Not checked: scopes and entity; `guardTool` does that.
 *
 * @throws TypeError if there is none, which means that nothing guards the server, or if it is a
 *   copy. The SDK answers with a tool error.
 * @example
 * const me = toMe(principalOf(ctx.http?.authInfo));
 */
export function principalOf(authInfo: AuthInfoLike): Principal {
  const principal = authInfo?.extra?.principal;
  const isThere = typeof principal === 'object' && principal !== null;
  const instead = 'principalOf: no principal; put the gate or the verifier before the server';
  assert(isThere, instead);
  requirePrincipal(principal);
  return principal;
}
