/**
 * Who imports whom, proved from the source itself, type imports included: the core stands on the
 * ground, the wings stand on it, no arrow points up and none leads in a circle. The tables are the
 * layout; whoever moves a file moves its line here.
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
  sourceOf,
  sourcesUnder,
} from '../support/source.ts';

// ── The tables ───────────────────────────────────────────────────────────────────────────────────

/** Each folder of `src`, and which others its files may import. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  text: ['core'],
  // What the build for Node has in place of a package.
  native: [],
  // What several wings share, and nothing that decides who is let in.
  common: ['core'],
  jwt: ['core'],
  mcp: ['core', 'text', 'common'],
  schemas: ['core', 'text'],
  cache: ['core', 'common'],
  reports: ['core', 'common'],
  openapi: ['core', 'text', 'common'],
  leaks: ['core', 'text', 'common'],
  lock: ['core', 'text', 'common'],
  stores: ['core', 'common'],
  // Reads requests with the schemas, so that there is one set of rules for JSON.
  admin: ['core', 'text', 'common', 'schemas'],
  testing: ['core', 'text', 'stores'],
  // The command: it runs on Node alone, and nothing imports it.
  cli: ['core', 'text', 'common', 'lock', 'reports', 'stores'],
};

/** Inside the core a file imports only files of lower ranks. */
const RANKS: readonly (readonly string[])[] = [
  // vocabulary
  ['uuid', 'bytes', 'thenable', 'workers', 'encoding'],
  ['errors'],
  ['input'],
  // text and algebra, pure
  ['key', 'scope'],
  // edge and secrets
  ['request', 'authorization', 'secret', 'events'],
  // shapes
  ['record', 'principal', 'catalog'],
  ['seal', 'info'],
  // contracts
  ['store', 'tokens', 'policy'],
  // what operations share
  ['invalidation', 'outage', 'authority'],
  ['usage'],
  ['context'],
  // operations: the front door
  ['verify'],
  ['verify-token'],
  ['authenticate'],
  ['admit'],
  // operations: the back office
  ['find', 'mint', 'mark', 'denials'],
  ['issue', 'revoke', 'suspend', 'withdraw', 'list', 'identify'],
  ['rotate'],
  // how it is put together
  ['keyring'],
];

const FRONT_DOOR = 'src/core/admit.ts';

/**
 * Who makes, changes, ends and lists keys. Nothing of it decides who is let in, so nothing of it is
 * read with what does.
 */
const BACK_OFFICE: readonly string[] = [
  'authority',
  'denials',
  'find',
  'identify',
  'info',
  'issue',
  'keyring',
  'list',
  'mark',
  'mint',
  'revoke',
  'rotate',
  'suspend',
  'withdraw',
];

/** A file, or a folder with all that is in it, and the packages that it may import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'src/core/secret.ts': ['@noble/hashes'],
  'src/jwt/': ['jose'],
  'src/schemas/': ['zod'],
  'src/cli/': [
    // Runs git: for scans of a history, and for the lock of a commit.
    'node:child_process',
    'node:console',
    'node:crypto',
    'node:events',
    'node:fs',
    'node:module',
    'node:os',
    'node:path',
    'node:readline',
    'node:stream',
    'node:url',
    'node:util',
  ],
};

/** Adapters call the facade, so what tests them has to make one; the command is given one. */
const FACADE_IN = /^src\/(?:testing|cli)\//;

// ── The rules ────────────────────────────────────────────────────────────────────────────────────

const rankOf = (path: string): number => {
  const name = /^src\/core\/(.+)\.ts$/.exec(path)?.[1];
  return RANKS.findIndex((names) => name !== undefined && names.includes(name));
};

/** `core` of `src/core/admit.ts`; of `src/index.ts`, which is in none, an empty text. */
const folderOf = (path: string): string => /^src\/([^/]+)\//.exec(path)?.[1] ?? '';

const isIndex = (path: string): boolean => /(?:^|\/)index\.ts$/.test(path);

/** The facade's own table of contents shows the core and its texts, and nothing of a wing. */
function foldersFor(path: string): readonly string[] {
  const folder = folderOf(path);
  return folder === '' ? ['core', 'text'] : [folder, ...(FOLDERS[folder] ?? [])];
}

