/** Trusts in jobs and pods: made of identifiers that nobody can register anew. */
import type { Trust } from 'keyscope';
import { githubTrust, gitlabTrust, kubernetesTrust } from 'keyscope/keyless';
import { describe, expect, it } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { untyped } from '../support/keyring.ts';

const GITHUB = { repositoryId: '123', ownerId: '45' };
const PROJECT = { projectId: '123' };
const POD = {
  issuer: 'https://k8s.example',
  namespace: 'ci',
  serviceAccount: 'deploy',
  uid: '5f0c1e2d-0000-4000-8000-000000000001',
};

type Make = (over: object) => Trust;
const github: Make = (over) => githubTrust(untyped({ ...GITHUB, ...over }));
const gitlab: Make = (over) => gitlabTrust(untyped({ ...PROJECT, ...over }));
const pod: Make = (over) => kubernetesTrust(untyped({ ...POD, ...over }));

describe('githubTrust', () => {
  it.each<readonly [object, object]>([
    [{ branch: 'main' }, { ref: 'refs/heads/main' }],
    [{ branch: 'release/1.x' }, { ref: 'refs/heads/release/1.x' }],
    [{ tag: 'v1' }, { ref: 'refs/tags/v1' }],
    [{ environment: 'production' }, { environment: 'production' }],
  ])('of %j pins the repository, its owner and the usual events', (selector, claim) => {
    expect(github(selector)).toEqual({
      issuer: 'https://token.actions.githubusercontent.com',
      claims: {
        repository_id: '123',
        repository_owner_id: '45',
        ...claim,
        event_name: ['push', 'workflow_dispatch', 'schedule', 'release'],
      },
    });
  });

  it('takes other events instead', () => {
    const events = ['pull_request_target'];
    const { claims } = github({ branch: 'main', events });
    expect(claims).toMatchObject({ event_name: events });
  });
});

describe('gitlabTrust', () => {
  it('pins the project, a protected ref and the usual sources', () => {
    expect(gitlab({ branch: 'main' })).toEqual({
      issuer: 'https://gitlab.com',
      claims: {
        project_id: '123',
        ref_path: 'refs/heads/main',
        ref_protected: 'true',
        pipeline_source: ['push', 'web', 'schedule'],
      },
    });
  });

  it('takes an issuer of your own, other sources, and refs without protection', () => {
    const issuer = 'https://git.acme.example';
    const over = { tag: 'v1', issuer, sources: ['api'], protected: false };
    expect(gitlab(over)).toEqual({
      issuer,
      claims: { project_id: '123', ref_path: 'refs/tags/v1', pipeline_source: ['api'] },
    });
  });

  it('never takes the pipelines of merge requests', () => {
    const sources = ['push', 'merge_request_event'];
    const instead = 'sources: merge_request_event also names the pipelines of forks';
    expect(complaint(() => gitlab({ branch: 'main', sources }))).toBe(instead);
  });
});

describe('kubernetesTrust', () => {
  it('pins the account, and the uid that no other account gets', () => {
    expect(pod({})).toEqual({
      issuer: POD.issuer,
      claims: {
        sub: 'system:serviceaccount:ci:deploy',
        '/kubernetes.io/serviceaccount/uid': POD.uid,
      },
    });
  });

  it.each(['namespace', 'serviceAccount', 'uid'])('needs %s', (field) => {
    for (const wrong of [undefined, '', '*', 'a b', 1]) {
      expect(complaint(() => pod({ [field]: wrong }))).toContain(`${field}: pass one exact name`);
    }
  });
});

it.each([undefined, '', 'http://git.acme.example', 'https://git.acme.example/?a'])(
  'an issuer must not be %j',
  (issuer) => {
    expect(complaint(() => pod({ issuer }))).toMatch(/^issuer: pass an https URL/);
    const own = () => gitlab({ branch: 'main', issuer: issuer ?? '' });
    expect(complaint(own)).toMatch(/^issuer: pass an https URL/);
  },
);

it('a job or a pod must be an object', () => {
  for (const make of [githubTrust, gitlabTrust, kubernetesTrust]) {
    for (const wrong of [undefined, null, 'main', []]) {
      expect(complaint(() => make(untyped(wrong)))).toContain('pass an object with');
    }
  }
});

describe('a selector', () => {
  it.each([
    undefined,
    '',
    ' ',
    'a b',
    'main\n',
    'a\u200bb',
    '*',
    'release/*',
    'refs/heads/main',
    1,
  ])('must not be %j', (name) => {
    for (const field of ['branch', 'tag', 'environment']) {
      for (const make of [github, gitlab]) {
        expect(complaint(() => make({ [field]: name }))).toMatch(/pass (?:exactly )?one/);
      }
    }
  });

  it('must be one', () => {
    const instead = 'pass exactly one of branch, tag and environment';
    for (const make of [github, gitlab]) {
      expect(complaint(() => make({}))).toBe(instead);
      expect(complaint(() => make({ branch: 'a', tag: 'b' }))).toBe(instead);
      expect(complaint(() => make({ branch: 'a', environment: 'b' }))).toBe(instead);
    }
  });
});

describe('an id', () => {
  it.each([undefined, '', 'acme/app', '0', '0123', '1.5', '-1', ' 1', 123, '1'.repeat(21)])(
    'must not be %j',
    (id) => {
      const instead = 'pass the number as a text; names can be registered anew';
      const selector = { branch: 'main' };
      expect(complaint(() => github({ ...selector, repositoryId: id }))).toContain(instead);
      expect(complaint(() => github({ ...selector, ownerId: id }))).toContain(instead);
      expect(complaint(() => gitlab({ ...selector, projectId: id }))).toContain(instead);
    },
  );
});

describe('a list of events', () => {
  it.each<readonly [unknown]>([[[]], [['*']], ['push'], [[1]], [['a b']]])(
    'must not be %j',
    (list) => {
      expect(() => github({ branch: 'main', events: list })).toThrow(TypeError);
      expect(() => gitlab({ branch: 'main', sources: list })).toThrow(TypeError);
    },
  );
});

it('has no field but those that are documented', () => {
  expect(complaint(() => github({ branch: 'main', ref: 'x' }))).toContain('unknown field "ref"');
  expect(complaint(() => gitlab({ branch: 'main', ref: 'x' }))).toContain('unknown field "ref"');
  expect(complaint(() => pod({ ref: 'x' }))).toContain('unknown field "ref"');
});
