/**
 * The package's exports, values and types. An added, renamed or lost name fails here first, so that
 * every change is deliberate.
 */
import { describe, expect, it } from 'vitest';
import { declarationsOf, exportsOf, inferredIn, readEntries } from '../support/entries.ts';
import { filesUnder, sourceFrom, sourceOf } from '../support/source.ts';

interface Names {
  readonly values: readonly string[];
  readonly types: readonly string[];
}

const EXPORTS: Readonly<Record<string, Names>> = {
  './admin': {
    values: ['authorityFrom', 'createKeyAdmin', 'keyAdminOpenApi'],
    types: [
      'AdminKeyring',
      'AuthorityFromOptions',
      'AuthorityReader',
      'KeyAdmin',
      'KeyAdminInput',
      'KeyAdminOpenApi',
      'KeyAdminOpenApiOptions',
      'KeyAdminOperation',
      'KeyAdminOptions',
    ],
  },
  './cache': {
    values: ['cacheStore', 'pollingInvalidation'],
    types: [
      'CacheOptions',
      'CachedStore',
      'ChannelState',
      'Invalidation',
      'LookupCache',
      'PollingInvalidation',
      'PollingOptions',
    ],
  },
  '.': {
    values: [
      'AccessError',
      'InputError',
      'StoreError',
      'canAddress',
      'causeOf',
      'coversScopes',
      'createKeyring',
      'defineGuard',
      'definePolicy',
      'defineScopes',
      'digestBackend',
      'digestKey',
      'equalScopes',
      'formatScopes',
      'generateKey',
      'hasScopes',
      'intersectScopes',
      'isAccessError',
      'isInputError',
      'isKey',
      'isStoreError',
      'keyPattern',
      'normalizeScopes',
      'parseAuthorization',
      'parseKey',
      'parseScopes',
      'redactKeys',
      'requireEntity',
      'requireScopes',
      'toMe',
      'toResponse',
      'unionScopes',
    ],
    types: [
      'AccessErrorCode',
      'AddressedKey',
      'AddressingInput',
      'Admission',
      'AdmitInput',
      'Admitting',
      'AuthenticateOptions',
      'Authenticator',
      'Authority',
      'Authorization',
      'Awaitable',
      'CallOptions',
      'Catalog',
      'ChallengeOptions',
      'ChangedKey',
      'ChangedQuery',
      'Clock',
      'DamagedKey',
      'DenialReason',
      'DenialResponse',
      'ErrorListener',
      'EventContext',
      'EventListener',
      'ExpiringQuery',
      'GrantAuthority',
      'Guard',
      'GuardOptions',
      'GuardReaders',
      'IdentifyOptions',
      'IssueInput',
      'IssuedKey',
      'KeyInfo',
      'KeyParts',
      'KeyRecord',
      'KeyState',
      'KeyStore',
      'Keyring',
      'KeyringEvent',
      'KeyringOptions',
      'ListInput',
      'ListPage',
      'ListPosition',
      'ListQuery',
      'LiveKey',
      'ManagementAction',
      'Mark',
      'Me',
      'OwnInput',
      'PatternOf',
      'Pepper',
      'Peppers',
      'Policy',
      'Principal',
      'RandomBytes',
      'RequestLike',
      'ResumeMark',
      'RetireMark',
      'RevokeMark',
      'RotateInput',
      'SchemeSummary',
      'ScopeDefinition',
      'ScopeOf',
      'Slice',
      'SliceQuery',
      'SuspendMark',
      'TokenTools',
      'TokenVerifier',
      'Trust',
      'Usage',
      'UsageEntry',
      'UsageOptions',
      'WithdrawMark',
    ],
  },
  './cli': { values: ['defineConfig'], types: ['CommandConfig', 'CommandSql'] },
  './jwt': {
    values: ['ExchangeError', 'createTokenIssuer', 'createTokenVerifier', 'isExchangeError'],
    types: [
      'ExchangeErrorCode',
      'ExchangeInput',
      'ExchangedToken',
      'JwtVerifier',
      'TokenAlgorithm',
      'TokenIssuer',
      'TokenIssuerOptions',
      'TokenVerifierOptions',
    ],
  },
  './leaks': {
    values: ['createLeakHandler'],
    types: [
      'GitHubSource',
      'GitLabSource',
      'Leak',
      'LeakAction',
      'LeakHandler',
      'LeakHandlerOptions',
      'LeakKeyring',
      'LeakSource',
    ],
  },
  './lock': {
    values: [
      'diffLocks',
      'formatLock',
      'lockContract',
      'lockMarkdown',
      'lockOf',
      'lockSarif',
      'parseLock',
      'recordRoutes',
      'routesOf',
      'toolsOf',
    ],
    types: [
      'AccessLock',
      'CatalogChange',
      'DiffLocksOptions',
      'FastifyLike',
      'GrantedKey',
      'GuardedRoute',
      'KeyGain',
      'LockContractInput',
      'LockDiff',
      'LockInput',
      'LockedRoute',
      'RouteChange',
      'RouteChangeKind',
      'RouteOptionsLike',
      'SarifOptions',
      'ToolsOfOptions',
    ],
  },
  './mcp': {
    values: [
      'allowedTools',
      'createMcpGate',
      'createMcpVerifier',
      'endWithKey',
      'guardTool',
      'principalOf',
      'protectedResourceMetadata',
      'toAuthInfo',
    ],
    types: [
      'McpAuthInfo',
      'McpEntry',
      'McpGate',
      'McpGateInput',
      'McpGateOptions',
      'McpKeyring',
      'McpTool',
      'McpVerifier',
      'McpVerifierOptions',
      'ProtectedResourceMetadata',
      'ProtectedResourceOptions',
    ],
  },
  './openapi': {
    values: ['diffOperations', 'scopeReference', 'scopeTable', 'secureDocument'],
    types: [
      'ConflictingOperation',
      'DiffOptions',
      'DocumentOperation',
      'OperationDiff',
      'OperationEntry',
      'OperationOf',
      'ScopeEntry',
      'ScopeReferenceInput',
      'ScopeTable',
      'SecureDocumentOptions',
    ],
  },
  './reports': {
    values: ['expiringKeys', 'pepperReport', 'unusedScopes'],
    types: [
      'ExpiringKey',
      'ExpiringKeysOptions',
      'KnownUsage',
      'PepperReportOptions',
      'PepperUse',
      'UnknownUsage',
      'UnreadableKey',
      'UnusedScopesOptions',
    ],
  },
  './schemas': {
    values: [
      'addressedKeyJsonSchema',
      'addressedKeySchema',
      'damagedKeyJsonSchema',
      'damagedKeySchema',
      'issueInputJsonSchema',
      'issueInputJsonSchemaFor',
      'issueInputSchema',
      'issueInputSchemaFor',
      'keyInfoJsonSchema',
      'keyInfoSchema',
      'listInputJsonSchema',
      'listInputSchema',
      'meJsonSchema',
      'meSchema',
      'rotateInputJsonSchema',
      'rotateInputSchema',
    ],
    types: [
      'AddressedKeyJson',
      'IssueInputJson',
      'JsonSchema',
      'KeyInfoJson',
      'ListInputQuery',
      'RotateInputJson',
    ],
  },
  './stores/d1': {
    values: ['d1Store', 'migrate', 'purgeEnded'],
    types: ['D1Client', 'D1Session', 'D1Statement', 'D1StoreOptions', 'PurgeOptions'],
  },
  './stores/memory': { values: ['memoryStore'], types: [] },
  './stores/mysql': {
    values: ['migrate', 'mysqlStore', 'purgeEnded'],
    types: [
      'MysqlClient',
      'MysqlConnection',
      'MysqlLoan',
      'MysqlPool',
      'MysqlStatement',
      'MysqlStoreOptions',
      'PurgeOptions',
    ],
  },
  './stores/postgres': {
    values: ['migrate', 'postgresInvalidation', 'postgresStore', 'purgeEnded'],
    types: [
      'PgClient',
      'PgListener',
      'PgQuery',
      'PgliteChannel',
      'PgliteClient',
      'PostgresChannel',
      'PostgresClient',
      'PostgresJsChannel',
      'PostgresJsClient',
      'PostgresStoreOptions',
      'PurgeOptions',
    ],
  },
  './stores/redis': {
    values: ['migrate', 'purgeEnded', 'redisInvalidation', 'redisStore'],
    types: [
      'IoRedis',
      'IoRedisCluster',
      'NodeRedis',
      'NodeRedisCluster',
      'NodeRedisSentinel',
      'PurgeOptions',
      'RedisClient',
      'RedisStoreOptions',
      'RedisSubscriber',
    ],
  },
  './stores/schema': { values: ['MIGRATIONS', 'schemaSql'], types: ['Dialect', 'SchemaOptions'] },
  './stores/sqlite': {
    values: ['migrate', 'purgeEnded', 'sqliteStore'],
    types: ['PurgeOptions', 'SqliteHandle', 'SqliteStatement'],
  },
  './testing': {
    values: ['adapterContract', 'storeContract', 'testPrincipal'],
    types: [
      'AdapterSetup',
      'ContractStore',
      'FetchAnswer',
      'RegisterTest',
      'ServeAdapter',
      'ServedAdapter',
      'TestPrincipalOptions',
    ],
  },
};

