/**
 * Tokens with the headers and claims that platforms send, signed by keys of the test: which of them
 * a trust admits.
 */
import type { Trust } from 'keyscope';
import {
  githubActions,
  githubTrust,
  gitlab,
  gitlabTrust,
  google,
  type KeylessIssuer,
  kubernetes,
  kubernetesTrust,
} from 'keyscope/keyless';
import { describe, expect, it } from 'vitest';
import { CI, NOW, setUpKeyless } from '../support/keyless.ts';
import { denied } from '../support/keyring.ts';

type Claims = Readonly<Record<string, unknown>>;

/** A platform: its entry, what a service trusts there, and the token of the trusted workload. */
interface Platform {
  readonly entry: KeylessIssuer;
  readonly trust: Trust;
  readonly header: Claims;
  readonly claims: Claims;
  /** Tokens of the platform that differ in these claims, and are refused. */
  readonly others: Readonly<Record<string, Claims>>;
}

const keys = { keys: [CI.publicKey] };
const KUBERNETES = 'https://kubernetes.default.svc.cluster.local';
const UID = '5f0c1e2d-0000-4000-8000-000000000001';

const PLATFORMS: Readonly<Record<string, Platform>> = {
  'GitHub Actions': {
    entry: { ...githubActions(), jwks: keys },
    trust: githubTrust({ repositoryId: '123', ownerId: '45', branch: 'main' }),
    header: { typ: 'JWT', alg: 'RS256', x5t: '-mGqrbA1cJ3eBaSuZuUcXsnZAag', kid: 'ci' },
    claims: {
      jti: 'a1b2c3d4-0000-4000-8000-000000000001',
      sub: 'repo:acme@45/app@123:ref:refs/heads/main',
      ref: 'refs/heads/main',
      sha: '8f2c1d0000000000000000000000000000000000',
      repository: 'acme/app',
      repository_owner: 'acme',
      repository_owner_id: '45',
      run_id: '1234567890',
      run_number: '10',
      run_attempt: '1',
      repository_visibility: 'private',
      repository_id: '123',
      actor_id: '12',
      actor: 'ada',
      workflow: 'deploy',
      head_ref: '',
      base_ref: '',
      event_name: 'push',
      ref_protected: 'true',
      ref_type: 'branch',
      workflow_ref: 'acme/app/.github/workflows/deploy.yml@refs/heads/main',
      workflow_sha: '8f2c1d0000000000000000000000000000000000',
      job_workflow_ref: 'acme/app/.github/workflows/deploy.yml@refs/heads/main',
      job_workflow_sha: '8f2c1d0000000000000000000000000000000000',
      runner_environment: 'github-hosted',
      nbf: NOW - 600,
      iat: NOW,
      exp: NOW + 300,
    },
    others: {
      'another branch': { ref: 'refs/heads/next' },
      'a tag named main': { ref: 'refs/tags/main', ref_type: 'tag' },
      'a pull request': { event_name: 'pull_request', ref: 'refs/pull/7/merge' },
      pull_request_target: { event_name: 'pull_request_target' },
      workflow_run: { event_name: 'workflow_run' },
      issue_comment: { event_name: 'issue_comment' },
      'a repository that got the old name': { repository_id: '999' },
      'an owner that got the old name': { repository_owner_id: '999' },
      'a reusable workflow in another repository': { repository_id: '7', repository: 'acme/lib' },
      'a life of six minutes': { exp: NOW + 360 },
    },
  },
  GitLab: {
    entry: { ...gitlab(), jwks: keys },
    trust: gitlabTrust({ projectId: '123', branch: 'main' }),
    header: { typ: 'JWT', alg: 'RS256', kid: 'ci' },
    claims: {
      namespace_id: '45',
      namespace_path: 'acme',
      project_id: '123',
      project_path: 'acme/app',
      user_id: '1',
      user_login: 'ada',
      user_email: 'ada@acme.example',
      user_access_level: 'maintainer',
      pipeline_id: '1212',
      pipeline_source: 'push',
      job_id: '1235',
      ref: 'main',
      ref_type: 'branch',
      ref_path: 'refs/heads/main',
      ref_protected: 'true',
      runner_id: 1,
      runner_environment: 'gitlab-hosted',
      sha: '714a629c0b401fdce83e847fc9589983fc6f46bc',
      project_visibility: 'private',
      ci_config_ref_uri: 'gitlab.com/acme/app//.gitlab-ci.yml@refs/heads/main',
      jti: '235b3a54-b797-45c7-ae9a-f72d7bc6ef5b',
      iat: NOW,
      nbf: NOW - 5,
      exp: NOW + 3600,
      sub: 'project_path:acme/app:ref_type:branch:ref:main',
    },
    others: {
      'the merge request of a fork': { pipeline_source: 'merge_request_event' },
      'an unprotected branch': { ref_protected: 'false' },
      'a boolean for a text': { ref_protected: true },
      'a tag named main': { ref_path: 'refs/tags/main', ref_type: 'tag' },
      'a trigger of another project': { pipeline_source: 'pipeline' },
      'another project': { project_id: '124' },
      'a life of two hours': { exp: NOW + 7200 },
    },
  },
  'Google Cloud': {
    entry: { ...google(), jwks: keys },
    trust: { issuer: 'https://accounts.google.com', claims: { sub: '103456789012345678901' } },
    header: { alg: 'RS256', kid: 'ci', typ: 'JWT' },
    claims: {
      azp: '103456789012345678901',
      email: 'deploy@acme.iam.gserviceaccount.com',
      email_verified: true,
      sub: '103456789012345678901',
      iat: NOW,
      exp: NOW + 3600,
    },
    others: {
      'an account that got the old address': { sub: '999', azp: '999' },
      'a number for a text': { sub: 103456789012345 },
    },
  },
  'AWS (GetWebIdentityToken)': {
    entry: {
      issuer: 'https://a1b2c3d4.tokens.sts.global.api.aws',
      jwks: keys,
      algorithms: ['RS256'],
      identifies: ['sub'],
      maxTtlSeconds: 300,
    },
    trust: {
      issuer: 'https://a1b2c3d4.tokens.sts.global.api.aws',
      claims: {
        sub: 'arn:aws:iam::123456789012:role/deploy',
        '/https:~1~1sts.amazonaws.com~1/org_id': 'o-abc1234567',
      },
    },
    header: { alg: 'RS256', kid: 'ci', typ: 'JWT' },
    claims: {
      sub: 'arn:aws:iam::123456789012:role/deploy',
      jti: '0a0a0a0a-0000-4000-8000-000000000001',
      iat: NOW,
      exp: NOW + 300,
      'https://sts.amazonaws.com/': { aws_account: '123456789012', org_id: 'o-abc1234567' },
    },
    others: {
      'another role': { sub: 'arn:aws:iam::123456789012:role/deploy2' },
      'another organization': { 'https://sts.amazonaws.com/': { org_id: 'o-other' } },
      'no nested claims': { 'https://sts.amazonaws.com/': undefined },
    },
  },
  Kubernetes: {
    entry: kubernetes({ issuer: KUBERNETES, jwks: keys }),
    trust: kubernetesTrust({
      issuer: KUBERNETES,
      namespace: 'ci',
      serviceAccount: 'deploy',
      uid: UID,
    }),
    header: { alg: 'RS256', kid: 'ci' },
    claims: {
      exp: NOW + 607,
      iat: NOW,
      nbf: NOW,
      jti: 'd5c1e2d0-0000-4000-8000-000000000001',
      sub: 'system:serviceaccount:ci:deploy',
      'kubernetes.io': {
        namespace: 'ci',
        node: { name: 'node-1', uid: 'n' },
        pod: { name: 'deploy-1', uid: 'p' },
        serviceaccount: { name: 'deploy', uid: UID },
      },
    },
    others: {
      'an account that got the old name': {
        'kubernetes.io': { serviceaccount: { name: 'deploy', uid: 'other' } },
      },
      'another account': { sub: 'system:serviceaccount:ci:default' },
      'no nested claims': { 'kubernetes.io': undefined },
      'a list of claims': { 'kubernetes.io': [{ serviceaccount: { uid: UID } }] },
      'a life of an hour': { exp: NOW + 3607 },
    },
  },
  'SPIFFE (SPIRE with jwt_issuer)': {
    entry: {
      issuer: 'https://spire.acme.example',
      jwks: keys,
      algorithms: ['RS256'],
      identifies: ['sub'],
    },
    trust: {
      issuer: 'https://spire.acme.example',
      claims: { sub: 'spiffe://acme.example/deploy' },
    },
    header: { alg: 'RS256', kid: 'ci', typ: 'JWT' },
    claims: { sub: 'spiffe://acme.example/deploy', exp: NOW + 300, iat: NOW },
    others: {
      'another workload': { sub: 'spiffe://acme.example/deploy/x' },
      'a trust domain in another case': { sub: 'spiffe://ACME.example/deploy' },
      'no issuer': { iss: undefined },
      'no time': { iat: undefined },
    },
  },
};

describe.each(Object.entries(PLATFORMS))('a token of %s', (_name, platform) => {
  const { entry, trust, header, claims, others } = platform;
  const { issuer } = entry;
  /** Without the claims of other tests. */
  const absent = { repository_id: undefined, ref: undefined, nbf: undefined, sub: undefined };

  async function arrange() {
    const { enter, tokenOf, aud } = await setUpKeyless({ trust, verifier: { issuers: [entry] } });
    const present = (over: Claims) =>
      enter(tokenOf({ ...absent, iss: issuer, ...claims, ...over }, header));
    return { present, aud };
  }

  it('acts as the key that trusts it', async () => {
    const { present, aud } = await arrange();
    expect((await present({})).via).toBe('keyless');
    // Platforms that let a job name several audiences send a list.
    expect((await present({ aud: [aud] })).via).toBe('keyless');
  });

  it.each(Object.entries(others))('is refused for %s', async (_what, over) => {
    const { present } = await arrange();
    const isUntrusted = Object.entries(over).every(([claim]) => !/^(?:exp|iat|iss)$/.test(claim));
    const reason = isUntrusted ? 'identity_not_trusted' : 'token_refused';
    await denied(() => present(over), 'invalid_token', reason);
  });
});
