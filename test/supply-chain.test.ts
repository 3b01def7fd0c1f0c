/**
 * What reaches those who install the package, and through whose hands: the workflows that test and
 * publish it, and the packages that it brings along.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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

/** A package in a lock file, by the folder that it is installed in. */
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
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: object;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** The one step of the one job that may prove to npm who it is. */
const PUBLISH = 'npm publish ./*.tgz --provenance --access public --ignore-scripts';

function isAfter(needs: Job['needs'], name: string): boolean {
  return typeof needs === 'string' ? needs === name : (needs ?? []).includes(name);
}

function* faultsOfJob(job: Job, inherited: Workflow['permissions']): Generator<string> {
  const { steps, permissions = inherited, needs, environment } = job;
  const commands = steps.flatMap(({ run = [] }) => run);
  const granted = Object.entries(permissions ?? {}).map(([what, how]) => `${what}: ${how}`);
  const publishes =
    commands.some((command) => command.includes('npm publish')) ||
    granted.includes('id-token: write');
  if (permissions === undefined) yield 'has whatever permissions the repository grants by default';
  if (granted.some((grant) => grant !== (publishes ? 'id-token: write' : 'contents: read')))
    yield `may do more than it needs: ${granted}`;
  for (const { uses = '', with: options } of steps) {
    // A tag can be moved to another commit.
    if (uses !== '' && !/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/.test(uses))
      yield `${uses} is not pinned to a commit`;
    if (uses.startsWith('actions/checkout@') && options?.['persist-credentials'] !== false)
      yield 'leaves its token to whatever runs next';
  }
  // What GitHub puts into a command before a shell reads it can be a title or a branch of a
  // stranger's making.
  if (commands.some((command) => command.includes('${{')))
    yield 'builds a command from an expression';
  if (!publishes) return;
  if (commands.join() !== PUBLISH) yield `runs something else than ${PUBLISH}`;
  if (steps.some(({ uses = '' }) => uses.startsWith('actions/checkout@')))
    yield 'publishes with the code at hand';
  if (!isAfter(needs, 'test')) yield 'publishes what was not tested';
  if (environment === undefined)
    yield 'publishes without an environment, which can ask for an approval';
}

