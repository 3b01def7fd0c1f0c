/**
 * Code that must compile and code that must not. The test is `tsc -p .`: an `@ts-expect-error`
 * without an error fails.
 */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type {
  AccessErrorCode,
  AddressedKey,
  Admitting,
  Catalog,
  IssueInput,
  IssueKeylessInput,
  KeyInfo,
  Keyring,
  KeyringEvent,
  ListPage,
  Me,
  OperationOf,
  PatternOf,
  Policy,
  Principal,
  RequestLike,
  ScopeOf,
} from 'keyscope';
import {
  createKeyring,
  defineGuard,
  definePolicy,
  defineScopes,
  hasScopes,
  isAccessError,
  parseAuthorization,
  requireEntity,
  requireScopes,
} from 'keyscope';
import { createMcpGate, guardTool, type McpAuthInfo } from 'keyscope/mcp';
import { diffOperations, secureDocument } from 'keyscope/openapi';
import type { IssueInputJson, KeyInfoJson } from 'keyscope/schemas';
import {
  issueInputSchema,
  issueInputSchemaFor,
  issueKeylessInputSchema,
  issueKeylessInputSchemaFor,
  type keyInfoSchema,
  listInputSchema,
  type meSchema,
} from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';

type Equals<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(holds: Equals<A, B>): void => void holds;

const catalog = defineScopes(
  {
    threats: { read: 'Read threats.', write: 'Write threats.' },
    decoys: { read: 'Read decoys.', delete: 'Delete decoys.' },
    users: { read: 'Read users.', write: 'Write users.', delete: 'Delete users.' },
  },
  { reserved: ['users:*', '*:delete'] },
);
const policy = definePolicy(catalog, {
  whoami: [],
  listThreats: ['threats:read'],
  removeUser: ['users:delete'],
});
const authority = { entityId: '00000000-0000-4000-8000-000000000001', scopes: 'all' } as const;
const others = { prefix: 'acme', store: memoryStore(), peppers: 'none' } as const;
const keyring = createKeyring({ ...others, policy });

// ── The catalog ──────────────────────────────────────────────────────────────────────────────────

type Scope =
  | 'threats:read'
  | 'threats:write'
  | 'decoys:read'
  | 'decoys:delete'
  | 'users:read'
  | 'users:write'
  | 'users:delete';
same<ScopeOf<typeof catalog>, Scope>(true);
// `users:*` and `*:delete` are reserved; `*:*`, `*:read`, `*:write` and `decoys:*` include a
// reserved scope.
same<PatternOf<typeof catalog>, Scope | 'threats:*'>(true);
same<(typeof catalog)['all'], readonly Scope[]>(true);
same<ReturnType<typeof catalog.expand>, readonly Scope[]>(true);

const open = defineScopes({ a: { x: 'A sentence.', y: 'Another.' }, b: { x: 'A third.' } });
same<PatternOf<typeof open>, 'a:x' | 'a:y' | 'b:x' | '*:*' | 'a:*' | 'b:*' | '*:x' | '*:y'>(true);
same<ScopeOf<typeof open>, 'a:x' | 'a:y' | 'b:x'>(true);

const one = defineScopes(
  { a: { x: 'A sentence.', y: 'Another.' }, b: { x: 'A third.' } },
  { reserved: ['a:x'] },
);
same<PatternOf<typeof one>, 'a:x' | 'a:y' | 'b:x' | 'b:*' | '*:y'>(true);

// A definition that is only known at run time loses the literal types, not the functions.
const loose = defineScopes(
  JSON.parse('{"a":{"b":"A sentence."}}') as Record<string, Record<string, string>>,
);
const wide: Catalog = loose;

export const catalogs = () => [
  wide,
  // @ts-expect-error: a sentence must be a string
  defineScopes({ a: { b: 1 } }),
  // @ts-expect-error: reserved patterns must name scopes of the catalog
  defineScopes({ a: { b: 'A sentence.' } }, { reserved: ['a:c'] }),
  // @ts-expect-error: an unknown option
  defineScopes({ a: { b: 'A sentence.' } }, { reservd: ['a:b'] }),
];

export function narrows(scope: Scope): void {
  if (catalog.isReserved(scope)) {
    same<typeof scope, 'users:read' | 'users:write' | 'users:delete' | 'decoys:delete'>(true);
  } else same<typeof scope, 'threats:read' | 'threats:write' | 'decoys:read'>(true);
}

// ── Issue ────────────────────────────────────────────────────────────────────────────────────────

same<Parameters<typeof keyring.issue>[0], IssueInput<Scope | 'threats:*'>>(true);

