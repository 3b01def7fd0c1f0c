/** The part of a keyring that the MCP door uses, so that a wrapper may stand in for the whole. */
import type { Admission, AdmitInput, Authenticator } from '../core/admit.js';
import type { Principal } from '../core/principal.js';
import type { RequestLike } from '../core/request.js';

/** What this entry needs of a keyring; pass the one that `createKeyring` returned. */
export interface McpKeyring {
  /** Verifies the bearer credential of a request. */
  authenticate(request: RequestLike): Promise<Principal>;
  /**
   * Guards one operation, with its event and its usage. The gate always passes a function, which is
   * to be called once, in place of authenticating a request.
   */
  admit<Operation extends string>(
    request: RequestLike | Authenticator,
    input: AdmitInput<Operation>,
  ): Promise<Admission>;
}