/** What is wrong with a workflow; nothing, where it is as SECURITY.md and its own head say. */
function faultsOf(text: string): readonly string[] {
  const { on, permissions, jobs } = parse(text) as Workflow;
  const faults = Object.entries(jobs).flatMap(([name, job]) =>
    [...faultsOfJob(job, permissions)].map((fault) => `${name} ${fault}`),
  );
  if (/\bsecrets\b/.test(text.replace(/#.*/g, ''))) faults.push('there is a secret to steal');
  // Both run with the rights of this repository on what a stranger proposes.
  if (/pull_request_target|workflow_run/.test(JSON.stringify(on)))
    faults.push('strangers start it');
  return faults;
}

const WORKFLOWS = filesUnder('.github/workflows', '.yml');
const CI = '.github/workflows/ci.yml';
const RELEASE = '.github/workflows/release.yml';

const expression = (name: string) => `$\{{ ${name} }}`;

describe('a workflow', () => {
  it.each(WORKFLOWS)('pins what it runs, and may do no more than it has to: %s', (path) => {
    expect(faultsOf(readProjectFile(path))).toEqual([]);
  });

  it('is what publishes, with provenance and a list of what is in the package', () => {
    const publishing = WORKFLOWS.filter((path) =>
      readProjectFile(path).includes(`- run: ${PUBLISH}`),
    );
    expect(publishing).toEqual([RELEASE]);
    expect(readProjectFile(RELEASE)).toMatch(/npm sbom --omit=dev .*> packed\//);
  });

  it.each([
    [CI, /@[0-9a-f]{40}/, '@v5', 'actions/checkout@v5 is not pinned to a commit'],
    [CI, /@([0-9a-f]{39})[0-9a-f]/, '@$1', 'is not pinned to a commit'],
    [
      CI,
      /permissions:\n {2}contents: read\n/,
      '',
      'ci has whatever permissions the repository grants by default',
    ],
    [CI, 'contents: read', 'contents: write', 'ci may do more than it needs: contents: write'],
    [
      CI,
      'persist-credentials: false',
      'fetch-depth: 1',
      'ci leaves its token to whatever runs next',
    ],
    [CI, 'pull_request:', 'pull_request_target:', 'strangers start it'],
    [
      CI,
      'bash .ci/run',
      `echo ${expression('github.head_ref')}`,
      'ci builds a command from an expression',
    ],
    [CI, 'bash .ci/run', 'npm publish', 'ci runs something else'],
    [RELEASE, ' --provenance', '', 'publish runs something else'],
    [RELEASE, ' --ignore-scripts', '', 'publish runs something else'],
    [
      RELEASE,
      'id-token: write',
      'id-token: write\n      contents: write',
      'publish may do more than it needs',
    ],
    [RELEASE, 'needs: [pack, test]', 'needs: pack', 'publish publishes what was not tested'],
    [RELEASE, '    environment: npm\n', '', 'publish publishes without an environment'],
    [
      RELEASE,
      /actions\/download-artifact(@\w+ # v\S+\n\s+with:\n\s+name: package\n {6}#)/,
      'actions/checkout$1',
      'code at hand',
    ],
    [
      RELEASE,
      /- run: npm publish/,
      `- run: echo ${expression('secrets.NPM')}\n      - run: npm publish`,
      'a secret to steal',
    ],
  ])('in %s: %s is not %j', (path, from, to, fault) => {
    const edited = readProjectFile(path).replace(from, to);
    expect(edited).not.toBe(readProjectFile(path));
    expect(faultsOf(edited).join('\n')).toContain(fault);
  });
});

describe('installing the package', () => {
  // npm runs the first three of a package from the registry, and all of one from a repository.
  const FROM_REGISTRY = ['preinstall', 'install', 'postinstall'];
  const FROM_REPOSITORY = [...FROM_REGISTRY, 'prepare'];

  it('runs no script of its own', () => {
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

  it.each(brought)('brings nothing with %s, and runs nothing of it', (path, locked) => {
    expect(locked.integrity).toMatch(/^sha512-/);
    expect(locked.hasInstallScript).toBeUndefined();
    const manifest = readManifest(path);
    expect(manifest.dependencies ?? {}).toEqual({});
    expect(manifest.optionalDependencies ?? {}).toEqual({});
    expect(manifest.peerDependencies ?? {}).toEqual({});
    expect(FROM_REGISTRY.filter((hook) => hook in (manifest.scripts ?? {}))).toEqual([]);
    // Without `install`, npm builds what has this file.
    expect(existsSync(join(ROOT, path, 'binding.gyp'))).toBe(false);
  });
});

// ── Lock files ───────────────────────────────────────────────────────────────────────────────────

/** Where npm looks for what a package needs: in its own folder, then in those around it. */
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
 * What packages of a lock may bring for a platform, and what the lock does not have. On that
 * platform `npm ci` installs nothing in its place.
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

  it('stands beside what is installed', () => {
    expect(locks).toContain('package-lock.json');
    expect(locks.length).toBeGreaterThan(3);
  });

  it.each(locks)('names the binaries of every platform: %s', (path) => {
    expect(missingIn(readLock(path))).toEqual([]);
  });

  it('is not complete without the binaries of another platform', () => {
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
    // What another package brought into its own folder is no help.
    const foreign = { ...root, 'node_modules/c/node_modules/@b/darwin-arm64': {} };
    expect(missingIn({ packages: foreign })).toHaveLength(1);
    const deep = { ...complete, 'node_modules/@c/d/node_modules/b': builder };
    expect(missingIn({ packages: deep })).toEqual([]);
    expect(missingIn({ packages: { '': builder } })).toHaveLength(2);
  });

  it('is what is installed, and by nothing but `npm ci`', () => {
    const setup = readProjectFile('.ci/setup.mjs');
    expect(setup).toContain("'npm', ['ci', ");
    expect(setup).not.toMatch(/'install'/);
  });
});
