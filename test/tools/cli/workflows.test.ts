/** Lines to copy: YAML that says what it should, whatever the names contain. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  githubWorkflow,
  gitlabJob,
  podSpec,
  type TokenAudience,
} from '../../../src/tools/cli/workflows.js';

const PLAIN = 'https://api.acme.example#2c5d94f7-4279-4116-9f17-32dc33c55978';
const AUDIENCE: TokenAudience = { plain: PLAIN, inUrl: encodeURIComponent(PLAIN) };
const NAMES = ['production', "it's", 'a"b', 'a\\b', '#no', 'yes', '12', '{a}', '- x', ': y', '|'];

describe('the lines for GitHub', () => {
  it('ask for a token, mask it and call the service, in this order', () => {
    const { jobs } = parse(githubWorkflow(AUDIENCE, undefined)) as Workflow;
    expect(jobs.call).not.toHaveProperty('environment');
    expect(jobs.call.permissions).toEqual({ 'id-token': 'write' });
    // With this shell, the step also ends if the first command of a pipe fails.
    expect(jobs.call.steps).toMatchObject([{ shell: 'bash' }]);
    const lines = jobs.call.steps[0]?.run.trim().split('\n') ?? [];
    const [ask = '', url = '', mask, send = ''] = lines;
    expect(lines).toHaveLength(4);
    expect(ask).toContain('curl -fsS -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN"');
    expect(url).toContain(`"$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${AUDIENCE.inUrl}"`);
    expect(mask).toBe('echo "::add-mask::$token"');
    expect(send).toContain('"Authorization: Bearer $token"');
  });

  it.each(NAMES)('are of the environment %s', (name) => {
    const { jobs } = parse(githubWorkflow(AUDIENCE, name)) as Workflow;
    expect(jobs.call.environment).toBe(name);
    expect(Object.keys(jobs.call)).toHaveLength(4);
  });
});

describe('the lines for GitLab', () => {
  it.each([undefined, ...NAMES])('name the audience and the environment %s', (name) => {
    const { call } = parse(gitlabJob(AUDIENCE, name)) as GitLabJob;
    expect(call.environment).toBe(name);
    expect(call.id_tokens).toEqual({ KEYSCOPE_TOKEN: { aud: PLAIN } });
    expect(call.script).toEqual([
      'curl -fsS -H "Authorization: Bearer $KEYSCOPE_TOKEN" "<URL of the service>"',
    ]);
  });
});

describe('the lines for Kubernetes', () => {
  it('mount a token of ten minutes', () => {
    const { spec } = parse(podSpec(AUDIENCE, 'deploy')) as Pod;
    expect(spec.serviceAccountName).toBe('deploy');
    const mounted = spec.containers[0]?.volumeMounts[0]?.name;
    const token = { path: 'token', audience: PLAIN, expirationSeconds: 600 };
    expect(spec.volumes).toEqual([
      { name: mounted, projected: { sources: [{ serviceAccountToken: token }] } },
    ]);
  });
});

interface Workflow {
  readonly jobs: {
    readonly call: {
      readonly environment?: string;
      readonly permissions: object;
      readonly steps: readonly { readonly run: string }[];
    };
  };
}

interface GitLabJob {
  readonly call: {
    readonly environment?: string;
    readonly id_tokens: object;
    readonly script: readonly string[];
  };
}

interface Pod {
  readonly spec: {
    readonly serviceAccountName: string;
    readonly containers: readonly { readonly volumeMounts: readonly { readonly name: string }[] }[];
    readonly volumes: readonly object[];
  };
}
