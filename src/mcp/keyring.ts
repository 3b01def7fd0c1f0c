/** The part of a keyring that MCP uses, so that a wrapper can take its place. */
import type { Admitting } from '../core/admit.js';
import type { AuthenticateOptions } from '../core/authenticate.js';
import type { Principal } from '../core/principal.js';
import type { RequestLike } from '../core/request.js';

/** What this entry needs of a keyring; pass the one that `createKeyring` returned. */
export interface McpKeyring extends Admitting {
  /**
   * Verifies the bearer credential of a request; for open streams again and again, and `fresh`,
   * which is not from a cache, when the channel says that the key has changed.
   */
  authenticate(request: RequestLike, options?: AuthenticateOptions): Promise<Principal>;
}
