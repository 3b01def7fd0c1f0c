/** The options of the endpoints, and how they are read at start-up. */
import { createReport } from '../core/events.js';
import {
  assert,
  assertFunction,
  hasMethods,
  readFields,
  readInteger,
  readStrings,
} from '../core/input.js';
import { toResponse } from '../http/challenge.js';
import { readBasePath } from '../http/fetch-handler.js';
import type { AuthorityReader } from './ask-authority.js';
import { type AdminKeyring, DEFAULT_BASE_PATH } from './endpoints.js';
import { isOrigin } from './origin.js';

/** How the endpoints are mounted. */
export interface KeyAdminOptions {
  /** What `createKeyring` returned. */
  readonly keyring: AdminKeyring;
  /**
   * Says on whose behalf a request manages keys. The endpoints read no cookie and no credential:
   * whoever this lets in is in.
   */
  readonly authorityOf: AuthorityReader;
  /** The path of the list, as requests have it, without a slash at the end. Default: `/keys`. */
  readonly basePath?: string | undefined;
  /** The realm of challenges, in printable ASCII. Default: `keys`. */
  readonly realm?: string | undefined;
  /**
   * Origins besides the server's own whose pages may change keys, such as
   * `https://console.example.com`. Default: none.
   */
  readonly origins?: readonly string[] | undefined;
  /**
   * How long `authorityOf` may take, in milliseconds: 1 to 600,000. After that, the answer is 503.
   * Default: 2,000.
   */
  readonly authorityTimeoutMs?: number | undefined;
  /**
   * Told of each error that is answered with 500 or 503. Log it; without it, nobody hears of them.
   * `causeOf(error)` is a driver's own, which may quote rows.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

/** {@link KeyAdminOptions}, checked and completed. */
export interface KeyAdminConfig {
  readonly keyring: AdminKeyring;
  readonly authorityOf: AuthorityReader;
  readonly basePath: string;
  readonly realm: string;
  readonly origins: ReadonlySet<string>;
  readonly authorityTimeoutMs: number;
  /** Tells of an error. Never throws. */
  readonly report: (error: unknown) => void;
}

const OPTIONS = [
  'keyring',
  'authorityOf',
  'basePath',
  'realm',
  'origins',
  'authorityTimeoutMs',
  'onError',
] as const satisfies readonly (keyof KeyAdminOptions)[];

const METHODS = [
  'issue',
  'rotate',
  'revoke',
  'revokeLineage',
  'suspend',
  'resume',
  'withdraw',
  'list',
  'get',
] as const satisfies readonly (keyof AdminKeyring)[];

/** @throws TypeError on any invalid option, so that it shows at start-up. */
export function readKeyAdminOptions(options: KeyAdminOptions): KeyAdminConfig {
  readFields(options, OPTIONS, 'createKeyAdmin');
  const { keyring, authorityOf, realm = 'keys', onError, origins = [] } = options;
  const { authorityTimeoutMs = 2000 } = options;
  assert(hasMethods(keyring, ...METHODS), 'keyring: pass what createKeyring returned');
  assert(typeof authorityOf === 'function', 'authorityOf: pass (request) => authority');
  if (onError !== undefined) assertFunction(onError, 'onError');
  // An invalid realm throws here instead of at the first denial.
  toResponse(undefined, { realm });
  return Object.freeze<KeyAdminConfig>({
    keyring,
    authorityOf,
    basePath: readBasePath(options.basePath, DEFAULT_BASE_PATH),
    realm,
    origins: new Set(readStrings(origins, 'origins', ORIGIN)),
    authorityTimeoutMs: readInteger(authorityTimeoutMs, 1, 600_000, 'authorityTimeoutMs'),
    report: createReport(onError),
  });
}

const ORIGIN = {
  holds: isOrigin,
  instead: 'pass an origin as browsers write it, such as https://console.example.com',
};
