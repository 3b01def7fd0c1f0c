/**
 * What reaches those who install the package, and through whose hands: the workflows that test and
 * publish it, and the packages that it brings along.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const manifestOf = (folder: string) => JSON.parse(read(`${folder}/package.json`));

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

function* faultsOfJob(job: Job, inherited: Workflow['permissions']): Generator<string> {
  const { steps, permissions = inherited, needs = [], environment } = job;
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
  if (![needs].flat().includes('test')) yield 'publishes what was not tested';
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

const WORKFLOWS = readdirSync(new URL('.github/workflows', root)).map(
  (name) => `.github/workflows/${name}`,
);
const [CI, RELEASE] = ['.github/workflows/ci.yml', '.github/workflows/release.yml'] as const;

const expression = (name: string) => `$\{{ ${name} }}`;

describe('a workflow', () => {
  it.each(WORKFLOWS)('pins what it runs, and may do no more than it has to: %s', (path) => {
    expect(faultsOf(read(path))).toEqual([]);
  });

  it('is what publishes, with provenance and a list of what is in the package', () => {
    const publishing = WORKFLOWS.filter((path) => read(path).includes(`- run: ${PUBLISH}`));
    expect(publishing).toEqual([RELEASE]);
    expect(read(RELEASE)).toMatch(/npm sbom --omit=dev .*> packed\//);
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
    const edited = read(path).replace(from, to);
    expect(edited).not.toBe(read(path));
    expect(faultsOf(edited).join('\n')).toContain(fault);
  });
});

describe('installing the package', () => {
  // npm runs the first three of a package from the registry, and all of one from a repository.
  const HOOKS = ['preinstall', 'install', 'postinstall', 'prepare'];

  it('runs no script of its own', () => {
    expect(HOOKS.filter((hook) => hook in manifestOf('.').scripts)).toEqual([]);
  });

  it('brings three packages along, which bring none and run nothing', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };
    const brought = Object.entries(packages).filter(
      ([path, { dev, devOptional }]) => path && !dev && !devOptional,
    );
    expect(brought.map(([path]) => path)).toEqual(
      ['@noble/hashes', 'jose', 'zod'].map((name) => `node_modules/${name}`),
    );
    for (const [path, { integrity, hasInstallScript }] of brought) {
      expect({ path, integrity, hasInstallScript }).toEqual({
        path,
        integrity: expect.stringMatching(/^sha512-/),
      });
      const {
        scripts = {},
        dependencies,
        optionalDependencies,
        peerDependencies,
      } = manifestOf(path);
      expect({ dependencies, optionalDependencies, peerDependencies }, path).toEqual({});
      // Without `install`, npm builds what has this file.
      const built = existsSync(new URL(`${path}/binding.gyp`, root));
      expect([...HOOKS.slice(0, 3).filter((hook) => hook in scripts), built], path).toEqual([
        false,
      ]);
    }
  });
});
