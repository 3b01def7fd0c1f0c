/**
 * The import rules, checked against the source, type imports included: the core imports no other
 * folder, the other folders build on the core, no import points up and none forms a cycle. The
 * tables define the layout; if you move a file, update its line here.
 */
import { describe, expect, it } from 'vitest';
import {
  circlesAmong,
  closureOf,
  filesImportedBy,
  filesUnder,
  importsOf,
  packagesImportedBy,
  readProjectFile,
  type Source,
  sourceFrom,
  sourcesUnder,
} from '../support/source.ts';

// ── The tables ───────────────────────────────────────────────────────────────────────────────────

/** Each folder of `src`, and the other folders that its files may import. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  management: ['core'],
  http: ['core'],
  // No decision depends on it: no folder above may import it.
  notation: ['core'],
  // Node loads this instead of a package.
  native: [],
  cache: ['core'],
  stores: ['core'],
  jwt: ['core', 'http'],
  keyless: ['core', 'management', 'http', 'jwt'],
  mcp: ['core', 'http'],
  leaks: ['core', 'management', 'http', 'notation'],
  schemas: ['core', 'management', 'http'],
  reports: ['core', 'management'],
  // It parses requests with the schemas, so that JSON has one set of rules.
  admin: ['core', 'management', 'http', 'schemas'],
  testing: ['core', 'management', 'http', 'notation', 'stores'],
  // For `masking`: how to print texts from others.
  tools: ['core'],
  'tools/openapi': ['core', 'http', 'tools'],
  'tools/lock': ['core', 'tools'],
  // The command only runs on Node, and nothing imports it.
  'tools/cli': [
    'core',
    'management',
    'http',
    'notation',
    'keyless',
    'reports',
    'stores',
    'tools',
    'tools/lock',
  ],
};

/** The folders that `src/index.ts` may import from. */
const FOLDERS_OF_INDEX = ['core', 'management', 'http', 'notation'];

/** The code behind `keyscope`, which an auditor reads. */
const AUDITED = /^src\/(?:core|management|http|notation)\/[^/]+\.ts$/;

const FRONT_DOOR = 'src/core/admit.ts';

/** A file or a whole folder, and the packages that it may import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  // One of the two in `native`, depending on the runtime.
  'src/core/secret.ts': ['#noble'],
  'src/native/noble.ts': ['@noble/hashes'],
  'src/jwt/': ['jose'],
  'src/schemas/': ['zod'],
  'src/tools/cli/': [
    'node:console',
    'node:crypto',
    'node:fs',
    'node:module',
    'node:os',
    'node:path',
    'node:readline',
    'node:url',
    'node:util',
    'node:v8',
  ],
};

/** Adapters call the facade, so their tests have to create one. The command receives one. */
const FACADE_IN = /^src\/(?:testing|tools\/cli)\//;

// ── The rules ────────────────────────────────────────────────────────────────────────────────────

/** The files listed on the auditors' page, in its order. */
function filesInReadingOrder(): readonly string[] {
  const audited = sourcesUnder('src')
    .map(({ path }) => path)
    .filter((path) => AUDITED.test(path) || path === 'src/index.ts');
  const names = readProjectFile('docs/auditing.md').matchAll(/`([a-z-]+)\.ts`/g);
  return Array.from(names, ([, name = '']) => {
    return audited.find((path) => path.endsWith(`/${name}.ts`)) ?? name;
  });
}

/** `core` of `src/core/admit.ts`, `tools/lock` of `src/tools/lock/hono.ts`. */
const folderOf = (path: string): string => /^src\/((?:tools\/)?[^/]+)\//.exec(path)?.[1] ?? '';

const isIndex = (path: string): boolean => /(?:^|\/)index\.ts$/.test(path);

/** The folders that a file may import from. */
function foldersFor(path: string): readonly string[] {
  const folder = folderOf(path);
  const allowed = folder === '' ? FOLDERS_OF_INDEX : (FOLDERS[folder] ?? []);
  return [folder, ...allowed];
}

function wrongArrowsOf(source: Source): readonly string[] {
  const wrong: string[] = [];
  for (const target of filesImportedBy(source)) {
    const arrow = `${source.path} → ${target}`;
    if (!foldersFor(source.path).includes(folderOf(target)))
      wrong.push(`${arrow}: against folders`);
    if (isIndex(target)) wrong.push(`${arrow}: an index`);
    if (target === 'src/management/create-keyring.ts' && !mayImportFacade(source.path)) {
      wrong.push(`${arrow}: the facade`);
    }
    const isBefore = reading.indexOf(target) < reading.indexOf(source.path);
    if (AUDITED.test(source.path) && !isBefore) wrong.push(`${arrow}: read later`);
  }
  return wrong;
}

function mayImportFacade(path: string): boolean {
  return path === 'src/index.ts' || FACADE_IN.test(path);
}