export async function issues(key: Keyring<typeof catalog>): Promise<void> {
  const base = { name: 'ci', expiresAt: 'never' } as const;
  await key.issue({ ...base, scopes: [] }, authority);
  await key.issue({ ...base, scopes: ['threats:read', 'threats:*'] }, authority);
  await key.issue({ ...base, scopes: ['users:read'], justification: 'Needed.' }, authority);
  await key.issue({ name: 'ci', scopes: [], expiresAt: new Date() }, authority);
  // @ts-expect-error: a typo
  await key.issue({ ...base, scopes: ['threats:raed'] }, authority);
  // @ts-expect-error: a wildcard over reserved scopes
  await key.issue({ ...base, scopes: ['users:*'] }, authority);
  // @ts-expect-error: a wildcard that includes one reserved scope
  await key.issue({ ...base, scopes: ['decoys:*'] }, authority);
  // @ts-expect-error: everything includes reserved scopes
  await key.issue({ ...base, scopes: ['*:*'] }, authority);
  // @ts-expect-error: a wildcard that matches nothing
  await key.issue({ ...base, scopes: ['canaries:*'] }, authority);
  // @ts-expect-error: scopes have no default
  await key.issue(base, authority);
  // @ts-expect-error: expiry has no default
  await key.issue({ name: 'ci', scopes: [] }, authority);
  // @ts-expect-error: a string is not a date
  await key.issue({ name: 'ci', scopes: [], expiresAt: '2030-01-01T00:00:00Z' }, authority);
  // @ts-expect-error: a number is not a date
  await key.issue({ name: 'ci', scopes: [], expiresAt: 0 }, authority);
  // @ts-expect-error: null is not a string
  await key.issue({ ...base, scopes: [], justification: null }, authority);
  // @ts-expect-error: the owner comes from the authority, not from the input
  await key.issue({ ...base, scopes: [], entityId: authority.entityId }, authority);
  // @ts-expect-error: no key without an authority
  await key.issue({ ...base, scopes: [] });
  // @ts-expect-error: an unknown field of the authority
  await key.issue({ ...base, scopes: [] }, { ...authority, userId: '1' });
  const issued = await key.issue({ ...base, scopes: [] }, authority);
  same<typeof issued.key, string>(true);
  same<typeof issued.info, KeyInfo>(true);
  // @ts-expect-error: the plaintext is not in the info
  void issued.info.key;
  // @ts-expect-error: nor is the digest
  void issued.info.digest;
  // @ts-expect-error: nor is the seal
  void issued.info.seal;
}

/** A page of either kind. */
type EitherPage = ListPage<KeyInfo | AddressedKey>;

export async function listings(query: unknown, flag: boolean): Promise<void> {
  const { entityId } = authority;
  const own = await keyring.list({ limit: 5 }, { entityId });
  same<typeof own, ListPage>(true);
  const first = await keyring.list(undefined, { entityId });
  same<typeof first, ListPage>(true);
  const spelt = await keyring.list({ addressing: false }, { entityId });
  same<typeof spelt, ListPage>(true);
  const addressed = await keyring.list({ addressing: true }, { entityId });
  same<typeof addressed, ListPage<AddressedKey>>(true);
  // This used to be typed as a page of own keys, although it may be one of other entities' keys.
  const either = await keyring.list({ addressing: flag }, { entityId });
  same<typeof either, EitherPage>(true);
  const asked = await keyring.list(listInputSchema.parse(query), { entityId });
  same<typeof asked, EitherPage>(true);
  const [key] = asked.keys;
  // @ts-expect-error: keys of others that address this entity show no metadata
  if (key !== undefined && 'name' in key) void key.metadata;
  const input = { ...listInputSchema.parse(query), addressing: false } as const;
  const said = await keyring.list(input, { entityId });
  same<typeof said, ListPage>(true);
}

// ── Principal and policy ─────────────────────────────────────────────────────────────────────────

export function frozen(principal: Principal): void {
  // @ts-expect-error: read only
  principal.keyId = '';
  // @ts-expect-error: read only
  principal.entityId = '';
  // @ts-expect-error: read only
  principal.scopes = [];
  // The list has no `push`.
  same<Extract<keyof Principal['scopes'], 'push'>, never>(true);
  same<Extract<keyof Principal['accessibleEntities'], 'push'>, never>(true);
  // @ts-expect-error: read only
  principal.metadata = {};
  // @ts-expect-error: read only
  principal.expiresAt = null;
  // @ts-expect-error: read only
  principal.via = 'key';
  same<Principal['via'], 'key' | 'jwt' | 'keyless'>(true);
  same<
    keyof Principal,
    | 'keyId'
    | 'name'
    | 'entityId'
    | 'accessibleEntities'
    | 'scopes'
    | 'metadata'
    | 'expiresAt'
    | 'via'
  >(true);
}

