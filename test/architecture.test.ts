/**
 * The layout and the budgets, proved from the source itself: who may import whom and which package,
 * how much code the core is, and which names each entry exports. The numbers are printed, so that a
 * run shows them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { afterAll, describe, expect, it } from 'vitest';

const root = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const manifest = JSON.parse(read('package.json'));

// A file imports only files of lower lines, types included.
const RANKS = [
  ['uuid', 'bytes'], // vocabulary
  ['errors', 'input'],
  ['key', 'scope'], // text and algebra
  ['request', 'authorization', 'challenge', 'secret'], // edge and secrets
  ['record', 'principal', 'catalog'], // shapes
  ['store', 'tokens', 'policy', 'me'], // contracts
  ['invalidation', 'outage', 'usage'],
  ['context'], // what the operations stand on
  ['issue', 'verify', 'revoke', 'list'], // operations
  ['rotate', 'authenticate'], // which verify
  ['admit'],
  ['keyring'], // facade
  ['index'], // table of contents
];
const CORE = RANKS.flat().map((name) => (name === 'index' ? name : `core/${name}`));

// Who may import which package, and nobody else may import any.
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'core/secret': ['@noble/hashes'],
  'schemas/issue-input': ['zod'],
  'jwt/issuer': ['jose'],
};

const files = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => path.slice(0, -'.ts'.length))
  .sort();

const parse = (name: string) =>
  ts.createSourceFile(`${name}.ts`, read(`src/${name}.ts`), ts.ScriptTarget.Latest, true);
const sources = new Map(files.map((name) => [name, parse(name)]));

function* nodes(node: ts.Node): Generator<ts.Node> {
  yield node;
  for (const child of node.getChildren()) yield* nodes(child);
}

function importsOf(name: string): string[] {
  const found: string[] = [];
  for (const node of nodes(sources.get(name) as ts.SourceFile)) {
    const specifier =
      ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
        ? node.moduleSpecifier
        : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
          ? node.arguments[0]
          : ts.isImportTypeNode(node)
            ? node.argument
            : undefined;
    if (specifier !== undefined) found.push(specifier.getText().slice(1, -1));
  }
  return found;
}

const local = (name: string) =>
  importsOf(name)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) =>
      new URL(specifier, `file:///${name}`).pathname.slice(1).replace(/\.js$/, ''),
    );
const packages = (name: string) =>
  importsOf(name).filter((specifier) => !specifier.startsWith('.'));

/**
 * What is left once comments and blank lines are taken away; a comment behind code leaves the code.
 */
const codeLines = (text: string): string[] =>
  text.split('\n').filter((line) => !/^\s*(?:\/\/|\/?\*|$)/.test(line));

const figures: Record<string, string | number> = {};
afterAll(() => console.log('\nthe numbers of this build\n', figures));