function strangePackagesOf(source: Source): readonly string[] {
  const pinned = Object.entries(PACKAGES).filter(([path]) => source.path.startsWith(path));
  const allowed = pinned.flatMap(([, packages]) => packages);
  return packagesImportedBy(source)
    .filter((specifier) => !allowed.some((name) => `${specifier}/`.startsWith(`${name}/`)))
    .map((specifier) => `${source.path} → ${specifier}`);
}

/** The contents of an index other than explicit re-exports. */
function moreThanReexportsOf(source: Source): readonly string[] {
  return source.tree.statements
    .map((statement) => statement.getText())
    .filter((text) => !/^export (?:type )?\{[^}]*\} from '[^']+';$/.test(text));
}

// ── The tests ────────────────────────────────────────────────────────────────────────────────────

const sources = sourcesUnder('src');
const paths = sources.map(({ path }) => path);
const reading = filesInReadingOrder();

describe('layout', () => {
  it('knows every folder of src', () => {
    const standing = new Set(paths.map(folderOf).filter((folder) => folder !== ''));
    expect([...standing].sort()).toEqual(Object.keys(FOLDERS).sort());
    expect(paths.filter((path) => folderOf(path) === '')).toEqual(['src/index.ts']);
  });

  it("has an auditors' page that names every audited file once", () => {
    const audited = paths.filter((path) => AUDITED.test(path) || path === 'src/index.ts');
    expect([...reading].sort()).toEqual(audited.sort());
  });

  it('only lets imports point down', () => {
    expect(sources.flatMap(wrongArrowsOf)).toEqual([]);
  });

  // Anything that wrote by another route would skip the escaping.
  it('lets only one file of the tools write to standard output and standard error', () => {
    const writing = sourcesUnder('src/tools').filter(({ tree }) => {
      const code = tree.getText().replace(/`[^`]*`/g, '');
      return /\b(?:stdout|stderr)\.write\b|\bconsole\.\w+\(|\bwriteSync\(/.test(code);
    });
    expect(writing.map(({ path }) => path)).toEqual(['src/tools/cli/output.ts']);
  });

  it('notices an import that points up or sideways, to an index, or to the facade', () => {
    const importing = (path: string, specifier: string) =>
      wrongArrowsOf(sourceFrom(`import type { A } from '${specifier}';`, path));
    expect(importing('src/core/admit.ts', './verify.js')).toEqual([]);
    expect(importing('src/core/verify.ts', './admit.js').join()).toContain('read later');
    expect(importing('src/core/nowhere.ts', './verify.js').join()).toContain('read later');
    expect(importing('src/core/verify.ts', '../cache/store.js').join()).toContain('folders');
    expect(importing('src/cache/store.ts', '../core/store.js')).toEqual([]);
    expect(importing('src/cache/store.ts', '../stores/rows.js').join()).toContain('folders');
    expect(importing('src/mcp/gate.ts', '../../bench/run.ts').join()).toContain('folders');
    expect(importing('src/core/admit.ts', '../http/challenge.js').join()).toContain('folders');
    expect(importing('src/core/admit.ts', '../management/find.js').join()).toContain('folders');
    expect(importing('src/http/me.ts', '../management/find.js').join()).toContain('folders');
    expect(importing('src/mcp/gate.ts', '../http/challenge.js')).toEqual([]);
    expect(importing('src/reports/ask.ts', '../core/store.js')).toEqual([]);
    expect(importing('src/reports/ask.ts', '../stores/rows.js').join()).toContain('folders');
    expect(importing('src/tools/lock/hono.ts', '../cli/bin.js').join()).toContain('folders');
    expect(importing('src/jwt/issuer.ts', './index.js').join()).toContain('an index');
    expect(importing('src/jwt/issuer.ts', '../index.js').join()).toContain('an index');
    expect(importing('src/jwt/issuer.ts', '../management/create-keyring.js').join()).toContain(
      'the facade',
    );
    expect(importing('src/testing/contract.ts', '../management/create-keyring.js')).toEqual([]);
    const typed = sourceFrom("let a: import('../jwt/a.js').A;", 'src/core/verify.ts');
    expect(wrongArrowsOf(typed).join()).toContain('folders');
    const later = sourceFrom("await import('../jwt/a.js');", 'src/core/verify.ts');
    expect(wrongArrowsOf(later).join()).toContain('folders');
  });

  it('keeps everything except the core out of the front door', () => {
    const door = closureOf(FRONT_DOOR, 'with types').map(({ path }) => path);
    expect(door.filter((path) => folderOf(path) !== 'core')).toEqual([]);
    // Makes sure that it looked at the front door at all.
    expect(door).toContain('src/core/verify.ts');
    const facade = closureOf('src/management/keyring.ts', 'with types');
    expect(facade.map(({ path }) => path)).toContain('src/management/authority.ts');
  });

  it('has no import cycle, including the examples and the benchmark', () => {
    expect(circlesAmong(sources)).toEqual([]);
    expect(circlesAmong(sourcesUnder('bench'))).toEqual([]);
    expect(circlesAmong(sourcesUnder('examples'))).toEqual([]);
  });

  it('has a console that you can copy: only its server.ts knows the platform', () => {
    const outside = sourcesUnder('examples/console').filter((source) =>
      importsOf(source).some(({ specifier }) => /^(?:\.\.\/)+(?:platform|mcp)\//.test(specifier)),
    );
    expect(outside.map(({ path }) => path)).toEqual(['examples/console/server.ts']);
  });

  it('notices a cycle', () => {
    const importing = (path: string, specifier: string) =>
      sourceFrom(`import type { A } from '${specifier}';`, path);
    const circle = [
      importing('src/a.ts', './b.js'),
      importing('src/b.ts', './c/d.js'),
      importing('src/c/d.ts', '../b.js'),
    ];
    expect(circlesAmong(circle)).toEqual(['src/b.ts → src/c/d.ts → src/b.ts']);
    expect(circlesAmong(circle.slice(0, 2))).toEqual([]);
    expect(circlesAmong([importing('src/a.ts', './a.js')])).toEqual(['src/a.ts → src/a.ts']);
  });

  it('imports packages only where they are allowed, and Node only in the command', () => {
    expect(sources.flatMap(strangePackagesOf)).toEqual([]);
    for (const path of Object.keys(PACKAGES)) {
      const pinned = sources.filter((source) => source.path.startsWith(path));
      expect(pinned.flatMap(packagesImportedBy), path).not.toEqual([]);
    }
  });

  it('keeps Node out of what a config imports', () => {
    const entry = closureOf('src/tools/cli/index.ts', 'with types');
    expect(entry.map(({ path }) => path)).toContain('src/tools/cli/define-config.ts');
    expect(entry.flatMap(packagesImportedBy)).not.toContainEqual(expect.stringMatching(/^node:/));
  });

  it('keeps jose and zod out of the command, which checks no token', () => {
    const command = closureOf('src/tools/cli/bin.ts', 'without types');
    expect(command.map(({ path }) => path)).toContain('src/keyless/trusts.ts');
    expect(command.flatMap(packagesImportedBy)).not.toContainEqual(
      expect.stringMatching(/^(?:jose|zod)$/),
    );
  });

  it('notices a package imported in the wrong place', () => {
    const importing = (path: string, specifier: string) =>
      strangePackagesOf(sourceFrom(`import { a } from '${specifier}';`, path));
    expect(importing('src/jwt/issuer.ts', 'jose')).toEqual([]);
    expect(importing('src/jwt/issuer.ts', 'zod')).toEqual(['src/jwt/issuer.ts → zod']);
    expect(importing('src/core/secret.ts', '#noble')).toEqual([]);
    expect(importing('src/core/secret.ts', '#noble-more')).toHaveLength(1);
    expect(importing('src/core/key.ts', '#noble')).toHaveLength(1);
    expect(importing('src/core/secret.ts', 'node:crypto')).toHaveLength(1);
  });

  it('has only explicit re-exports in an index', () => {
    for (const source of sources.filter(({ path }) => isIndex(path))) {
      expect(moreThanReexportsOf(source), source.path).toEqual([]);
    }
    for (const text of ["export * from './a.js';", 'export const a = 1;', "import './a.js';"]) {
      expect(moreThanReexportsOf(sourceFrom(text))).toEqual([text]);
    }
    expect(moreThanReexportsOf(sourceFrom("export { a } from './a.js';"))).toEqual([]);
  });

  it('skips type imports if only runtime code counts', () => {
    const [type, value, reexported] = importsOf(
      sourceFrom(
        `import type { A } from './a.js';
        import { b } from './b.js';
        export type { C } from './c.js';`,
      ),
    );
    expect(type).toEqual({ specifier: './a.js', typesOnly: true });
    expect(value).toEqual({ specifier: './b.js', typesOnly: false });
    expect(reexported).toEqual({ specifier: './c.js', typesOnly: true });
  });
});

describe('the changesets', () => {
  it('are readable by the changesets tool', () => {
    const front = /^---\n'keyscope': (?:patch|minor|major)\n---\n\n\S/;
    const changesets = filesUnder('.changeset', '.md');
    expect(changesets.filter((path) => !front.test(readProjectFile(path)))).toEqual([]);
  });

  it('or the changelog say what is new in this version', () => {
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    const isReleased = readProjectFile('CHANGELOG.md').includes(`\n## ${version}\n`);
    expect(isReleased || filesUnder('.changeset', '.md').length > 0).toBe(true);
  });
});