export async function operations(principal: Principal): Promise<void> {
  same<ReturnType<typeof policy.allowed>, readonly ('whoami' | 'listThreats' | 'removeUser')[]>(
    true,
  );
  const entityId = policy.authorize(principal, 'listThreats');
  same<typeof entityId, string>(true);
  // @ts-expect-error: an operation that is not in the policy
  policy.authorize(principal, 'listThreat');
  // @ts-expect-error: an operation that is not in the policy
  policy.leastScopes(['whoami', 'deleteUser']);
  // @ts-expect-error: a scope that is not in the catalog
  definePolicy(catalog, { listThreats: ['threats:raed'] });
  // @ts-expect-error: required scopes are concrete
  definePolicy(catalog, { listThreats: ['threats:*'] });
  // @ts-expect-error: one scope also needs a list
  definePolicy(catalog, { listThreats: 'threats:read' });
}

// ── Keyrings and their operations ────────────────────────────────────────────────────────────────

type Operation = 'whoami' | 'listThreats' | 'removeUser';
same<typeof policy, Policy<Operation, typeof catalog>>(true);
same<OperationOf<typeof policy>, Operation>(true);
same<typeof keyring, Keyring<typeof catalog, Operation>>(true);
same<(typeof keyring)['policy'], typeof policy>(true);
same<(typeof keyring)['catalog'], typeof catalog>(true);

const gated = { resource: 'https://api.example.com/mcp', tools: [{ name: 'whoami' }] };

export async function admissions(authInfo: McpAuthInfo): Promise<void> {
  const { principal: caller } = await keyring.admit('Bearer a', { operation: 'whoami' });
  same<typeof caller, Principal<ScopeOf<typeof catalog>>>(true);
  hasScopes(caller, ...policy.requires('listThreats'));
  // @ts-expect-error: a scope that the catalog lacks
  hasScopes(caller, 'threats:raed');
  // @ts-expect-error: a scope that the catalog lacks
  requireScopes(await keyring.verify('a'), 'threats:raed');
  // A principal without a catalog takes any text.
  hasScopes(caller as Principal, 'threats:raed');
  // @ts-expect-error: an operation that is not in the policy
  await keyring.admit('Bearer a', { operation: 'whoAmI' });
  // @ts-expect-error: the keyring has the policy
  await keyring.admit('Bearer a', { operation: 'whoami', policy });
  const define = defineGuard({ keyring });
  define('whoami');
  // @ts-expect-error: an operation that is not in the policy
  define('whoAmI');
  createMcpGate({ ...gated, keyring, operation: 'whoami' });
  // @ts-expect-error: an operation that is not in the policy
  createMcpGate({ ...gated, keyring, operation: 'whoAmI' });
  guardTool(keyring, authInfo, 'whoami');
  // @ts-expect-error: an operation that is not in the policy
  guardTool(keyring, authInfo, 'whoAmI');
}

/** A wrapper is as strict as its keyring. */
export function wrappers(admit: Admitting<Operation>['admit']): void {
  const define = defineGuard({ keyring: { ...keyring, admit } });
  define('whoami');
  // @ts-expect-error: an operation that is not in the policy
  define('whoAmI');
}

/** A keyring without a policy admits nothing. */
export async function unguarded(authInfo: McpAuthInfo): Promise<void> {
  const managing = createKeyring({ ...others, catalog });
  same<typeof managing, Keyring<typeof catalog, never>>(true);
  await managing.issue({ name: 'ci', scopes: ['threats:read'], expiresAt: 'never' }, authority);
  // @ts-expect-error: it has no operations
  await managing.admit('Bearer a', { operation: 'whoami' });
  // @ts-expect-error: it has no operations
  defineGuard({ keyring: managing })('whoami');
  // @ts-expect-error: it has no operations
  createMcpGate({ ...gated, keyring: managing, operation: 'whoami' });
  // @ts-expect-error: it has no operations
  guardTool(managing, authInfo, 'whoami');
}

export const keyrings = () => [
  // @ts-expect-error: the policy brings its catalog
  createKeyring({ ...others, policy, catalog }),
  // @ts-expect-error: neither a policy nor a catalog
  createKeyring(others),
  // @ts-expect-error: a catalog is not a policy
  createKeyring({ ...others, policy: catalog }),
];

// ── Errors ───────────────────────────────────────────────────────────────────────────────────────

same<
  AccessErrorCode,
  | 'missing_credentials'
  | 'invalid_request'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'entity_forbidden'
  | 'ceiling_exceeded'
  | 'not_found'
  | 'conflict'
>(true);

/** The codes are a closed union, so a switch needs no default. */
export function statusOf(code: AccessErrorCode): number {
  switch (code) {
    case 'missing_credentials':
    case 'invalid_token':
      return 401;
    case 'invalid_request':
      return 400;
    case 'insufficient_scope':
    case 'entity_forbidden':
    case 'ceiling_exceeded':
      return 403;
    case 'not_found':
      return 404;
    case 'conflict':
      return 409;
  }
}

