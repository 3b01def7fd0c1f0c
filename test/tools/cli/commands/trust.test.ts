/** Whom the keys of `keyscope trust` trust, and what it prints to copy. */
import type { KeyInfo } from 'keyscope';
import { createKeylessVerifier, githubActions, gitlab, kubernetes } from 'keyscope/keyless';
import { describe, expect, it } from 'vitest';
import { CommandError } from '../../../../src/tools/cli/command-error.js';
import { run as trust } from '../../../../src/tools/cli/commands/trust.js';
import { callOf } from '../../../support/calls.ts';
import { AUDIENCE, CI, ENTRY, ISSUER } from '../../../support/keyless.ts';
import { inputError, OWN, setUp } from '../../../support/keyring.ts';

const CLUSTER = 'https://kubernetes.default.svc';
const OWN_GITLAB = 'https://git.acme.example';
const NEW = { entity: OWN, name: 'Deploy', scopes: 'threats:read', expires: 'never' } as const;

const GITHUB = {
  github: 'acme/app',
  'repository-id': '123',
  'owner-id': '45',
  branch: 'main',
} as const;
const GITLAB = { gitlab: 'acme/tools/app', 'project-id': '67', branch: 'main' } as const;
const POD = {
  kubernetes: true,
  issuer: CLUSTER,
  namespace: 'ci',
  'service-account': 'deploy',
  uid: '0d9f6b0e-6c1c-4d8e-9a55-1f3a1d2c7b60',
} as const;

/** Runs the command over a keyring that accepts the tokens of five issuers. */
function arrange(options: object, world: object = {}) {
  const jwks = { keys: [CI.publicKey] };
  const known = [githubActions(), gitlab(), gitlab({ issuer: OWN_GITLAB })];
  const issuers = [...known, kubernetes({ issuer: CLUSTER, jwks }), ENTRY];
  const tokens = createKeylessVerifier({ audience: AUDIENCE, issuers });
  const { keyring, store } = setUp({ tokens, ...world });
  // The command refuses a store that ends with it.
  const kept = { keyring, store: { ...store, isInProcess: false } };
  const made = callOf(kept, '', { ...NEW, ...options });
  const keys = async () => (await keyring.list({}, { entityId: OWN })).keys as readonly KeyInfo[];
  return { ...made, keyring, keys, start: () => trust(made.call) };
}

/** Runs it, and returns its key and the lines that it printed. */
async function made(options: object) {
  const { start, keys, lines, said } = arrange(options);
  await start();
  const [info] = await keys();
  if (info === undefined) throw new Error('no key was created');
  return { info, said, text: lines.join('\n') };
}

/** Runs it, and returns the usage error with which it created no key. */
async function refused(options: object): Promise<string> {
  const { start, keys, call } = arrange(options);
  const isUnread = { ...call, config: () => Promise.reject(new Error('the config was loaded')) };
  const error: unknown = await trust(isUnread).catch((reason: unknown) => reason);
  await start().catch(() => {});
  expect(await keys()).toEqual([]);
  if (!(error instanceof CommandError)) throw error;
  expect(error.exit).toBe(2);
  return error.message;
}

describe('the key of keyscope trust', () => {
  it.each<readonly [string, object, object]>([
    [
      'a branch on GitHub',
      GITHUB,
      {
        issuer: githubActions().issuer,
        claims: {
          repository_id: '123',
          repository_owner_id: '45',
          ref: 'refs/heads/main',
          event_name: ['push', 'workflow_dispatch', 'schedule', 'release'],
        },
      },
    ],
    [
      'an environment and events on GitHub',
      { ...GITHUB, branch: undefined, environment: 'production', event: 'push, release' },
      {
        issuer: githubActions().issuer,
        claims: {
          repository_id: '123',
          repository_owner_id: '45',
          environment: 'production',
          event_name: ['push', 'release'],
        },
      },
    ],
    [
      'a tag on your own GitLab',
      { ...GITLAB, branch: undefined, tag: 'v1', issuer: OWN_GITLAB, source: 'web' },
      {
        issuer: OWN_GITLAB,
        claims: {
          project_id: '67',
          ref_path: 'refs/tags/v1',
          ref_protected: 'true',
          pipeline_source: ['web'],
        },
      },
    ],
    [
      'a service account',
      POD,
      {
        issuer: CLUSTER,
        claims: {
          sub: 'system:serviceaccount:ci:deploy',
          '/kubernetes.io/serviceaccount/uid': POD.uid,
        },
      },
    ],
    [
      'claims, of which one has two values',
      { issuer: ISSUER, claim: ['repository_id=123', 'ref=a=b', 'ref=c', '/x/y= z'] },
      { issuer: ISSUER, claims: { repository_id: '123', ref: ['a=b', 'c'], '/x/y': ' z' } },
    ],
  ])('trusts %s', async (_what, options, expected) => {
    const { info } = await made(options);
    expect(info.trust).toEqual(expected);
    expect(info).toMatchObject({ name: 'Deploy', scopes: ['threats:read'], createdBy: 'eve' });
    expect(info.hint).toBe('');
  });

  it('has a trust that no claim can reach around', async () => {
    const claim = ['repository_id=123', '__proto__=x', 'constructor=y'];
    const { info } = await made({ issuer: ISSUER, claim });
    expect(Object.keys(info.trust?.claims ?? {}).sort()).toEqual([
      '__proto__',
      'constructor',
      'repository_id',
    ]);
  });

  it('gets what issue gives: other organizations, a reason and pairs', async () => {
    const other = '0b0b0b0b-0000-4000-8000-00000000000b';
    const more = { entities: other, metadata: 'team=siem', justification: 'deploys' };
    const { info } = await made({ ...GITHUB, ...more, scopes: 'users:delete' });
    expect(info).toMatchObject({
      accessibleEntities: [OWN, other],
      metadata: { team: 'siem' },
      justification: 'deploys',
      scopes: ['users:delete'],
    });
  });
});

