/**
 * `npm run test:sabotage`: switches one safeguard off at a time, in a copy of the repository, and
 * runs the tests. Each must fail: a safeguard that can be taken out unnoticed is not tested. Prints
 * which test noticed. `-- <words>` takes those whose name has the words. The stores' want their
 * servers.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: source text
const MCP_AUDIENCE = "credential.kind === 'bearer' && isForAnother(credential.token, resource)";
const [CACHE, MCP, JWT] = ['test/cache.test.ts', 'test/mcp.test.ts', 'test/jwt'];
const CONSOLE = 'test/examples/console.test.ts';
const [POSTGRES, MYSQL, REDIS] = ['postgres', 'mysql', 'redis'].map(
  (name) => `test/servers/${name}.test.ts`,
);

// The safeguard, the file, and what is replaced by what. The text must stand in the file exactly
// once. Last, the tests that are run: unless named, all that need no server.
const SAFEGUARDS: readonly (readonly [string, string, string, string, (string | undefined)?])[] = [
  ['checksum', 'src/core/key.ts', "? null : 'wrong_checksum'", '? null : null'],
  [
    'seal check',
    'src/core/verify.ts',
    "if (!genuine) throw refuse('record_tampered', record.keyId);",
    '',
  ],
  [
    'result of the comparison',
    'src/core/verify.ts',
    'digests.some((digest) => equalText(record.digest, digest))',
    'digests.length > 0',
  ],
  ['exactly one match', 'src/core/verify.ts', 'if (rows.length > 1) throw', 'if (false) throw'],
  ['revoked', 'src/core/verify.ts', 'if (revokedAt !== null)', 'if (false)'],
  ['retired', 'src/core/verify.ts', 'if (retireAt !== null && now >= retireAt)', 'if (false)'],
  ['expired', 'src/core/verify.ts', 'if (expiresAt !== null && now >= expiresAt)', 'if (false)'],
  ['deadline is exclusive', 'src/core/verify.ts', 'now >= expiresAt', 'now > expiresAt'],
  [
    'entity check',
    'src/core/principal.ts',
    'if (canAddress(principal, entityUuid as string))',
    'if (true)',
  ],
  ['repeated entity', 'src/core/policy.ts', 'asked.length < 2 ? asked[0]', 'true ? asked[0]'],
  [
    'scope check',
    'src/core/policy.ts',
    'if (scopes.length > 0) requireScopes(principal, ...scopes);',
    '',
  ],
  ['authority over scopes', 'src/core/context.ts', '[...scopes, ...key', '[...key'],
  ['authority over entities', 'src/core/context.ts', '!held.entities.includes(entity)', 'false'],
  ['authority on rotation', 'src/core/rotate.ts', '  requireCeiling(by, old);\n', ''],
  [
    'no wildcard reaches reserved scopes',
    'src/core/issue.ts',
    'expect(caught.length === 0, ',
    'expect(true, ',
  ],
  [
    'reserved scopes want a justification',
    'src/core/issue.ts',
    'reserved.length === 0 || justified',
    'true',
  ],
  [
    'unknown fields are refused',
    'src/core/errors.ts',
    'if (odd !== undefined) throw',
    'if (false) throw',
  ],
  [
    'a field that is not its own is refused',
    'src/core/errors.ts',
    'if (lost === undefined) return',
    'return',
  ],
  [
    'an undefined ceiling is refused',
    'src/core/context.ts',
    "const { entityUuid, entities, scopes } = { scopes: ['*:*'], ...fields(authority, INPUT, 'authority') };",
    "const { entityUuid, entities, scopes = ['*:*'] } = fields(authority, INPUT, 'authority');",
  ],
  [
    'two credentials are refused',
    'src/core/authorization.ts',
    'if (lines.length > 1 || typeof',
    'if (typeof',
  ],
  [
    'every line of an event of AWS',
    'src/core/authorization.ts',
    'Object.keys(all).length > 0) ? all',
    'false) ? all',
  ],
  [
    'joined credentials are refused',
    'src/core/authorization.ts',
    '`^Bearer +${TOKEN68}$`',
    '`^Bearer +${TOKEN68}`',
  ],
  ['no-store on denials', 'src/core/challenge.ts', ", 'Cache-Control': 'no-store' }", ' }'],
  ['no-store on success: Express', 'examples/express/adapter.ts', "'no-store'", "'private'"],
  ['no-store on success: Fastify', 'examples/fastify/adapter.ts', "'no-store'", "'private'"],
  ['no-store on success: Hono', 'examples/hono/adapter.ts', "'no-store'", "'private'"],
  ['verification before rotation', 'src/core/rotate.ts', '  requireLive(context, old);\n', ''],
  [
    'the conditional write decides',
    'src/core/rotate.ts',
    'if (!(await store.markEnded(keyId, { retireAt }))) {',
    'await store.markEnded(keyId, { retireAt });\n  if (false) {',
  ],
  [
    'another entity’s key is not found',
    'src/core/context.ts',
    'row?.entityUuid === by.entityUuid',
    'row !== null',
  ],
  [
    'a stored * refuses the record',
    'src/core/record.ts',
    'isList(list, MAX_SCOPES, isScope)',
    'isList(list, MAX_SCOPES, isText)',
  ],
  [
    'rows hold UUIDs',
    'src/core/record.ts',
    'isList(list, MAX_ENTITIES, isUuid)',
    'isList(list, MAX_ENTITIES, isText)',
  ],
  [
    'a clock that throws is broken',
    'src/core/context.ts',
    "throw new StoreError('the clock failed: see cause', cause);",
    'throw cause;',
  ],
  [
    'scopes that the catalog lost grant nothing',
    'src/core/principal.ts',
    'scopes.filter((scope) => catalog.has(scope))',
    'scopes',
  ],
  [
    'a store in time',
    'src/core/context.ts',
    'reject(broken(`did not answer within ${timeoutMs} ms`))',
    'resolve([])',
  ],
  [
    'a clock that answers',
    'src/core/context.ts',
    'Number.isFinite(time) && Math.abs(time) <= 8.64e15',
    'true',
  ],
  [
    'single flight',
    'src/cache/cache-store.ts',
    'const flight = flights.get(name);',
    'const flight = false as never;',
    CACHE,
  ],
  [
    'generation check',
    'src/cache/cache-store.ts',
    '(changed.get(name) ?? 0) > entry.generation',
    'false',
    CACHE,
  ],
  [
    'negative bound',
    'src/cache/cache-store.ts',
    'put(absent, name, entry, MAX_ABSENT)',
    'put(absent, name, entry, 1e9)',
    CACHE,
  ],
  [
    'trigger: SQLite',
    'src/stores/schema/migrations.ts',
    '  expires_at, rotated_from\nON keyscope_keys\nBEGIN',
    '  expires_at, rotated_from\nON keyscope_keys\nWHEN false\nBEGIN',
  ],
  [
    'trigger: SQLite, a rowid',
    'src/stores/schema/migrations.ts',
    'WHEN NEW._rowid_ IS NOT OLD._rowid_',
    'WHEN false',
  ],
  [
    'trigger: SQLite, a rowid that is taken',
    'src/stores/schema/migrations.ts',
    ' OR _rowid_ = NEW._rowid_',
    '',
  ],
  [
    'trigger: PostgreSQL',
    'src/stores/schema/migrations.ts',
    'CREATE TRIGGER keyscope_keys_update AFTER UPDATE ON keyscope_keys FOR EACH ROW\nWHEN (\n',
    'CREATE TRIGGER keyscope_keys_update AFTER UPDATE ON keyscope_keys FOR EACH ROW\nWHEN ( false AND\n',
    POSTGRES,
  ],
  [
    'trigger: MySQL',
    'src/stores/schema/migrations.ts',
    'SET NEW.key_id = IF(\n  NEW.key_id <=> OLD.key_id',
    'SET NEW.key_id = IF(\n  true OR NEW.key_id <=> OLD.key_id',
    MYSQL,
  ],
  [
    'binary collation: MySQL',
    'src/stores/schema/migrations.ts',
    'digest VARBINARY(255) NOT NULL UNIQUE',
    'digest VARCHAR(255) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL UNIQUE',
    MYSQL,
  ],
  [
    'conditional update: SQLite',
    'src/stores/sqlite/statements.ts',
    'SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL',
    'SET revoked_at = ? WHERE key_id = ?',
  ],
  [
    'conditional update: PostgreSQL',
    'src/stores/postgres/store.ts',
    'WHERE key_id = $1::text::uuid AND retire_at IS NULL AND revoked_at IS NULL AND ',
    'WHERE key_id = $1::text::uuid AND ',
    POSTGRES,
  ],
  [
    'conditional update: MySQL',
    'src/stores/mysql/store.ts',
    'WHERE key_id = ? AND retire_at IS NULL AND revoked_at IS NULL',
    'WHERE key_id = ?',
    MYSQL,
  ],
  [
    'reads in a transaction of somebody else: SQLite',
    'src/stores/sqlite/store.ts',
    'if (db.isTransaction || db.inTransaction)',
    'if (false)',
    'test/stores/sqlite.test.ts',
  ],
  [
    'a Client that cannot tell of transactions: PostgreSQL',
    'src/stores/postgres/store.ts',
    'expect(!older, ',
    'expect(true, ',
    POSTGRES,
  ],
  [
    'writes that meet: PostgreSQL',
    'src/stores/postgres/store.ts',
    "new Set(['40001', '40P01'])",
    'new Set()',
    POSTGRES,
  ],
  [
    'two services on one server: Redis',
    'src/stores/redis/store.ts',
    'expect(!ignored, ',
    'expect(true, ',
    REDIS,
  ],
  [
    'one spelling of a field: Redis',
    'src/stores/redis/store.ts',
    'JSON.stringify(value) === json',
    'true',
    REDIS,
  ],
  ['conditional update: Redis', 'src/stores/redis/store.ts', "revokedAt ~= 'null' or ", '', REDIS],
  ['MCP: a token for another resource', 'src/mcp/gate.ts', MCP_AUDIENCE, 'false', MCP],
  [
    'MCP: a session of another key',
    'src/mcp/gate.ts',
    '(await door.sessionOwner(session)) !== sessionOwner',
    'false',
    MCP,
  ],
  [
    'MCP: the tool guards itself',
    'src/mcp/gate.ts',
    'policy.authorize(principal, tool, { entityUuid })',
    'principal.entityUuid',
    MCP,
  ],
  [
    'MCP: nothing that was not judged',
    'src/mcp/gate.ts',
    'parsedBody === undefined || (',
    'false || (',
    MCP,
  ],
  [
    'MCP: no length but one that holds',
    'src/mcp/gate.ts',
    '!coded && Number.parseInt',
    'Number.parseInt',
    MCP,
  ],
  [
    'tokens: nothing wider than the key',
    'src/jwt/issuer.ts',
    '!asked.every((scope) => granted.includes(scope))',
    'false',
    JWT,
  ],
  ['tokens: none exchanged again', 'src/jwt/issuer.ts', "principal.via !== 'key'", 'false', JWT],
  [
    'tokens: no longer than the key',
    'src/jwt/issuer.ts',
    'Math.min(iat + ttl, end)',
    'iat + ttl',
    JWT,
  ],
  [
    'tokens: the header',
    'src/jwt/issuer.ts',
    '    if (!holdsAll(HEADER_CHECKS, header)) throw refused();\n',
    '',
    JWT,
  ],
  [
    'console: forms of other sites',
    'examples/console/server.ts',
    'app.use(csrf({ origin:',
    'void (({ origin:',
    CONSOLE,
  ],
  [
    'console: a form makes one key',
    'examples/console/server.ts',
    "if (session.forms.delete(field(form, 'once')))",
    '',
    CONSOLE,
  ],
  [
    'console: who only looks on',
    'examples/console/server.ts',
    'if (authority === null)',
    'if (false)',
    CONSOLE,
  ],
  [
    'console: the session at sign-out',
    'examples/console/server.ts',
    '    end(c);\n    deleteCookie',
    '    deleteCookie',
    CONSOLE,
  ],
  [
    'console: users who are deleted',
    'examples/console/server.ts',
    'if (!session || !member)',
    'if (!session)',
    CONSOLE,
  ],
  [
    'console: whoever guesses waits',
    'examples/console/server.ts',
    'const seconds = throttle.wait(address, email);',
    'const seconds = 0;',
    CONSOLE,
  ],
  [
    'console: whoever is over names no more emails',
    'examples/console/server.ts',
    'addresses.count(address) || pairs.count(pair(address, email))',
    'Math.max(addresses.count(address), pairs.count(pair(address, email)))',
    CONSOLE,
  ],
  [
    'console: a form that is cut short',
    'examples/console/server.ts',
    'throw ours ? error',
    'throw true ? error',
    CONSOLE,
  ],
  [
    'console: what a role hands out',
    'examples/platform/accounts.ts',
    'return { user, entityUuid, authority: scopes && { entityUuid, scopes } };',
    "return { user, entityUuid, authority: scopes && { entityUuid, scopes: ['*:*'] } };",
    CONSOLE,
  ],
  [
    'tokens: the key behind one',
    'src/core/verify.ts',
    'const parent = requireLive(context, readRow(row ?? raise(',
    'const parent = ((_: any, record: any) => createPrincipal(record, "key", context.known))(context, readRow(row ?? raise(',
  ],
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: source text

const root = resolve(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'keyscope-sabotage-'));
const unnoticed: string[] = [];
let tried = 0;

/**
 * Runs tests in the copy; the first that fails, if any. What is taken out makes the compiler
 * complain, not the tests.
 */