export function guards(error: unknown, principal: Principal, asked: unknown): void {
  if (isAccessError(error)) same<typeof error.code, AccessErrorCode>(true);
  // @ts-expect-error: unknown until the guard has checked it
  void error.code;
  requireEntity(principal, asked);
  same<typeof asked, string>(true);
  const credential = parseAuthorization(asked);
  if (credential.kind === 'bearer') same<typeof credential.token, string>(true);
  // @ts-expect-error: only a bearer credential has a token
  else void credential.token;
}

/** A log line for each kind of event. `type` determines the fields. */
export function logged(event: KeyringEvent): string {
  // @ts-expect-error: not every event has an operation
  void event.operation;
  switch (event.type) {
    case 'key.issued':
    case 'key.revoked':
    case 'key.suspended':
    case 'key.resumed':
    case 'key.identified':
      return same<typeof event.keyId, string>(true) ?? event.entityId;
    case 'key.withdrawn':
      return `${event.withdrawnEntity} by ${event.actor ?? 'nobody'}`;
    case 'management.denied':
      same<typeof event.keyId, string | null>(true);
      return `${event.action} ${event.code} ${event.denialReason}`;
    case 'key.rotated':
      return `${event.rotatedFrom} ends ${new Date(event.retireAt).toISOString()}`;
    case 'access.granted':
      // @ts-expect-error: nothing was denied
      void event.code;
      return `${event.operation} by ${event.keyId} on ${event.entityId}`;
    case 'access.denied':
      same<typeof event.keyId, string | null>(true);
      same<typeof event.code, AccessErrorCode | 'store_error'>(true);
      return `${event.operation} ${event.code} ${event.reason}`;
  }
}

// ── Requests ─────────────────────────────────────────────────────────────────────────────────────

type Headers = Readonly<Record<string, string | undefined>>;
/**
 * The header types that `@types/aws-lambda` has for API Gateway and an Application Load Balancer.
 */
type AwsEvents =
  | {
      headers: Headers;
      multiValueHeaders: Record<string, string[] | undefined>;
      requestContext: object;
    }
  | {
      headers: Headers | null;
      multiValueHeaders: Record<string, string[]> | null;
      requestContext: object;
    }
  | {
      headers?: Headers | undefined;
      multiValueHeaders?: Record<string, string[] | undefined> | undefined;
    };

export const requestsOfAws = (event: AwsEvents): RequestLike => event;
export const requestOf = (request: Request | IncomingMessage | Http2ServerRequest): RequestLike =>
  request;
// @ts-expect-error: this object wraps the request
export const requestAround = (request: Request): RequestLike => ({ request, params: {} });

// ── Schemas ──────────────────────────────────────────────────────────────────────────────────────

same<ReturnType<typeof meSchema.parse>, Me>(true);
same<ReturnType<typeof keyInfoSchema.parse>, KeyInfoJson>(true);
same<KeyInfoJson['createdAt'], string>(true);
same<KeyInfoJson['expiresAt'], string | null>(true);
same<KeyInfoJson['scopesUsed'], Readonly<Record<string, string>>>(true);
same<keyof KeyInfoJson, keyof KeyInfo>(true);
same<IssueInputJson['expiresAt'], string>(true);

export async function requests(body: unknown): Promise<void> {
  const general: IssueInput = issueInputSchema.parse(body);
  // Input parsed for this catalog goes straight into `issue`; input parsed for any catalog does
  // not.
  await keyring.issue(issueInputSchemaFor({ catalog }).parse(body), authority);
  // @ts-expect-error: these scopes are any strings
  await keyring.issue(general, authority);
  await keyring.issueKeyless(issueKeylessInputSchemaFor({ catalog }).parse(body), authority);
  const keyless: IssueKeylessInput = issueKeylessInputSchema.parse(body);
  // @ts-expect-error: likewise
  await keyring.issueKeyless(keyless, authority);
}

// ── OpenAPI ──────────────────────────────────────────────────────────────────────────────────────

const written = { openapi: '3.1.0', paths: {}, 'x-own': 1 };

export function documents(): void {
  const secured = secureDocument(written, { policy, elsewhere: ['whoami'] });
  same<typeof secured, typeof written>(true);
  // @ts-expect-error: an operation that the policy lacks
  secureDocument(written, { policy, elsewhere: ['whoAmI'] });
  // @ts-expect-error: the policy brings its catalog
  secureDocument(written, { policy, catalog });
  // @ts-expect-error: an operation that the policy lacks
  diffOperations(written, { policy, elsewhere: ['whoAmI'] });
}