const entries = readEntries();

describe('the package', () => {
  it('has an entry for every index, and no others', () => {
    const indexes = filesUnder('src', '.ts').filter((path) => /\/index\.ts$/.test(path));
    expect(entries.map(({ source }) => source.path).sort()).toEqual(indexes);
    expect(Object.keys(EXPORTS).sort()).toEqual(entries.map(({ name }) => name).sort());
  });

  it.each(entries)('exports these names from $name', async ({ name, source }) => {
    const exported = exportsOf(source);
    const ofKind = (kind: 'type' | 'value') =>
      exported.filter((each) => each.kind === kind).map((each) => each.name);
    const values = ofKind('value').sort();
    const types = ofKind('type').sort();
    expect({ values, types }).toEqual(EXPORTS[name]);
    // The names in the source match the runtime exports.
    const url = new URL(`../../${source.path}`, import.meta.url).href;
    const loaded = (await import(url)) as object;
    expect(Object.keys(loaded).sort()).toEqual(values);
  });

  it.each(entries)('writes out its types: $name', ({ source }) => {
    const seen = new Set<object>();
    const inferred = exportsOf(source).flatMap(({ name, original, from }) => {
      const declared = declarationsOf(sourceOf(from), original);
      expect(declared.length, name).toBeGreaterThan(0);
      return declared.flatMap((each) => inferredIn(each, seen)).map((what) => `${name}, ${what}`);
    });
    expect(inferred).toEqual([]);
  });
});