describe('keyscope trust prints', () => {
  it('the key id and the audience, plain and for a URL', async () => {
    const { info, text, said } = await made({ ...GITHUB, audience: AUDIENCE });
    expect(text.split('\n').slice(0, 4)).toEqual([
      `key id           ${info.keyId}`,
      `audience         ${AUDIENCE}#${info.keyId}`,
      `audience in URL  ${encodeURIComponent(`${AUDIENCE}#${info.keyId}`)}`,
      '',
    ]);
    expect(said).toEqual(['The key has no secret: tokens with this audience act as it.']);
  });

  it('a place for an audience that it does not know', async () => {
    const { info, text, said } = await made(GITLAB);
    expect(text).toContain(`audience         <audience>#${info.keyId}\n`);
    expect(text).toContain(`audience in URL  <audience>%23${info.keyId}\n`);
    expect(said.join()).toContain('<audience> is the `audience` of createKeylessVerifier.');
  });

  it('no lines for an issuer that it does not know', async () => {
    const options = { issuer: ISSUER, claim: ['repository_id=123'] };
    const { text } = await made(options);
    expect(text.trim().split('\n')).toHaveLength(3);
  });

  it('one object as JSON, without a place', async () => {
    for (const [audience, isKnown] of [
      [AUDIENCE, true],
      [undefined, false],
    ] as const) {
      const { call, lines, keys, said } = arrange({ ...GITHUB, audience });
      await trust({ ...call, output: { ...call.output, isJson: true } });
      const [info] = await keys();
      const { keyId, trust: trusted } = info as KeyInfo;
      expect(lines).toHaveLength(1);
      expect(JSON.parse(lines[0] ?? '')).toEqual({
        keyId,
        audience: isKnown ? `${AUDIENCE}#${keyId}` : null,
        trust: trusted,
        info: JSON.parse(JSON.stringify(info)) as unknown,
      });
      expect(said).toEqual([]);
    }
  });
});

describe('without an id, keyscope trust prints a command that shows it', () => {
  const find = '"--repository-id \\(.id) --owner-id \\(.owner.id)"';
  const own = { ...GITLAB, issuer: OWN_GITLAB };

  it.each<readonly [string, object, string]>([
    ['repository-id', GITHUB, `gh api repos/acme/app --jq '${find}'`],
    ['owner-id', GITHUB, `gh api repos/acme/app --jq '${find}'`],
    ['project-id', GITLAB, 'glab api --hostname gitlab.com projects/acme%2Ftools%2Fapp | jq .id'],
    [
      'project-id',
      own,
      'glab api --hostname git.acme.example projects/acme%2Ftools%2Fapp | jq .id',
    ],
    ['uid', POD, "kubectl get serviceaccount deploy -n ci -o 'jsonpath={.metadata.uid}'"],
  ])('--%s', async (name, options, command) => {
    const message = await refused({ ...options, [name]: undefined });
    expect(message).toContain(`--${name} <`);
    expect(message.endsWith(`: ${command}`), message).toBe(true);
  });
});

/** Texts that mean something to a shell, to YAML or to a path. */
const HOSTILE = [
  '$(id)',
  '`id`',
  "a'b",
  'a"b',
  'a;b',
  'a|b',
  'a&b',
  'a b',
  'a\nb',
  '$x',
  '{a,b}',
  '',
];

