/** Who reports leaks, and what is done then: the options of each source. */
import {
  assert,
  assertFunction,
  readFields,
  readFlag,
  readStrings,
  readText,
} from '../core/input.js';
import type { ChallengeOptions } from '../http/challenge.js';
import type { Fetch } from './published-keys.js';

/**
 * What is done with a key that was found:
 *
 * - `revoke` ends it for good;
 * - `revokeLineage` ends with it its rotations, and what was issued on its authority;
 * - `suspend` takes it out of use until somebody resumes it; the same report of GitHub or GitLab
 *   does so once in a process;
 * - `tell` does nothing but call `onLeak`.
 */
export type LeakAction = 'revoke' | 'revokeLineage' | 'suspend' | 'tell';

/** What is done with what a source reports. */
export interface LeakSource {
  /** What is done with a key that is found. Default: `revoke`. */
  readonly action?: LeakAction | undefined;
  /**
   * With `revokeLineage`: whether a key that has already ended ends its successors, too. Default:
   * false, so that an old key in a public history ends nobody's new one.
   */
  readonly evenIfEnded?: boolean | undefined;
  /** Who did it, in records and events. Default: the source's name. */
  readonly actor?: string | undefined;
}

/** GitHub's secret scanning partner programme. */
export interface GitHubSource extends LeakSource {
  /**
   * Where the public keys are listed. Default:
   * `https://api.github.com/meta/public_keys/secret_scanning`.
   */
  readonly publicKeysUrl?: string | undefined;
  /** Fetches that list, such as through a proxy. Default: the platform's `fetch`. */
  readonly fetch?: Fetch | undefined;
}

/** GitLab's Token Revocation API, as an instance of your own is configured for it. */
export interface GitLabSource extends LeakSource {
  /** `secret_detection_token_revocation_token` of that instance: 32 characters or more. */
  readonly secret: string;
  /** The types to announce, such as `gitleaks_rule_id_acme-api-key`. */
  readonly types: readonly string[];
}

/** A source, checked and completed. */
export interface Source {
  readonly name: 'github' | 'gitlab' | 'holder';
  readonly action: LeakAction;
  readonly evenIfEnded: boolean;
  readonly actor: string;
}

/** {@link GitHubSource}, checked and completed. */
export interface GitHub extends Source {
  readonly publicKeysUrl: string;
  readonly fetch: Fetch;
}

/** {@link GitLabSource}, checked and completed. */
export interface GitLab extends Source {
  readonly secret: string;
  readonly types: ReadonlySet<string>;
}

/** How the doors present themselves. */
export const CHALLENGE: ChallengeOptions = Object.freeze({ realm: 'leaks' });

const PUBLIC_KEYS = 'https://api.github.com/meta/public_keys/secret_scanning';
const ACTIONS: readonly LeakAction[] = ['revoke', 'revokeLineage', 'suspend', 'tell'];
const OF_EACH = ['action', 'evenIfEnded', 'actor'] as const satisfies readonly (keyof LeakSource)[];

/** @throws TypeError on an invalid option. */
export function readGitHub(value: GitHubSource): GitHub {
  readFields(value, [...OF_EACH, 'publicKeysUrl', 'fetch'], 'github');
  const { publicKeysUrl = PUBLIC_KEYS, fetch = platformFetch } = value;
  const isHttps = URL.canParse(publicKeysUrl) && new URL(publicKeysUrl).protocol === 'https:';
  assert(isHttps, 'github: publicKeysUrl: pass a URL of https', publicKeysUrl);
  assertFunction(fetch, 'github: fetch');
  return { ...readSource(value, 'github', 'GitHub secret scanning'), publicKeysUrl, fetch };
}

/** Looked up when it is called, so that what observes or replaces it is not gone round. */
const platformFetch: Fetch = (url, init) => fetch(url, init);

/** @throws TypeError on an invalid option; the secret is in none of them. */
export function readGitLab(value: GitLabSource): GitLab {
  readFields(value, [...OF_EACH, 'secret', 'types'], 'gitlab');
  const { secret, types } = value;
  // A header carries nothing else as it was written.
  const isSecret = typeof secret === 'string' && /^[\x21-\x7e]{32,1024}$/.test(secret);
  assert(isSecret, 'gitlab: secret: pass 32 to 1,024 printable ASCII characters without spaces');
  const names = readStrings(types, 'gitlab: types');
  assert(names.length > 0, 'gitlab: types: name at least one');
  return {
    ...readSource(value, 'gitlab', 'GitLab secret detection'),
    secret,
    types: new Set(names),
  };
}

/** @throws TypeError on an invalid option. */
export function readHolder(value: LeakSource): Source {
  readFields(value, OF_EACH, 'holder');
  return readSource(value, 'holder', 'the holder of the key');
}

function readSource(value: LeakSource, name: Source['name'], by: string): Source {
  const { action = 'revoke', evenIfEnded = false, actor = by } = value;
  const isAction = ACTIONS.includes(action);
  assert(isAction, `${name}: action: pass one of ${ACTIONS.join(', ')}`, action);
  const isFlag = readFlag(evenIfEnded, `${name}: evenIfEnded`);
  const isMeant = action === 'revokeLineage' || !isFlag;
  assert(isMeant, `${name}: evenIfEnded: it is for the action revokeLineage alone`);
  const who = readText(actor, 200, `${name}: actor`);
  return { name, action, evenIfEnded: isFlag, actor: who };
}
