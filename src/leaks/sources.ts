/** The options of each source of reports. */
import { assert, assertFunction, readFields, readFlag, readStrings } from '../core/input.js';
import type { ChallengeOptions } from '../http/challenge.js';
import type { Fetch } from '../http/fetched-list.js';

/**
 * The action on a leaked key:
 *
 * - `revoke` ends it permanently;
 * - `revokeLineage` also ends its rotations and the keys issued under it;
 * - `suspend` suspends it until you resume it; a repeated report of GitHub or GitLab suspends only
 *   once per process;
 * - `tell` only calls `onLeak`.
 */
export type LeakAction = 'revoke' | 'revokeLineage' | 'suspend' | 'tell';

/** The options of every source. */
export interface LeakSource {
  /** The action on a leaked key. Default: `revoke`. */
  readonly action?: LeakAction | undefined;
  /**
   * With `revokeLineage`: whether a key that has already ended also ends its successors. Default:
   * false, so that an old key in a public history does not end a new one.
   */
  readonly evenIfEnded?: boolean | undefined;
}

/** GitHub's secret scanning partner programme. */
export interface GitHubSource extends LeakSource {
  /** Fetches GitHub's public keys, for example through a proxy. Default: the platform's `fetch`. */
  readonly fetch?: Fetch | undefined;
}

/** GitLab's Token Revocation API, called by your own GitLab instance. */
export interface GitLabSource extends LeakSource {
  /** `secret_detection_token_revocation_token` of your instance: 32 characters or more. */
  readonly secret: string;
  /** The types to announce, such as `gitleaks_rule_id_acme-api-key`. */
  readonly types: readonly string[];
}

/** {@link LeakSource}, validated and with defaults. */
export interface Source {
  readonly name: 'github' | 'gitlab' | 'holder';
  readonly action: LeakAction;
  readonly evenIfEnded: boolean;
  /** The actor in records and events. */
  readonly actor: string;
}

/** {@link GitHubSource}, validated and with defaults. */
export interface GitHub extends Source {
  readonly fetch: Fetch | undefined;
}

/** {@link GitLabSource}, validated and with defaults. */
export interface GitLab extends Source {
  readonly secret: string;
  readonly types: ReadonlySet<string>;
}

/** The realm of the challenges. */
export const CHALLENGE: ChallengeOptions = Object.freeze({ realm: 'leaks' });

const ACTIONS: readonly LeakAction[] = ['revoke', 'revokeLineage', 'suspend', 'tell'];
const ACTORS: Readonly<Record<Source['name'], string>> = {
  github: 'GitHub secret scanning',
  gitlab: 'GitLab secret detection',
  holder: 'the holder of the key',
};
const OF_EACH = ['action', 'evenIfEnded'] as const satisfies readonly (keyof LeakSource)[];

/** @throws TypeError on an invalid option. */
export function readGitHub(value: GitHubSource): GitHub {
  readFields(value, [...OF_EACH, 'fetch'], 'github');
  const { fetch } = value;
  assertFunction(fetch, 'github: fetch');
  return { ...readSource(value, 'github'), fetch };
}

/** @throws TypeError on an invalid option. The message never contains the secret. */
export function readGitLab(value: GitLabSource): GitLab {
  readFields(value, [...OF_EACH, 'secret', 'types'], 'gitlab');
  const { secret, types } = value;
  // A header cannot carry other characters unchanged.
  const isSecret = typeof secret === 'string' && /^[\x21-\x7e]{32,1024}$/.test(secret);
  assert(isSecret, 'gitlab: secret: pass 32 to 1,024 printable ASCII characters without spaces');
  const names = readStrings(types, 'gitlab: types');
  assert(names.length > 0, 'gitlab: types: pass at least one type');
  return { ...readSource(value, 'gitlab'), secret, types: new Set(names) };
}

/** @throws TypeError on an invalid option. */
export function readHolder(value: LeakSource): Source {
  readFields(value, OF_EACH, 'holder');
  return readSource(value, 'holder');
}

function readSource(value: LeakSource, name: Source['name']): Source {
  const { action = 'revoke', evenIfEnded = false } = value;
  const isAction = ACTIONS.includes(action);
  assert(isAction, `${name}: action: pass one of ${ACTIONS.join(', ')}`, action);
  const isFlag = readFlag(evenIfEnded, `${name}: evenIfEnded`);
  const isMeant = action === 'revokeLineage' || !isFlag;
  const instead = `${name}: evenIfEnded: remove it, or pass the action revokeLineage`;
  assert(isMeant, instead);
  return { name, action, evenIfEnded: isFlag, actor: ACTORS[name] };
}
