/** The options of the endpoints, checked when `createKeyAdmin` is called. */
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

/** The options of `createKeyAdmin`. */
export interface KeyAdminOptions {
  /** The result of `createKeyring`. */
  readonly keyring: AdminKeyring;
  /**
   * Returns the authority of a request, or denies it. The endpoints do not read any cookie or
   * credential, so this function alone decides who gets in.
   */
  readonly authorityOf: AuthorityReader;
  /** The path of the list in requests, without a trailing slash. Default: `/keys`. */
  readonly basePath?: string | undefined;
  /** The realm of challenges, in printable ASCII. Default: `keys`. */
  readonly realm?: string | undefined;
  /**
   * Further origins whose pages may change keys, such as `https://console.example.com`. Default:
   * only the server's own.
   */
  readonly origins?: readonly string[] | undefined;
  /**
   * The time that `authorityOf` has to answer, in milliseconds: 1 to 600,000. After that, the
   * request is answered with 503. Default: 2,000.
   */
  readonly authorityTimeoutMs?: number | undefined;
  /**
   * Gets each error that is answered with 500 or 503. Log it; without this option, these errors are
   * lost. `causeOf(error)` returns the driver's error, which may quote rows.
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
  /** Reports an error. Never throws. */
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
  'issueKeyless',
  'rotate',
  'revoke',
  'revokeLineage',
  'suspend',
  'resume',
  'withdraw',
  'list',
  'get',
] as const satisfies readonly (keyof AdminKeyring)[];

/** Checks the options at start-up. @throws TypeError on an invalid option. */
export function readKeyAdminOptions(options: KeyAdminOptions): KeyAdminConfig {
  readFields(options, OPTIONS, 'createKeyAdmin');
  const { keyring, authorityOf, realm = 'keys', onError, origins = [] } = options;
  const { authorityTimeoutMs = 2000 } = options;
  assert(hasMethods(keyring, ...METHODS), 'keyring: pass what createKeyring returned');
  assert(typeof authorityOf === 'function', 'authorityOf: pass (request) => authority');
  assertFunction(onError, 'onError');
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