function wrongArrowsOf(source: Source): readonly string[] {
  const wrong: string[] = [];
  for (const target of filesImportedBy(source)) {
    const arrow = `${source.path} → ${target}`;
    if (!foldersFor(source.path).includes(folderOf(target)))
      wrong.push(`${arrow}: against folders`);
    if (isIndex(target)) wrong.push(`${arrow}: an index`);
    if (target === 'src/core/keyring.ts' && !mayImportFacade(source.path)) {
      wrong.push(`${arrow}: the facade`);
    }
    const upward = folderOf(source.path) === 'core' && rankOf(target) >= rankOf(source.path);
    if (upward) wrong.push(`${arrow}: not of a lower rank`);
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

/** What an index has beside explicit re-exports. */
function moreThanReexportsOf(source: Source): readonly string[] {
  return source.tree.statements
    .map((statement) => statement.getText())
    .filter((text) => !/^export (?:type )?\{[^}]*\} from '[^']+';$/.test(text));
}

const backOfficeAmong = (sources: readonly Source[]): readonly string[] =>
  sources
    .map(({ path }) => path)
    .filter((path) => BACK_OFFICE.some((name) => path === `src/core/${name}.ts`));

// ── The tests ────────────────────────────────────────────────────────────────────────────────────

const sources = sourcesUnder('src');
const paths = sources.map(({ path }) => path);
const core = paths.filter((path) => folderOf(path) === 'core');

describe('layout', () => {
  it('knows every folder of src', () => {
    const standing = new Set(paths.map(folderOf).filter((folder) => folder !== ''));
    expect([...standing].sort()).toEqual(Object.keys(FOLDERS).sort());
    expect(paths.filter((path) => folderOf(path) === '')).toEqual(['src/index.ts']);
  });

  it('gives every file of the core one rank, and no rank to what does not exist', () => {
    expect(RANKS.flatMap((names) => names.map((name) => `src/core/${name}.ts`)).sort()).toEqual(
      core,
    );
  });

  it('lets arrows point down only', () => {
    expect(sources.flatMap(wrongArrowsOf)).toEqual([]);
  });

  it('notices an arrow that points up or across, at an index, or at the facade', () => {
    const importing = (path: string, specifier: string) =>
      wrongArrowsOf(sourceFrom(`import type { A } from '${specifier}';`, path));
    expect(importing('src/core/admit.ts', './verify.js')).toEqual([]);
    expect(importing('src/core/verify.ts', './admit.js').join()).toContain('lower rank');
    expect(importing('src/core/nowhere.ts', './verify.js').join()).toContain('lower rank');
    expect(importing('src/core/verify.ts', '../cache/store.js').join()).toContain('folders');
    expect(importing('src/cache/store.ts', '../core/store.js')).toEqual([]);
    expect(importing('src/cache/store.ts', '../stores/rows.js').join()).toContain('folders');
    expect(importing('src/mcp/gate.ts', '../../bench/run.ts').join()).toContain('folders');
    expect(importing('src/core/admit.ts', '../text/challenge.js').join()).toContain('folders');
    expect(importing('src/mcp/gate.ts', '../text/challenge.js')).toEqual([]);
    expect(importing('src/reports/peppers.ts', '../core/store.js')).toEqual([]);
    expect(importing('src/reports/peppers.ts', '../stores/rows.js').join()).toContain('folders');
    expect(importing('src/jwt/issuer.ts', './index.js').join()).toContain('an index');
    expect(importing('src/jwt/issuer.ts', '../index.js').join()).toContain('an index');
    expect(importing('src/jwt/issuer.ts', '../core/keyring.js').join()).toContain('the facade');
    expect(importing('src/testing/contract.ts', '../core/keyring.js')).toEqual([]);
    const typed = sourceFrom("let a: import('../jwt/a.js').A;", 'src/core/verify.ts');
    expect(wrongArrowsOf(typed).join()).toContain('folders');
    const later = sourceFrom("await import('../jwt/a.js');", 'src/core/verify.ts');
    expect(wrongArrowsOf(later).join()).toContain('folders');
  });

  it('keeps the back office out of the front door', () => {
    const door = closureOf(FRONT_DOOR, 'with types');
    expect(backOfficeAmong(door)).toEqual([]);
    expect(backOfficeAmong(sources)).toHaveLength(BACK_OFFICE.length);
    // Of something: what is looked through is the door, and what is kept out exists.
    expect(door.map(({ path }) => path)).toContain('src/core/verify.ts');
    const facade = closureOf('src/core/keyring.ts', 'with types');
    expect(backOfficeAmong(facade)).toHaveLength(BACK_OFFICE.length);
  });

  it('has no circle, in the examples and the benchmark neither', () => {
    expect(circlesAmong(sources)).toEqual([]);
    expect(circlesAmong(sourcesUnder('bench'))).toEqual([]);
    expect(circlesAmong(sourcesUnder('examples'))).toEqual([]);
  });

  it('has a console that can be copied: its server.ts alone knows the platform', () => {
    const outside = sourcesUnder('examples/console').filter((source) =>
      importsOf(source).some(({ specifier }) => /^(?:\.\.\/)+(?:platform|mcp)\//.test(specifier)),
    );
    expect(outside.map(({ path }) => path)).toEqual(['examples/console/server.ts']);
  });

  it('notices a circle', () => {
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

  it('imports no package but where it is pinned, and nothing of node but in the command', () => {
    expect(sources.flatMap(strangePackagesOf)).toEqual([]);
    for (const path of Object.keys(PACKAGES)) {
      const pinned = sources.filter((source) => source.path.startsWith(path));
      expect(pinned.flatMap(packagesImportedBy), path).not.toEqual([]);
    }
  });

  it('keeps Node out of what a config imports', () => {
    const entry = closureOf('src/cli/index.ts', 'with types');
    expect(entry.map(({ path }) => path)).toContain('src/cli/define-config.ts');
    expect(entry.flatMap(packagesImportedBy)).not.toContainEqual(expect.stringMatching(/^node:/));
  });

  it('notices a package that has no business where it is', () => {
    const importing = (path: string, specifier: string) =>
      strangePackagesOf(sourceFrom(`import { a } from '${specifier}';`, path));
    expect(importing('src/jwt/issuer.ts', 'jose')).toEqual([]);
    expect(importing('src/jwt/issuer.ts', 'zod')).toEqual(['src/jwt/issuer.ts → zod']);
    expect(importing('src/core/secret.ts', '@noble/hashes/sha2.js')).toEqual([]);
    expect(importing('src/core/secret.ts', '@noble/hashes-more')).toHaveLength(1);
    expect(importing('src/core/key.ts', '@noble/hashes/sha2.js')).toHaveLength(1);
    expect(importing('src/core/secret.ts', 'node:crypto')).toHaveLength(1);
  });

  it('has explicit re-exports in an index, and nothing else', () => {
    for (const source of sources.filter(({ path }) => isIndex(path))) {
      expect(moreThanReexportsOf(source), source.path).toEqual([]);
    }
    for (const text of ["export * from './a.js';", 'export const a = 1;', "import './a.js';"]) {
      expect(moreThanReexportsOf(sourceFrom(text))).toEqual([text]);
    }
    expect(moreThanReexportsOf(sourceFrom("export { a } from './a.js';"))).toEqual([]);
  });

  it('reads types apart where only what runs counts', () => {
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

describe('what stands beside the source', () => {
  it('has a page that tells auditors to read the core and its texts, from the ground up', () => {
    const chapter = readProjectFile('docs/auditing.md');
    const names = [...(chapter ?? '').matchAll(/`([a-z-]+)\.ts`/g)].map(([, name = '']) => name);
    const read = [...core, ...paths.filter((path) => folderOf(path) === 'text'), 'src/index.ts'];
    const order = names.map((name) => read.find((path) => path.endsWith(`/${name}.ts`)) ?? name);
    expect([...order].sort()).toEqual([...read].sort());
    for (const [index, path] of order.entries()) {
      const before = order.slice(0, index);
      expect(before, path).toEqual(expect.arrayContaining([...filesImportedBy(sourceOf(path))]));
    }
  });

  it('has changesets that changesets can read', () => {
    const changesets = filesUnder('.changeset', '.md');
    const front = /^---\n'keyscope': (?:patch|minor|major)\n---\n\n\S/;
    expect(changesets.length).toBeGreaterThan(0);
    expect(changesets.filter((path) => !front.test(readProjectFile(path)))).toEqual([]);
  });
});