describe('layout', () => {
  it('gives every file of the core a rank, and every rank existing files', () => {
    const core = files.filter((name) => !name.includes('/') || name.startsWith('core/'));
    expect(core).toEqual([...CORE].sort());
  });

  it.each(CORE)('%s imports only lower ranks', (name) => {
    const rank = (file: string) =>
      RANKS.findIndex((names) => names.includes(file.replace('core/', '')));
    expect(local(name).filter((file) => rank(file) < 0 || rank(file) >= rank(name))).toEqual([]);
  });

  it('keeps the core free of the optional entries, and those free of the facade', () => {
    const optional = files.filter((name) => !CORE.includes(name));
    const reaching = optional.filter((name) =>
      local(name).some((file) => file === 'index' || file === 'core/keyring'),
    );
    // With one exception: adapters call the facade, so what tests them has to make one. It is for
    // tests alone.
    expect(reaching).toEqual(['testing/adapter-contract']);
    expect(CORE.flatMap(local).filter((file) => optional.includes(file))).toEqual([]);
  });

  it.each(files)('%s imports no package but the pinned ones, and no node:*', (name) => {
    const allowed = PACKAGES[name] ?? [];
    const foreign = packages(name).filter(
      (specifier) => !allowed.some((p) => `${specifier}/`.startsWith(`${p}/`)),
    );
    expect(foreign).toEqual([]);
  });

  it('is what the README tells auditors to read: the whole core, and nothing before what it rests on', () => {
    const chapter = read('README.md').split('## For auditors')[1]?.split('\n## ')[0] ?? '';
    const order = [...chapter.matchAll(/`([a-z]+)\.ts`/g)].map(([, name]) =>
      name === 'index' ? name : `core/${name}`,
    );
    expect([...order].sort()).toEqual([...CORE].sort());
    for (const [i, name] of order.entries()) {
      expect(order.slice(0, i), name).toEqual(expect.arrayContaining(local(name)));
    }
  });

  it('has changesets that changesets can read', () => {
    const folder = new URL('.changeset/', root);
    const names = readdirSync(folder).filter(
      (name) => name.endsWith('.md') && name !== 'README.md',
    );
    const front = /^---\n'keyscope': (?:patch|minor|major)\n---\n\n\S/;
    expect(names.filter((name) => !front.test(read(`.changeset/${name}`)))).toEqual([]);
  });

  it('has no cycle', () => {
    const cycles: string[][] = [];
    const left = new Set<string>();
    const walk = (name: string, path: string[]): void => {
      if (path.includes(name)) cycles.push([...path, name]);
      else if (!left.has(name)) for (const next of local(name)) walk(next, [...path, name]);
      left.add(name);
    };
    for (const name of files.filter((file) => !CORE.includes(file))) walk(name, []);
    figures['import cycles'] = cycles.length;
    expect(cycles).toEqual([]);
  });
});

describe('budgets', () => {
  it('keeps every function short', () => {
    let longest = { lines: 0, name: '' };
    const long: string[] = [];
    for (const [file, source] of sources) {
      for (const node of nodes(source)) {
        if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) continue;
        const name = `${file}.ts ${node.name?.getText() ?? '(anonymous)'}`;
        // Comments count: a function is to be seen whole.
        const lines = node.getText().split('\n').length;
        if (lines > longest.lines) longest = { lines, name };
        if (lines > 85) long.push(`${name}: ${lines}`);
      }
    }
    figures['longest function'] =
      `${longest.lines} lines (budget 85 until each is split; 45 then): ${longest.name}`;
    expect(long).toEqual([]);
  });

  it('has no any, no non-null assertion, no suppressed error and no TODO', () => {
    const found: string[] = [];
    for (const [file, source] of sources) {
      for (const node of nodes(source)) {
        const bad = node.kind === ts.SyntaxKind.AnyKeyword || ts.isNonNullExpression(node);
        if (bad) found.push(`${file}: ${node.parent.getText().slice(0, 60)}`);
      }
      const words = source.text.match(/@ts-(?:ignore|nocheck|expect-error)|TODO|FIXME|XXX/g) ?? [];
      found.push(...words.map((word) => `${file}: ${word}`));
    }
    figures['any, !, ts-ignore, TODO in src'] = found.length;
    expect(found).toEqual([]);
  });

  it('folds no case and changes no text but where that is meant, and draws nothing of a weak source', () => {
    const NAMES = /^(?:normalize|to(?:Locale)?(?:Lower|Upper)Case|localeCompare|random)$/;
    const found = [...sources]
      .filter(([file]) => !file.startsWith('testing/'))
      .flatMap(([file, source]) => {
        const asked = [...nodes(source)].filter((node) => ts.isPropertyAccessExpression(node));
        const names = asked.map((node) => `${node.expression.getText()}.${node.name.text}`);
        return names
          .filter((name) => NAMES.test(name.replace(/.*\./s, '')))
          .map((name) => `${file}: ${name}`);
      });
    expect(found).toEqual([
      'core/input: value.normalize', // Names and reasons, for people.
      'core/request: name.toLowerCase', // A header's name: no letter beyond ASCII becomes one of its.
      'schemas/issue-input: value.normalize',
      'schemas/issue-input: value.normalize',
      'stores/postgres/store: Math.random', // How long it waits before it asks again.
    ]);
  });

  it('spends 25 to 40 % of its lines on comments', () => {
    let comment = 0;
    let all = 0;
    for (const source of sources.values()) {
      const filled = source.text.split('\n').filter((line) => line.trim() !== '').length;
      all += filled;
      comment += filled - codeLines(source.text).length;
    }
    const share = Math.round((100 * comment) / all);
    figures['comment lines in src'] = `${share} %`;
    expect(share).toBeGreaterThanOrEqual(25);
    expect(share).toBeLessThanOrEqual(40);
  });

  it('has three runtime dependencies, none of which has dependencies of its own', () => {
    const names = Object.keys(manifest.dependencies);
    expect(names).toEqual(['@noble/hashes', 'jose', 'zod']);
    const own = names.flatMap((name) =>
      Object.keys(JSON.parse(read(`node_modules/${name}/package.json`)).dependencies ?? {}),
    );
    expect(own).toEqual([]);
    figures['runtime dependencies'] = `${names.join(', ')}; theirs: ${own.length}`;
  });
});

