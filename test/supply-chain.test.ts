/**
 * The supply chain to the users who install the package: the workflows that test and publish it,
 * and its dependencies.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { filesUnder, ROOT, readProjectFile } from './support/source.ts';

interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: object;
  readonly optionalDependencies?: object;
  readonly peerDependencies?: object;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readProjectFile(join(folder, 'package.json'))) as Manifest;
}

/** A package in a lock file, by its install folder. */
interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface LockFile {
  readonly packages: Readonly<Record<string, Locked>>;
}

function readLock(path: string): LockFile {
  return JSON.parse(readProjectFile(path)) as LockFile;
}

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  /** Another workflow, instead of steps. */
  readonly uses?: string;
  readonly steps?: readonly Step[];
}
interface Workflow {
  readonly on: object;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** The one step, in the one job, that may identify itself to npm. */
const PUBLISH = 'npm publish ./*.tgz --provenance --access public --ignore-scripts';
const ANNOUNCE =
  'gh release create "$GITHUB_REF_NAME" --verify-tag -F notes.md ./*.tgz sbom.cdx.json';

/**
 * The jobs that may do more than read the repository, what they may do, and the one command that
 * they run. Without one, they run nothing but actions.
 */
const RIGHTS: Readonly<Record<string, { may: readonly string[]; runs?: string }>> = {
  publish: { may: ['id-token: write'], runs: PUBLISH },
  announce: { may: ['contents: write'], runs: ANNOUNCE },
  deploy: { may: ['pages: write', 'id-token: write'] },
  codeql: { may: ['contents: read', 'security-events: write'] },
  scorecard: { may: ['contents: read', 'security-events: write', 'id-token: write'] },
};

function isAfter(needs: Job['needs'], name: string): boolean {
  return typeof needs === 'string' ? needs === name : (needs ?? []).includes(name);
}

function* faultsOfJob(
  name: string,
  job: Job,
  inherited: Workflow['permissions'],
): Generator<string> {
  const { uses: called = '', steps = [], permissions = inherited, needs, environment } = job;
  const commands = steps.flatMap(({ run = [] }) => run);
  const granted = Object.entries(permissions ?? {}).map(([what, how]) => `${what}: ${how}`);
  const { may, runs = '' } = RIGHTS[name] ?? { may: ['contents: read'] };
  const publishes = runs !== '' || commands.some((command) => command.includes('npm publish'));
  if (permissions === undefined) yield "has the repository's default permissions";
  if (granted.some((grant) => !may.includes(grant))) yield `may do more than it needs: ${granted}`;
  for (const { uses = '', with: options } of [{ uses: called }, ...steps]) {
    // A tag can be moved to another commit.
    if (!/^(?:\.\/.+)?$|^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/.test(uses))
      yield `${uses} is not pinned to a commit`;
    if (uses.startsWith('actions/checkout@') && options?.['persist-credentials'] !== false)
      yield 'leaves its token to later steps';
  }
  // GitHub substitutes expressions before a shell runs, and their values may include a title or
  // branch name from a stranger.
  if (commands.some((command) => command.includes('${{')))
    yield 'builds a command from an expression';
  if ((publishes || name in RIGHTS) && commands.join() !== runs)
    yield `runs something other than ${runs}`;
  if (!publishes) return;
  if (steps.some(({ uses = '' }) => uses.startsWith('actions/checkout@')))
    yield 'publishes in the job that runs the code';
  if (!isAfter(needs, 'test')) yield 'publishes what was not tested';
  if (granted.includes('id-token: write') && environment === undefined)
    yield 'publishes without an environment that can require an approval';
}

/** The faults of a workflow; none if it matches SECURITY.md and its own head comment. */
function faultsOf(text: string): readonly string[] {
  const { on, permissions, jobs } = parse(text) as Workflow;
  const faults = Object.entries(jobs).flatMap(([name, job]) =>
    [...faultsOfJob(name, job, permissions)].map((fault) => `${name} ${fault}`),
  );
  const unnamed = text
    .split('\n')
    .filter((line) => /@[0-9a-f]{40}(?! # v\d+\.\d+\.\d+$)/.test(line));
  faults.push(...unnamed.map((line) => `no version is named: ${line.trim()}`));
  if (/\bsecrets\b/.test(text.replace(/#.*/g, ''))) faults.push('has a secret that can be stolen');
  // Both run a stranger's proposal with the rights of this repository.
  if (/pull_request_target|workflow_run/.test(JSON.stringify(on)))
    faults.push('lets strangers start it');
  return faults;
}

const WORKFLOWS = filesUnder('.github/workflows', '.yml');
const CI = '.github/workflows/ci.yml';
const RELEASE = '.github/workflows/release.yml';
const PAGES = '.github/workflows/pages.yml';

const expression = (name: string) => `$\{{ ${name} }}`;

describe('a workflow', () => {
  it.each(WORKFLOWS)('pins its actions and has minimal permissions: %s', (path) => {
    expect(faultsOf(readProjectFile(path))).toEqual([]);
  });

  it('publishes with provenance and a bill of materials', () => {
    const publishing = WORKFLOWS.filter((path) =>
      readProjectFile(path).includes(`- run: ${PUBLISH}`),
    );
    expect(publishing).toEqual([RELEASE]);
    expect(readProjectFile(RELEASE)).toMatch(/npm sbom --package-lock-only .*> packed\//);
  });

  it.each([
    [CI, /@[0-9a-f]{40}/, '@v5', 'actions/checkout@v5 is not pinned to a commit'],
    [CI, /@([0-9a-f]{39})[0-9a-f]/, '@$1', 'is not pinned to a commit'],
    [CI, / # v[\d.]+/, '', 'no version is named: - uses: actions/checkout@'],
    [CI, /permissions:\n {2}contents: read\n/, '', "ci has the repository's default permissions"],
    [CI, 'contents: read', 'contents: write', 'ci may do more than it needs: contents: write'],
    [CI, 'persist-credentials: false', 'fetch-depth: 1', 'ci leaves its token to later steps'],
    [CI, 'pull_request:', 'pull_request_target:', 'lets strangers start it'],
    [
      CI,
      'bash .ci/run',
      `echo ${expression('github.head_ref')}`,
      'ci builds a command from an expression',
    ],
    [CI, 'bash .ci/run', 'npm publish', 'ci runs something other'],
    [RELEASE, ' --provenance', '', 'publish runs something other'],
    [RELEASE, 'public --ignore-scripts', 'public', 'publish runs something other'],
    [
      RELEASE,
      'id-token: write',
      'id-token: write\n      contents: write',
      'publish may do more than it needs',
    ],
    [RELEASE, 'needs: [pack, test]', 'needs: pack', 'publish publishes what was not tested'],
    [RELEASE, 'needs: [test, publish]', 'needs: publish', 'announce publishes what was not tested'],
    [RELEASE, './.github/workflows/ci.yml', 'a/b/.github/workflows/ci.yml@v1', 'not pinned'],
    [RELEASE, 'gh release', 'npm test && gh release', 'announce runs something other'],
    [PAGES, 'contents: read', 'pages: write', 'build may do more than it needs: pages: write'],
    [
      PAGES,
      '- uses: actions/deploy',
      '- run: npm test\n      - uses: actions/deploy',
      'deploy runs',
    ],
    [RELEASE, '    environment: npm\n', '', 'publish publishes without an environment'],
    [
      RELEASE,
      /actions\/download-artifact(@\w+ # v\S+\n\s+with:\n\s+name: package\n {6}#)/,
      'actions/checkout$1',
      'job that runs the code',
    ],
    [
      RELEASE,
      /- run: npm publish/,
      `- run: echo ${expression('secrets.NPM')}\n      - run: npm publish`,
      'a secret that can be stolen',
    ],
  ])('with %s fails: %s is not %j', (path, from, to, fault) => {
    const edited = readProjectFile(path).replace(from, to);
    expect(edited).not.toBe(readProjectFile(path));
    expect(faultsOf(edited).join('\n')).toContain(fault);
  });
});

/** Runs the script in a folder with these addresses, and returns what it says and writes there. */
function runAddresses(addresses: object, env: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-addresses-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, '.ci'));
  writeFileSync(join(folder, '.ci/addresses.json'), JSON.stringify(addresses));
  for (const file of ['package.json', 'README.md', 'SECURITY.md']) {
    writeFileSync(join(folder, file), readProjectFile(file));
  }
  const { GITHUB_REPOSITORY: _, ...outside } = process.env;
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, '.ci/addresses.mjs')], {
    cwd: folder,
    env: { ...outside, ...env },
    encoding: 'utf8',
  });
  return { status, stderr, read: (file: string) => readFileSync(join(folder, file), 'utf8') };
}

describe('the addresses that npm shows', () => {
  const COMPLETE = {
    repository: 'https://github.com/owner/name',
    homepage: 'https://site.example',
    bugs: 'https://github.com/owner/name/issues',
    security: 'https://github.com/owner/name/security/advisories/new',
  };

  it('are in one file, each either missing or complete', () => {
    const kept = JSON.parse(readProjectFile('.ci/addresses.json')) as Record<string, string>;
    expect(Object.keys(kept)).toEqual(Object.keys(COMPLETE));
    for (const address of Object.values(kept)) expect(address).toMatch(/^$|^https:/);
  });

  it('are set by the release before it packs', () => {
    const [, before = ''] = /name: Pack\n([\s\S]*?)npm pack /.exec(readProjectFile(RELEASE)) ?? [];
    expect(before).toContain('node .ci/addresses.mjs\n');
  });

  it.each([
    ...Object.keys(COMPLETE).map((name) => [name, '', `${name}: set an address`]),
    ['homepage', 'http://site.example', 'homepage: begin with https://'],
    ['repository', 'https://example.com/a/b', 'write https://github.com/OWNER/NAME'],
    ['repository', 'https://github.com/owner/other', 'runs in https://github.com/owner/name'],
  ])('stop the release if %s is %j', (name, address, fault) => {
    const env = { GITHUB_REPOSITORY: 'owner/name' };
    const { status, stderr, read } = runAddresses({ ...COMPLETE, [name]: address }, env);
    expect([status, stderr]).toEqual([1, expect.stringContaining(fault)]);
    expect(read('package.json')).toBe(readProjectFile('package.json'));
  });

  it('are in the manifest, and every link to a file is absolute', () => {
    const { status, read } = runAddresses(COMPLETE, { GITHUB_REPOSITORY: 'owner/name' });
    expect(status).toBe(0);
    const manifest = JSON.parse(read('package.json')) as Manifest & { readonly version: string };
    expect(manifest).toMatchObject({
      scripts: readManifest('.').scripts,
      repository: { type: 'git', url: 'git+https://github.com/owner/name.git' },
      homepage: COMPLETE.homepage,
      bugs: { url: COMPLETE.bugs },
    });
    const tag = `v${manifest.version}`;
    const readme = read('README.md');
    expect(readme).toContain(`(https://github.com/owner/name/blob/${tag}/docs/promises.md)`);
    const picture = `(https://raw.githubusercontent.com/owner/name/${tag}/docs/quick-start.svg)`;
    expect(readme).toContain(picture);
    expect(read('SECURITY.md')).toContain(`[this form](${COMPLETE.security})`);
    for (const text of [readme, read('SECURITY.md')]) {
      expect(text.replaceAll(/^```[\s\S]*?^```/gm, '')).not.toMatch(/\]\((?!https:|#)/);
    }
  });
});

describe('installing the package', () => {
  // npm runs the first three for registry packages, and all of them for git dependencies.
  const FROM_REGISTRY = ['preinstall', 'install', 'postinstall'];
  const FROM_REPOSITORY = [...FROM_REGISTRY, 'prepare'];

  it("runs none of the package's scripts", () => {
    const { scripts = {} } = readManifest('.');
    expect(FROM_REPOSITORY.filter((hook) => hook in scripts)).toEqual([]);
  });

  const brought = Object.entries(readLock('package-lock.json').packages).filter(
    ([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional,
  );

  it('brings three packages along', () => {
    const names = ['@noble/hashes', 'jose', 'zod'];
    expect(brought.map(([path]) => path)).toEqual(names.map((name) => `node_modules/${name}`));
  });

  it.each(brought)('brings no further package and runs no script with %s', (path, locked) => {
    expect(locked.integrity).toMatch(/^sha512-/);
    expect(locked.hasInstallScript).toBeUndefined();
    const manifest = readManifest(path);
    expect(manifest.dependencies ?? {}).toEqual({});
    expect(manifest.optionalDependencies ?? {}).toEqual({});
    expect(manifest.peerDependencies ?? {}).toEqual({});
    expect(FROM_REGISTRY.filter((hook) => hook in (manifest.scripts ?? {}))).toEqual([]);
    // Without an `install` script, npm builds any package that has this file.
    expect(existsSync(join(ROOT, path, 'binding.gyp'))).toBe(false);
  });
});

// ── Lock files ───────────────────────────────────────────────────────────────────────────────────

/** The folders where npm looks for a dependency: the package's own, then its ancestors. */
function placesOf(name: string, path: string): readonly string[] {
  const places: string[] = [];
  let folder = path;
  while (folder !== '') {
    places.push(`${folder}/node_modules/${name}`);
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')));
  }
  return [...places, `node_modules/${name}`];
}

/**
 * The packages that a lock file promises for a platform but does not contain. On that platform `npm
 * ci` would silently skip them.
 */
function missingIn({ packages }: LockFile): readonly string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !placesOf(name, path).some((place) => place in packages))
      .map((name) => `${path}: ${name}`),
  );
}

describe('a lock file', () => {
  const locks = filesUnder('.', 'package-lock.json');

  it('exists wherever packages are installed', () => {
    expect(locks).toContain('package-lock.json');
    expect(locks.length).toBeGreaterThan(3);
  });

  it.each(locks)('names the binaries for every platform: %s', (path) => {
    expect(missingIn(readLock(path))).toEqual([]);
  });

  it('is incomplete without the binaries for another platform', () => {
    const optionalDependencies = { '@b/linux-x64': '1.0.0', '@b/darwin-arm64': '1.0.0' };
    const builder: Locked = { optionalDependencies };
    const root: Record<string, Locked> = {
      '': {},
      'node_modules/b': builder,
      'node_modules/@b/linux-x64': {},
    };
    expect(missingIn({ packages: root })).toEqual(['node_modules/b: @b/darwin-arm64']);
    const complete = { ...root, 'node_modules/@b/darwin-arm64': {} };
    expect(missingIn({ packages: complete })).toEqual([]);
    const own = { ...root, 'node_modules/b/node_modules/@b/darwin-arm64': {} };
    expect(missingIn({ packages: own })).toEqual([]);
    // A copy inside another package's folder does not help.
    const foreign = { ...root, 'node_modules/c/node_modules/@b/darwin-arm64': {} };
    expect(missingIn({ packages: foreign })).toHaveLength(1);
    const deep = { ...complete, 'node_modules/@c/d/node_modules/b': builder };
    expect(missingIn({ packages: deep })).toEqual([]);
    expect(missingIn({ packages: { '': builder } })).toHaveLength(2);
  });

  it.each([
    ['the same packages', {}, 0],
    ['another version', { 'node_modules/a': { version: '1.0.1', integrity: 'sha512-a' } }, 1],
    ['other content', { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-b' } }, 1],
    ['one missing', { 'node_modules/a': undefined }, 1],
    ['one too many', { 'node_modules/d': { version: '1.0.0', integrity: 'sha512-d' } }, 1],
  ])('is installed again only if needed: node_modules has %s', (_, more, expected) => {
    const folder = mkdtempSync(join(tmpdir(), 'keyscope-setup-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const a = { version: '1.0.0', integrity: 'sha512-a' };
    const forOthers = { version: '1.0.0', integrity: 'sha512-c', optional: true };
    const wanted = { '': {}, 'node_modules/a': a, 'node_modules/c': forOthers };
    const installed = { 'node_modules/a': a, ...more };
    mkdirSync(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: wanted }));
    const left = join(folder, 'node_modules/.package-lock.json');
    writeFileSync(left, JSON.stringify({ packages: installed }));
    // Without npm on the path, installing fails.
    const options = { cwd: folder, env: { PATH: folder }, encoding: 'utf8' } as const;
    const ran = spawnSync(process.execPath, [join(ROOT, '.ci/setup.mjs')], options);
    expect([ran.status, ran.stdout !== '']).toEqual([expected, expected === 1]);
  });

  it('is the only source of installed packages, through `npm ci`', () => {
    const setup = readProjectFile('.ci/setup.mjs');
    expect(setup).toContain("'npm', ['ci', ");
    expect(setup).not.toMatch(/'install'/);
  });
});