function failing(tests: string): string | undefined {
  const args = ['run', '--bail=1', '--reporter=dot', tests];
  const options = { cwd: copy, env: { ...process.env, NO_COLOR: '1' }, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(
    join(root, 'node_modules/.bin/vitest'),
    args,
    options,
  );
  const found = `${stderr}\n${stdout}`.match(/FAIL\s+(.+)/)?.[1];
  if (status !== 0 && found === undefined) throw new Error(`the tests did not run: ${stderr}`);
  return status === 0 ? undefined : found;
}

try {
  // The benchmark too, whose peers are no part of it: a test that could not load would notice
  // everything.
  const parts = [
    'src',
    'test',
    'examples',
    'bench',
    'package.json',
    'tsconfig.json',
    'vitest.config.ts',
    'README.md',
  ];
  const filter = (path: string) => !path.endsWith('node_modules');
  for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true, filter });
  // They read the repository itself, and none of these.
  for (const name of ['architecture', 'supply-chain']) rmSync(join(copy, `test/${name}.test.ts`));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const only = process.argv[2] ?? '';
  for (const [name, file, text] of SAFEGUARDS) {
    const found = readFileSync(join(copy, file), 'utf8').split(text).length - 1;
    if (found !== 1)
      throw new Error(`${name}: stands ${found} times in ${file}, not once: ${text}`);
  }
  // The control: with nothing switched off, nothing fails.
  if (only === '') {
    const noticed = failing('--project=!servers');
    if (noticed !== undefined)
      throw new Error(`a test fails with nothing switched off: ${noticed}`);
  }
  for (const [name, file, text, replacement, tests] of SAFEGUARDS.filter(([named]) =>
    named.includes(only),
  )) {
    tried++;
    const path = join(copy, file);
    const source = readFileSync(path, 'utf8');
    writeFileSync(path, source.split(text).join(replacement));
    const noticed = failing(tests ?? '--project=!servers');
    writeFileSync(path, source);
    if (noticed === undefined) unnoticed.push(name);
    console.log(
      `${noticed === undefined ? 'UNNOTICED' : 'noticed  '}  ${name.padEnd(44)} ${noticed ?? ''}`,
    );
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`\n${tried - unnoticed.length} of ${tried} noticed`);
if (unnoticed.length > 0) process.exit(1);
