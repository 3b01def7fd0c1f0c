/** Trusts in jobs and pods, made of identifiers that nobody can register anew. */
import { assert, readFields, readStrings } from '../core/input.js';
import type { Trust } from '../core/trust.js';
import { ISSUER_INSTEAD, isIssuer } from '../management/keyless.js';
import { GITHUB, GITLAB, POD_UID } from './platforms.js';

/** Which runs are meant: pass exactly one. Patterns are not possible. */
export interface Selector {
  /** The name of a branch, without `refs/heads/`. */
  readonly branch?: string | undefined;
  /** The name of a tag, without `refs/tags/`. Tags can be moved. */
  readonly tag?: string | undefined;
  /** The name of an environment. It admits whatever its protection rules admit. */
  readonly environment?: string | undefined;
}

/** The jobs of a repository on GitHub. */
export interface GitHubJob extends Selector {
  /** The number of the repository, which no other gets: `gh api repos/OWNER/NAME --jq .id`. */
  readonly repositoryId: string;
  /** The number of its owner: `gh api repos/OWNER/NAME --jq .owner.id`. */
  readonly ownerId: string;
  /**
   * The events whose runs are meant. Default: `push`, `workflow_dispatch`, `schedule`, `release`.
   * `pull_request_target` and `workflow_run` run with the identity of the base repository, whoever
   * causes them.
   */
  readonly events?: readonly string[] | undefined;
}

/** The jobs of a project on GitLab. */
export interface GitLabJob extends Selector {
  /** The URL of your own GitLab. Default: `https://gitlab.com`. */
  readonly issuer?: string | undefined;
  /** The number of the project, which no other gets. */
  readonly projectId: string;
  /**
   * The sources of pipelines that are meant. Default: `push`, `web`, `schedule`. Never
   * `merge_request_event`: the pipeline of a fork may have the identity of the parent project.
   */
  readonly sources?: readonly string[] | undefined;
  /** False also admits branches and tags that are not protected. Default: true. */
  readonly protected?: boolean | undefined;
}

/** The pods of a service account. */
export interface KubernetesPod {
  /** The issuer of the cluster. */
  readonly issuer: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  /** `kubectl get serviceaccount NAME -o jsonpath={.metadata.uid}`. */
  readonly uid: string;
}

const GITHUB_EVENTS = ['push', 'workflow_dispatch', 'schedule', 'release'];
const GITLAB_SOURCES = ['push', 'web', 'schedule'];

/**
 * Makes the trust in the jobs of a repository on GitHub. It never uses `sub`, which has two forms.
 *
 * Not checked: whether the repository exists.
 *
 * @throws TypeError without a number, on no or a second selector, and on one with white space,
 *   control characters or `*`, or that begins with `refs/`.
 * @example
 * githubTrust({ repositoryId: '123', ownerId: '45', branch: 'main' });
 */
export function githubTrust(job: GitHubJob): Trust {
  const fields = ['repositoryId', 'ownerId', 'branch', 'tag', 'environment', 'events'] as const;
  readFields(job, fields, 'githubTrust');
  const { repositoryId, ownerId, events = GITHUB_EVENTS } = job;
  const claims = {
    repository_id: readNumber(repositoryId, 'repositoryId'),
    repository_owner_id: readNumber(ownerId, 'ownerId'),
    ...claimsOf(job, 'ref'),
    event_name: readNames(events, 'events'),
  };
  return { issuer: GITHUB, claims };
}

/**
 * Makes the trust in the jobs of a project on GitLab.
 *
 * Not checked: whether the project exists.
 *
 * @throws TypeError as {@link githubTrust}, and on the source `merge_request_event`.
 * @example
 * gitlabTrust({ projectId: '123', environment: 'production' });
 */
export function gitlabTrust(job: GitLabJob): Trust {
  const selectors = ['branch', 'tag', 'environment'] as const;
  const fields = ['issuer', 'projectId', ...selectors, 'sources', 'protected'] as const;
  readFields(job, fields, 'gitlabTrust');
  const sources = readNames(job.sources ?? GITLAB_SOURCES, 'sources');
  const isForked = sources.includes('merge_request_event');
  assert(!isForked, 'sources: merge_request_event also names the pipelines of forks');
  const claims = {
    project_id: readNumber(job.projectId, 'projectId'),
    ...claimsOf(job, 'ref_path'),
    ...(job.protected === false ? {} : { ref_protected: 'true' }),
    pipeline_source: sources,
  };
  return { issuer: readIssuer(job.issuer ?? GITLAB), claims };
}

/**
 * Makes the trust in the pods of a service account.
 *
 * Not checked: whether the account exists.
 *
 * @throws TypeError on a missing or malformed name.
 * @example
 * kubernetesTrust({ issuer, namespace: 'ci', serviceAccount: 'deploy', uid });
 */
export function kubernetesTrust(pod: KubernetesPod): Trust {
  readFields(pod, ['issuer', 'namespace', 'serviceAccount', 'uid'], 'kubernetesTrust');
  const issuer = readIssuer(pod.issuer);
  const namespace = readName(pod.namespace, 'namespace');
  const account = readName(pod.serviceAccount, 'serviceAccount');
  const sub = `system:serviceaccount:${namespace}:${account}`;
  return { issuer, claims: { sub, [POD_UID]: readName(pod.uid, 'uid') } };
}

/** Returns the claim of the one selector. */
function claimsOf(selector: Selector, ref: string): Readonly<Record<string, string>> {
  const { branch, tag, environment } = selector;
  const given = [branch, tag, environment].filter((name) => name !== undefined);
  assert(given.length === 1, 'pass exactly one of branch, tag and environment');
  if (environment !== undefined) return { environment: readName(environment, 'environment') };
  if (tag !== undefined) return { [ref]: `refs/tags/${readName(tag, 'tag')}` };
  return { [ref]: `refs/heads/${readName(branch, 'branch')}` };
}

function readIssuer(issuer: unknown): string {
  assert(isIssuer(issuer), `issuer: ${ISSUER_INSTEAD}`);
  return issuer;
}

function readNumber(value: unknown, what: string): string {
  const isNumber = typeof value === 'string' && /^[1-9]\d{0,19}$/.test(value);
  assert(isNumber, `${what}: pass the number as a text; names can be registered anew`);
  return value;
}

function isExactName(name: unknown): name is string {
  return typeof name === 'string' && /^(?!refs\/)[^\s\p{C}*]{1,255}$/u.test(name);
}

const NAME_INSTEAD = 'pass one exact name, without white space, `*` and a leading refs/';

function readName(value: unknown, what: string): string {
  assert(isExactName(value), `${what}: ${NAME_INSTEAD}`);
  return value;
}

function readNames(values: unknown, what: string): readonly string[] {
  const names = readStrings(values, what, { holds: isExactName, instead: NAME_INSTEAD });
  assert(names.length > 0, `${what}: pass at least one`);
  return names;
}