const MCP = [
  'allowedTools',
  'createMcpGate',
  'createMcpVerifier',
  'guardTool',
  'principalOf',
].concat(['protectedResourceMetadata', 'toAuthInfo']);

const SCHEMAS = [
  'issueInputJsonSchema',
  'issueInputJsonSchemaFor',
  'issueInputSchema',
  'issueInputSchemaFor',
].concat([
  'keyInfoJsonSchema',
  'keyInfoSchema',
  'listInputJsonSchema',
  'listInputSchema',
  'meJsonSchema',
  'meSchema',
]);

// Growth is deliberate: a name that is added, renamed or lost shows here first.
describe('exports', () => {
  const names = async (entry: string) => {
    const url = new URL(`src/${entry}.ts`, root).href;
    return Object.keys(await import(url)).sort();
  };

  it('of keyscope', async () => {
    expect(await names('index')).toMatchInlineSnapshot(`
      [
        "AccessError",
        "StoreError",
        "canAddress",
        "coversScopes",
        "createKeyring",
        "definePolicy",
        "defineScopes",
        "digestBackend",
        "digestKey",
        "equalScopes",
        "formatScopes",
        "generateKey",
        "hasScopes",
        "intersectScopes",
        "isAccessError",
        "isKey",
        "isStoreError",
        "keyPattern",
        "normalizeScopes",
        "parseAuthorization",
        "parseKey",
        "parseScopes",
        "redactKeys",
        "requireEntity",
        "requireScopes",
        "toMe",
        "toResponse",
        "unionScopes",
      ]
    `);
  });

  it.each([
    ['cache', ['cacheStore']],
    ['mcp', MCP],
    ['schemas', SCHEMAS],
    ['jwt', ['ExchangeError', 'createTokenIssuer', 'createTokenVerifier', 'isExchangeError']],
    ['testing', ['adapterContract', 'storeContract', 'testPrincipal']],
    ['stores/memory', ['memoryStore']],
    ['stores/sqlite', ['migrate', 'sqliteStore']],
    ['stores/redis', ['migrate', 'redisInvalidation', 'redisStore']],
    ['stores/mysql', ['migrate', 'mysqlStore']],
    ['stores/postgres', ['migrate', 'postgresInvalidation', 'postgresStore']],
    ['stores/d1', ['d1Store', 'migrate']],
    ['stores/schema', ['MIGRATIONS', 'schemaSql']],
  ])('of keyscope/%s', async (entry, expected) => {
    expect(await names(`${entry}/index`)).toEqual(expected);
  });

  it('has an entry in package.json for every index, and no other', () => {
    const standing = files
      .filter((name) => /(?:^|\/)index$/.test(name))
      .map((name) => `/${name}`.replace(/\/index$/, ''));
    const entries = Object.keys(manifest.exports).filter((entry) => entry !== './package.json');
    expect(entries.sort()).toEqual(standing.map((name) => `.${name}`).sort());
  });
});