describe('keyscope trust creates no key', () => {
  it.each([
    ['github', GITHUB, (text: string) => `acme/${text}`],
    ['github', GITHUB, (text: string) => `${text}/app`],
    ['github', GITHUB, (text: string) => text],
    ['github', GITHUB, () => '-x/app'],
    ['github', GITHUB, () => 'acme/app/more'],
    ['gitlab', GITLAB, (text: string) => `acme/${text}`],
    ['gitlab', GITLAB, (text: string) => text],
    ['gitlab', GITLAB, () => '../app'],
    ['namespace', POD, (text: string) => text],
    ['service-account', POD, (text: string) => text],
    ['service-account', POD, () => '--all'],
    ['audience', GITHUB, (text: string) => text],
    ['audience', GITHUB, () => `${AUDIENCE}#x`],
  ] as const)('if --%s is not safe to paste', async (name, options, make) => {
    for (const text of HOSTILE) {
      const message = await refused({ ...options, [name]: make(text) });
      expect(message).toMatch(new RegExp(`^Write --${name} <`));
      // Also not without the ids, where the text would be part of a command.
      const ids = { 'repository-id': undefined, 'project-id': undefined, uid: undefined };
      const printed = await refused({ ...options, ...ids, [name]: make(text) });
      expect(printed).toBe(message);
    }
  });

  it.each(['https://a$(id).example', 'http://git.example', 'https://a/?b', "https://a'b", '', 'x'])(
    'if --issuer is %j',
    async (issuer) => {
      const without = { ...GITLAB, issuer, 'project-id': undefined };
      for (const options of [{ ...GITLAB, issuer }, without, { ...POD, issuer }]) {
        expect(await refused(options)).toMatch(/^--issuer: pass an https URL/);
      }
    },
  );

  it.each<readonly [string, object, RegExp]>([
    ['no platform', {}, /^keyscope trust takes exactly one of --github, --gitlab, --kuber/],
    ['an issuer alone', { issuer: ISSUER }, /takes exactly one of .*--claim\.$/],
    ['two platforms', { ...GITHUB, ...GITLAB }, /takes exactly one of/],
    ['a platform and a claim', { ...GITHUB, claim: ['ref=x'] }, /takes exactly one of/],
    ['an option of another one', { ...GITHUB, issuer: ISSUER }, /^--issuer says nothing about --g/],
    ['an id of another one', { ...GITHUB, 'project-id': '1' }, /^--project-id says nothing/],
    ['no issuer', { claim: ['ref=x'] }, /^keyscope trust --claim needs --issuer <url>\.$/],
    ['no namespace', { ...POD, namespace: undefined }, /needs --namespace <name>\.$/],
    ['no branch', { ...GITHUB, branch: undefined }, /pass exactly one of branch, tag and env/],
    ['two selectors', { ...GITHUB, tag: 'v1' }, /pass exactly one of branch, tag and env/],
    ['a ref as branch', { ...GITHUB, branch: 'refs/heads/main' }, /^--branch: pass one exact/],
    ['a pattern', { ...GITLAB, branch: '*' }, /^--branch: pass one exact name/],
    ['an empty branch', { ...GITLAB, branch: '' }, /^--branch: pass one exact name/],
    ['a pattern of tags', { ...GITHUB, branch: undefined, tag: 'v*' }, /^--tag: pass one exact/],
    ['a name as id', { ...GITHUB, 'repository-id': 'app' }, /^--repository-id: pass the number/],
    ['an empty id', { ...GITHUB, 'owner-id': '' }, /^--owner-id: pass the number/],
    ['a pattern of events', { ...GITHUB, event: '*' }, /^--event: element 0: pass one exact/],
    ['no event', { ...GITHUB, event: '' }, /^--event: pass at least one/],
    ['merge requests', { ...GITLAB, source: 'merge_request_event' }, /^--source: merge_request/],
    ['an empty uid', { ...POD, uid: '' }, /^--uid: pass one exact name/],
    ['a claim without =', { issuer: ISSUER, claim: ['ref'] }, /^--claim takes name=value/],
    ['a claim without a name', { issuer: ISSUER, claim: ['=x'] }, /^--claim takes name=value/],
  ])('for %s', async (_what, options, said) => {
    expect(await refused(options)).toMatch(said);
  });

  it.each<readonly [string, readonly string[], RegExp]>([
    ['an empty value', ['repository_id='], /^trust\.claims: /],
    ['one value twice', ['repository_id=1', 'repository_id=1'], /^trust\.claims: /],
    ['a claim about the token', ['repository_id=1', 'aud=x'], /^trust\.claims: /],
    ['a branch of any repository', ['ref=refs/heads/main'], /^trust: name an issuer of `tokens`/],
  ])('for %s, as the keyring says', async (_what, claim, said) => {
    const { start, keys } = arrange({ issuer: ISSUER, claim });
    await inputError(start, 'trust', said);
    expect(await keys()).toEqual([]);
  });

  it('on a keyring that takes no tokens, and says what to pass', async () => {
    const { start, keys } = arrange(GITHUB, { tokens: undefined });
    const error: unknown = await start().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CommandError);
    expect(error).toMatchObject({ kind: 'config', exit: 3 });
    expect(String(error)).toContain('`tokens: createKeylessVerifier({ audience, issuers })`');
    expect(await keys()).toEqual([]);
  });
});
