/** The contract of verifiers of short-lived tokens, and the choice between several. */
import { assert, hasMethods } from './input.js';
import type { Principal } from './principal.js';
import type { Trust } from './trust.js';

/** A key that would authenticate now, read from its sealed record. Not a principal. */
export interface LiveKey extends Omit<Principal, 'via'> {
  /**
   * The identities that may act as the key without its text; null for keys whose text was handed
   * out.
   */
  readonly trust: Trust | null;
  /** When the newest mark was written: milliseconds, or null. Not under the seal. */
  readonly changedAt: number | null;
}

/** The tools that a keyring gives to a verifier. */
export interface TokenTools {
  /**
   * Reads a key by its id and checks everything from its format to its expiry. Rejects with
   * `AccessError` `invalid_token` unless the key would authenticate now, and with `StoreError` if
   * the store is broken. The keyring admits by the same row. Do not read the store yourself: a
   * second read can return a row whose seal was not checked.
   */
  findLive(keyId: string): Promise<LiveKey>;
}

/**
 * Verifies tokens. `verify` returns the same `Principal` that a key would, with `via: 'jwt'` or
 * `'keyless'`. It rejects with `AccessError` `invalid_token` on anything that is not a valid token
 * for this service, and with `StoreError` if the keys to check it are unavailable. If it does not
 * settle within the keyring's `storeTimeoutMs`, the keyring throws a `StoreError`, too.
 *
 * The principal's `keyId` is the key that the token stands for, its parent. The keyring checks the
 * ids, entities and scopes again; the verifier is responsible for `name`, `metadata` and
 * `expiresAt`.
 */
export interface TokenVerifier {
  verify(token: string, tools: TokenTools): Promise<Principal>;
  /**
   * Checks whether this verifier decides about a token. Required in a list. Keep it cheap: look
   * only at the token's shape and its unverified `iss`.
   */
  recognizes?(token: string): boolean;
  /** The issuers whose tokens it verifies, if it can name them. No two verifiers may share one. */
  readonly issuers?: readonly string[] | undefined;
  /**
   * Checks whether a trust has a claim that its issuer gives to nobody else. Returns null for an
   * issuer that is not its own. `issueKeyless` requires one verifier that returns true.
   */
  identifies?(trust: Trust): boolean | null;
}

/** The verifiers of a keyring. */
export interface Verifiers {
  readonly all: readonly TokenVerifier[];
  /** Finds the verifier that decides about a token. */
  choose(token: string): TokenVerifier | undefined;
}

/**
 * Reads one verifier, which decides about every token, or a list, where the first match decides.
 */
export function readVerifiers(tokens: unknown): Verifiers {
  if (!Array.isArray(tokens)) {
    assert(hasMethods(tokens, 'verify'), 'tokens: a verifier needs verify');
    const only = tokens as TokenVerifier;
    return { all: [only], choose: () => only };
  }
  assert(tokens.length > 0, 'tokens: the list is empty; leave tokens out');
  // `Array.from`, because `map` would skip holes.
  const verifiers = Array.from<TokenVerifier>(tokens);
  const issuers = new Set<string>();
  for (const verifier of verifiers) {
    assert(
      hasMethods(verifier, 'verify', 'recognizes'),
      'tokens: a verifier needs verify, and in a list recognizes',
    );
    for (const issuer of verifier.issuers ?? []) {
      assert(!issuers.has(issuer), 'tokens: two verifiers have one issuer', issuer);
      issuers.add(issuer);
    }
  }
  return {
    all: verifiers,
    choose: (token) => verifiers.find((verifier) => verifier.recognizes?.(token) === true),
  };
}