describe('the readers of the source', () => {
  const sample = sourceFrom(`
    const TABLE = { a: 1 };
    function f(): number { const b: typeof TABLE = TABLE; return b.a; }
    type Hidden = typeof TABLE;
    export type A = typeof TABLE;
    export type B = { readonly [K in keyof typeof TABLE]: number };
    export type C = Readonly<ReturnType<typeof f>>;
    export interface D { readonly hidden: Hidden }
    export const e = 1;
    export interface F { readonly g: string }
    export interface H extends A {}
    export function i(j: F, k = 1): readonly F[] { type L = typeof j; return [] as L[]; }
    export class M { readonly n: string = ''; #o: Hidden = TABLE; }
    export const p: number = f();
    export const s = (t: F): F => { const u: Hidden = TABLE; return t; };
    export const v = (w = TABLE) => w;
    export const x = (y: typeof TABLE): F => f(y) as unknown as C;
    export interface Q { readonly q: Q }
    export type R = z.infer<typeof schema>;
  `);
  const inferred = (name: string) =>
    declarationsOf(sample, name).flatMap((declared) => inferredIn(declared));

  it.each([
    ['A', ['typeof TABLE']],
    ['B', ['typeof TABLE']],
    ['C', ['ReturnType<typeof f>', 'typeof f']],
    ['D', ['typeof TABLE']],
    ['H', ['typeof TABLE']],
    ['e', ['e has no written type']],
    ['v', ['v has no written type']],
    ['x', ['typeof TABLE']],
    ['R', ['z.infer<typeof schema>', 'typeof schema']],
  ])('find an inferred type: %s', (name, found) => {
    expect(inferred(name)).toEqual(found.map((what) => `sample.ts: ${what}`));
  });

  it.each(['F', 'i', 'M', 'p', 'Q', 's'])('accept a written type: %s', (name) => {
    expect(declarationsOf(sample, name)).toHaveLength(1);
    expect(inferred(name)).toEqual([]);
  });

  it('read a name with its kind and origin', () => {
    const index = sourceFrom(
      `export { a, type B, c as d } from './e.js'; export type { F } from '../g/h.js';`,
      'src/x/index.ts',
    );
    expect(exportsOf(index)).toEqual([
      { name: 'a', original: 'a', from: 'src/x/e.ts', kind: 'value' },
      { name: 'B', original: 'B', from: 'src/x/e.ts', kind: 'type' },
      { name: 'd', original: 'c', from: 'src/x/e.ts', kind: 'value' },
      { name: 'F', original: 'F', from: 'src/g/h.ts', kind: 'type' },
    ]);
  });
});
