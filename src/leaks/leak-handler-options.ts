/** The options of the leak handler, and how they are read at start-up. */
import { createReport } from '../core/events.js';
import { assert, assertFunction, hasMethods, isObject, quote, readFields } from '../core/input.js';
import type { KeyState } from '../core/record.js';
import { readBasePath } from '../http/fetch-handler.js';
import type { Authority } from '../management/authority.js';
import type { DamagedKey, KeyInfo } from '../management/info.js';
import { keyPattern } from '../management/keys.js';
import {
  type GitHub,
  type GitHubSource,
  type GitLab,
  type GitLabSource,
  type LeakSource,
  readGitHub,
  readGitLab,
  readHolder,
  type Source,
} from './sources.js';

/** Nothing in it is the key, or helps to guess it. */
export interface Leak {
  /** Who reported it. */
  readonly source: 'github' | 'gitlab' | 'holder';
  /** Where it was found, as the source says it, without what looks like a key; null if not said. */
  readonly where: string | null;
  /** The key that was found. */
  readonly keyId: string;
  /** Whose key it is. */
  readonly entityUuid: string;
  /** What the key begins with. */
  readonly prefix: string;
  /** What it was before anything was done. */
  readonly state: KeyState;
  /** The keys that were taken out of use now, by their ids: none if there was nothing to do. */
  readonly ended: readonly string[];
}

/** What a source says of one find. */
export interface Find {
  readonly token: string;
  readonly where: string | null;
}

/** What this entry needs of a keyring; pass the one that `createKeyring` returned. */
export interface LeakKeyring {
  /** Whose key a string is, whatever its state, or `null`. `actor` is who found it. */
  identify(key: string, options: { actor: string }): Promise<KeyInfo | DamagedKey | null>;
  /** Ends a key at once and for good. */
  revoke(keyId: string, authority: Authority): Promise<void>;
  /** Revokes a key with all that it was rotated from and to; returns their ids. */
  revokeLineage(keyId: string, authority: Authority): Promise<readonly string[]>;
  /** Takes a key out of use until `resume`. */
  suspend(keyId: string, authority: Authority): Promise<void>;
}

/** How the handler is mounted, and by whom leaks are reported. */
export interface LeakHandlerOptions {
  /** Prefix → the keyring of its keys, such as `{ acme_live: live, acme_test: test }`. */
  readonly keyrings: Readonly<Record<string, LeakKeyring>>;
  /** Mounts `POST …/github`. Left out, there is nothing at that path. */
  readonly github?: GitHubSource | undefined;
  /** Mounts `…/gitlab/v1/revocable_token_types` and `…/gitlab/v1/revoke_tokens`. */
  readonly gitlab?: GitLabSource | undefined;
  /** Mounts `POST …/revoke`: whoever holds a key may end it (RFC 7009). */
  readonly holder?: LeakSource | undefined;
  /**
   * The path before those, as requests have it, without a slash at the end; empty for none.
   * Default: `/leaks`.
   */
  readonly basePath?: string | undefined;
  /** Told of each key that was found, whatever was done with it. Tell its owner there. */
  readonly onLeak?: ((leak: Leak) => unknown) | undefined;
  /**
   * Told of each error that is answered with 500 or 503, of each fetch of GitHub's public keys that
   * failed, and of what `onLeak` throws or rejects with. Not told of strangers who are sent away.
   * `causeOf(error)` is a driver's own, which may quote rows.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

/** {@link LeakHandlerOptions}, checked and completed. */
export interface LeakConfig {
  readonly keyrings: readonly PrefixedKeyring[];
  readonly github: GitHub | null;
  readonly gitlab: GitLab | null;
  readonly holder: Source | null;
  readonly basePath: string;
  /** Tells of a leak. Never throws. */
  readonly tell: (leak: Leak) => void;
  /** Tells of an error. Never throws. */
  readonly report: (error: unknown) => void;
}

/** A keyring, and what its keys begin with. */
export interface PrefixedKeyring {
  readonly prefix: string;
  readonly keyring: LeakKeyring;
}

const OPTIONS = [
  'keyrings',
  'github',
  'gitlab',
  'holder',
  'basePath',
  'onLeak',
  'onError',
] as const satisfies readonly (keyof LeakHandlerOptions)[];

const METHODS = ['identify', 'revoke', 'revokeLineage', 'suspend'] as const;

/** @throws TypeError on any invalid option, so that it shows at start-up. */
export function readLeakHandlerOptions(options: LeakHandlerOptions): LeakConfig {
  readFields(options, OPTIONS, 'createLeakHandler');
  const { github, gitlab, holder, onLeak, onError, basePath } = options;
  const isAny = [github, gitlab, holder].some((source) => source !== undefined);
  assert(isAny, 'createLeakHandler: pass github, gitlab or holder, or nothing is mounted');
  if (onLeak !== undefined) assertFunction(onLeak, 'onLeak');
  if (onError !== undefined) assertFunction(onError, 'onError');
  const report = createReport(onError);
  const told = async (leak: Leak): Promise<unknown> => onLeak?.(leak);
  return Object.freeze<LeakConfig>({
    keyrings: readKeyrings(options.keyrings),
    github: github === undefined ? null : readGitHub(github),
    gitlab: gitlab === undefined ? null : readGitLab(gitlab),
    holder: holder === undefined ? null : readHolder(holder),
    // Empty: at the root.
    basePath: basePath === '' ? '' : readBasePath(basePath, '/leaks'),
    tell: (leak) => void told(leak).catch(report),
    report,
  });
}

function readKeyrings(value: unknown): readonly PrefixedKeyring[] {
  const instead = 'keyrings: pass { prefix: keyring }, with what createKeyring returned';
  assert(isObject(value), instead);
  const entries = Object.entries(value);
  assert(entries.length > 0, instead);
  return entries.map(([prefix, keyring]: [string, unknown]) => {
    keyPattern(prefix); // Throws on a malformed prefix.
    assert(
      hasMethods(keyring, ...METHODS),
      `keyrings: ${quote(prefix)}: pass what createKeyring returned`,
    );
    return { prefix, keyring: keyring as LeakKeyring };
  });
}
