/** The issuers of well-known platforms. */
import type { JwkSet } from '../jwt/key-set.js';
import type { KeylessIssuer } from './issuer.js';

/** The issuer of GitHub Actions. */
export const GITHUB = 'https://token.actions.githubusercontent.com';

/** The issuer of gitlab.com. */
export const GITLAB = 'https://gitlab.com';

/** The claim with the uid of a service account, which no other one can get. */
export const POD_UID = '/kubernetes.io/serviceaccount/uid';

/**
 * GitHub Actions. Its tokens live for five minutes.
 *
 * @example
 * createKeylessVerifier({ audience: 'https://api.acme.example', issuers: [githubActions()] });
 */
export function githubActions(): KeylessIssuer {
  return {
    issuer: GITHUB,
    jwks: new URL(`${GITHUB}/.well-known/jwks`),
    algorithms: ['RS256'],
    identifies: ['repository_id', 'repository_owner_id'],
    maxTtlSeconds: 300,
  };
}

/** The options of {@link gitlab}. */
export interface GitLabOptions {
  /** The URL of your own GitLab, without a slash at the end. Default: `https://gitlab.com`. */
  readonly issuer?: string | undefined;
  /** The longest time-out of your jobs, for which their tokens live. Default: 3,600. */
  readonly maxTtlSeconds?: number | undefined;
}

/**
 * GitLab CI/CD.
 *
 * @throws TypeError if `issuer` is not a URL.
 * @example
 * createKeylessVerifier({ audience, issuers: [gitlab({ issuer: 'https://git.acme.example' })] });
 */
export function gitlab({
  issuer = GITLAB,
  maxTtlSeconds = 3600,
}: GitLabOptions = {}): KeylessIssuer {
  return {
    issuer,
    jwks: new URL(`${issuer}/oauth/discovery/keys`),
    algorithms: ['RS256'],
    identifies: ['project_id', 'namespace_id'],
    maxTtlSeconds,
  };
}

/**
 * Service accounts of Google Cloud. Their `sub` is a number that is never given away again; an
 * e-mail address is.
 *
 * @example
 * const trust = { issuer: google().issuer, claims: { sub: '103456789012345678901' } };
 */
export function google(): KeylessIssuer {
  return {
    issuer: 'https://accounts.google.com',
    jwks: new URL('https://www.googleapis.com/oauth2/v3/certs'),
    algorithms: ['RS256'],
    identifies: ['sub'],
    maxTtlSeconds: 3600,
  };
}

/** The options of {@link kubernetes}. */
export interface KubernetesOptions {
  /** The cluster's `--service-account-issuer`. Two clusters cannot share one. */
  readonly issuer: string;
  /** The cluster's keys, or their URL: the answer of `/openid/v1/jwks`. */
  readonly jwks: JwkSet | URL;
}

/**
 * Service accounts of a Kubernetes cluster. Ask for `expirationSeconds: 600` in the pod.
 *
 * @example
 * kubernetes({ issuer: 'https://kubernetes.default.svc', jwks: JSON.parse(keys) });
 */
export function kubernetes({ issuer, jwks }: KubernetesOptions): KeylessIssuer {
  return { issuer, jwks, algorithms: ['RS256', 'ES256'], identifies: [POD_UID] };
}
