/** The options of the leak handler, which it validates at start-up. */
import { createReport } from '../core/events.js';
import { assert, assertFunction, hasMethods, isObject, quote, readFields } from '../core/input.js';
import type { KeyState } from '../core/record.js';
import { readBasePath } from '../http/fetch-handler.js';
import type { Keyring } from '../management/keyring.js';
import { keyPattern } from '../notation/keys.js';
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

/** A leaked key. It contains neither the key nor anything that helps to guess it. */
export interface Leak {
  /** The source of the report. */
  readonly source: 'github' | 'gitlab' | 'holder';
  /** The place that the source names, with anything like a key masked; null if it names none. */
  readonly where: string | null;
  /** The id of the leaked key. */
  readonly keyId: string;
  /** The entity that owns the key. */
  readonly entityId: string;
  /** The prefix of the key. */
  readonly prefix: string;
  /** The state of the key before the handler acted. */
  readonly state: KeyState;
  /** The ids of the keys that the handler ended or suspended. Empty if it changed nothing. */
  readonly ended: readonly string[];
}

/** A found token, as a source reports it. */
export interface Find {
  readonly token: string;
  readonly where: string | null;
}

/**
 * The methods of a keyring that the handler uses. Pass the keyring that `createKeyring` returned.
 */
export type LeakKeyring = Pick<Keyring, 'identify' | 'revoke' | 'revokeLineage' | 'suspend'>;

/** The options of `createLeakHandler`. */
export interface LeakHandlerOptions {
  /** Prefix → the keyring of its keys, such as `{ acme_live: live, acme_test: test }`. */
  readonly keyrings: Readonly<Record<string, LeakKeyring>>;
  /** Mounts `POST …/github`. */
  readonly github?: GitHubSource | undefined;
  /** Mounts `…/gitlab/v1/revocable_token_types` and `…/gitlab/v1/revoke_tokens`. */
  readonly gitlab?: GitLabSource | undefined;
  /** Mounts `POST …/revoke`, where anyone who holds a key can end it (RFC 7009). */
  readonly holder?: LeakSource | undefined;
  /**
   * The path before these routes, as in request URLs, without a slash at the end. Pass an empty
   * text for the root. Default: `/leaks`.
   */
  readonly basePath?: string | undefined;
  /**
   * Called for each leaked key, whatever the handler did with it. Notify the owner here. For a key
   * that is dead already, called once in this process, among the last 10,000 reports.
   */
  readonly onLeak?: ((leak: Leak) => unknown) | undefined;
  /**
   * Called with each error that leads to 500 or 503, with each failed fetch of GitHub's public
   * keys, and with errors of `onLeak`. Not called for the 503 that turns strangers away.
   * `causeOf(error)` is the driver's own error, which may quote rows.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

/** {@link LeakHandlerOptions}, validated and with defaults. */
export interface LeakConfig {
  readonly keyrings: readonly PrefixedKeyring[];
  readonly github: GitHub | null;
  readonly gitlab: GitLab | null;
  readonly holder: Source | null;
  readonly basePath: string;
  /** Calls `onLeak`. Never throws. */
  readonly tell: (leak: Leak) => void;
  /** Calls `onError`. Never throws. */
  readonly report: (error: unknown) => void;
}

/** A keyring and the prefix of its keys. */
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

/** @throws TypeError on any invalid option, at start-up. */
export function readLeakHandlerOptions(options: LeakHandlerOptions): LeakConfig {
  readFields(options, OPTIONS, 'createLeakHandler');
  const { github, gitlab, holder, onLeak, onError, basePath } = options;
  const isAny = [github, gitlab, holder].some((source) => source !== undefined);
  assert(isAny, 'createLeakHandler: no source is mounted. Pass github, gitlab or holder');
  assertFunction(onLeak, 'onLeak');
  assertFunction(onError, 'onError');
  const report = createReport(onError);
  const told = async (leak: Leak): Promise<unknown> => onLeak?.(leak);
  return Object.freeze<LeakConfig>({
    keyrings: readKeyrings(options.keyrings),
    github: github === undefined ? null : readGitHub(github),
    gitlab: gitlab === undefined ? null : readGitLab(gitlab),
    holder: holder === undefined ? null : readHolder(holder),
    // An empty path mounts at the root.
    basePath: basePath === '' ? '' : readBasePath(basePath, '/leaks'),
    tell: (leak) => void told(leak).catch(report),
    report,
  });
}

function readKeyrings(value: unknown): readonly PrefixedKeyring[] {
  const instead = 'keyrings: pass { prefix: keyring }, with keyrings from createKeyring';
  assert(isObject(value), instead);
  const entries = Object.entries(value);
  assert(entries.length > 0, instead);
  return entries.map(([prefix, keyring]: [string, unknown]) => {
    keyPattern(prefix); // Throws on a malformed prefix.
    assert(
      hasMethods(keyring, ...METHODS),
      `keyrings: ${quote(prefix)}: pass a keyring from createKeyring`,
    );
    return { prefix, keyring: keyring as LeakKeyring };
  });
}
