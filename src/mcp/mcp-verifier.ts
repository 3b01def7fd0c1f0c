/** A token verifier for the SDKs' own `requireBearerAuth`. */
import { DETAILS, isAccessError } from '../core/errors.js';
import { assert, readFields } from '../core/input.js';
import { requireAudience } from './audience.js';
import { createAuthInfo, type McpAuthInfo } from './auth-info.js';
import type { McpKeyring } from './gate-options.js';
import { readResource } from './resource.js';

export interface McpVerifierOptions {
  /** The keyring that `createKeyring` returned. */
  readonly keyring: Pick<McpKeyring, 'authenticate'>;
  /** This server's own URL. */
  readonly resource: string | URL;
  /** Makes the SDK's own `invalid_token` error. */
  readonly invalidToken: (message: string) => Error;
}

/** The SDK's `OAuthTokenVerifier`. */
export interface McpVerifier {
  /** Rejects with the error of `invalidToken`, or with a `StoreError` if the store is broken. */
  verifyAccessToken(token: string): Promise<McpAuthInfo>;
}

/**
 * Makes a verifier for the SDK's `requireBearerAuth`, for use where `createMcpGate` cannot be used.
 *
 * Every denial becomes the same `invalidToken` error. A broken store stays a `StoreError`, which
 * the SDK answers with 500 and no challenge, so that a valid key is never reported as bad. Omit the
 * SDK's `expectedResource`: it rejects every key, because a key has no audience, and this verifier
 * already binds tokens to `resource`. It emits no events and counts no usage.
 *
 * Not checked, because the SDK reads the headers: that there is only one credential (the first of
 * two lines counts), and that a session belongs to the caller.
 *
 * @throws TypeError on an invalid option.
 * @example
 * // SDK 1.x
 * const invalidToken = (message: string) => new InvalidTokenError(message);
 * const verifier = createMcpVerifier({ keyring, resource, invalidToken });
 * @example
 * // SDK 2.x
 * const code = OAuthErrorCode.InvalidToken;
 * const invalidToken = (message: string) => new OAuthError(code, message);
 * const verifier = createMcpVerifier({ keyring, resource, invalidToken });
 */
export function createMcpVerifier(options: McpVerifierOptions): McpVerifier {
  readFields(options, ['keyring', 'resource', 'invalidToken'], 'createMcpVerifier');
  const { keyring, invalidToken } = options;
  readResource(options.resource, 'resource');
  const resource = String(options.resource);
  assert(typeof keyring?.authenticate === 'function', 'keyring: pass what createKeyring returned');
  const instead =
    'invalidToken: pass a function that returns an error, such as (message) => ' +
    'new InvalidTokenError(message)';
  assert(canMakeErrors(invalidToken), instead);

  async function verifyAccessToken(token: string): Promise<McpAuthInfo> {
    try {
      requireAudience(token, resource);
      const principal = await keyring.authenticate(`Bearer ${token}`);
      return createAuthInfo(principal, resource);
    } catch (error) {
      if (!isAccessError(error)) throw error;
      // One text for all reasons, because the SDK sends it to the caller in a header.
      throw invalidToken(DETAILS.invalid_token);
    }
  }
  return Object.freeze({ verifyAccessToken });
}

/**
 * Whether `make` returns errors. A class called without `new` throws, and so does a value that is
 * not a function. Found at start-up instead of at the first denial.
 */
function canMakeErrors(make: (message: string) => unknown): boolean {
  try {
    return make('') instanceof Error;
  } catch {
    return false;
  }
}
