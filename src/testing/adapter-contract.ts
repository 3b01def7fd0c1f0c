/**
 * For tests only: the suites that every store and every adapter must pass, and principals without a
 * keyring. Uses no assertion library and no test runner; a failure throws an `Error` that says
 * which promise was broken.
 */
import { type Catalog, defineScopes, type ScopeOf } from '../core/catalog.js';
import { toResponse } from '../core/challenge.js';
import { AccessError, StoreError } from '../core/errors.js';
import { assert, readEntities, readFields } from '../core/input.js';
import { createKeyring, type Keyring } from '../core/keyring.js';
import { definePolicy, type Policy } from '../core/policy.js';
import { createPrincipal, hasScopes, type Principal } from '../core/principal.js';
import { digestKey, generateKey } from '../core/secret.js';
import type { Awaitable } from '../core/store.js';
import { isUuid } from '../core/uuid.js';
import { memoryStore } from '../stores/memory/store.js';
import { check, type RegisterTest, same } from './store-contract.js';

// ── The adapter contract ──────────────────────────────────────────────────────────────────────────────

/** What a test makes a guard from, and what its routes call. */
export interface AdapterSetup {
  readonly keyring: Keyring;
  /** `whoami` needs no scope, `readReports` needs one. */
  readonly policy: Policy<'whoami' | 'readReports'>;
  readonly realm: string;
  readonly resourceMetadata: string;
  /**
   * For the handler of either route, with what the guard put on the request: returns the answer's
   * text. May throw.
   */
  readonly handle: (principal: Principal, entityUuid: string) => string;
}

/**
 * The part of a fetch `Response` that is used; not every TypeScript configuration knows that type.
 */
export interface FetchAnswer {
  readonly status: number;
  readonly headers: { forEach(each: (value: string, name: string) => void): void };
  text(): Promise<string>;
}

/**
 * A bare app with its two routes: its URL, or its function that answers a fetch `Request`; and how
 * to close it.
 */
export type ServedAdapter = { close?(): Awaitable<unknown> } & (
  | { readonly url: string }
  | { readonly fetch: (request: never) => Awaitable<FetchAnswer> }
);

/** Mounts a guard on the two routes of a bare app. */
export type ServeAdapter = (setup: AdapterSetup) => Awaitable<ServedAdapter>;

/**
 * Registers some twenty tests of what an adapter promises: whom it lets in and with what, that its
 * denials match `toResponse` byte for byte, and that no failure lets anybody in.
 *
 * `serve` makes a guard from `keyring`, `policy`, `realm` and `resourceMetadata` and puts it on two
 * routes: `GET /whoami` for the operation `whoami`, and `GET /reports` for `readReports`, with the
 * entity read from the query parameter `entity` (all of its values). Both handlers answer 200 with
 * `handle(principal, entityUuid)`.
 *
 * Not checked: how a framework answers a bug or a handler that throws, beyond a status of 500 or
 * more and no challenge (many print the error's text in development); what happens to a handler's
 * own `Cache-Control`; logging; bodies and methods other than GET and HEAD; routers. If a server
 * refuses long header lines with 431 or 400, a credential that is too long never reaches the
 * adapter and is left out. Headers that differ between requests, such as a request id, are not
 * compared. A service that takes over 0.1 s per request, one at a time, is too slow.
 *
 * @param test Registers one test: a name and an async function that throws if the adapter breaks a
 *   promise.
 * @param serve Called once per test: starts the app and returns `{ url }`, such as
 *   `http://127.0.0.1:3000`, or `{ fetch }` if nothing needs to listen. Only a `url` keeps two
 *   header lines apart; `fetch` gets them joined. `close`, if there is one, is called afterwards.
 * @throws TypeError if either argument is not a function. A test throws one if `serve` returns
 *   neither, or a `url` on a runtime without `node:http`.
 * @example
 * adapterContract(test, ({ handle, ...options }) => {
 *   const guard = createGuard(options);
 *   const app = new Hono<Guarded>();
 *   const answer = (c: Context<Guarded>) => c.text(handle(c.get('principal'), c.get('entityUuid')));
 *   app.get('/whoami', guard('whoami'), answer);
 *   app.get('/reports', guard('readReports', { entity: (c) => c.req.queries('entity') }), answer);
 *   return { fetch: app.fetch };
 * });
 */
export function adapterContract(test: RegisterTest, serve: ServeAdapter): void {
  assert(
    typeof test === 'function',
    'adapterContract: pass the function that registers a test, then one that serves the adapter',
  );
  assert(
    typeof serve === 'function',
    'adapterContract: pass a function that serves the adapter, (setup) => ({ url })',
  );
  for (const [name, run] of CONTRACT) {
    test(name, async () => {
      const service = makeService();
      const served = await serve(service.setup);
      try {
        await run({ ...service, ...client(service, served) });
      } finally {
        await served?.close?.();
      }
    });
  }
  for (const [name, change] of REFUSED_AT_SET_UP) test(name, () => refusesToServe(serve, change));
}

// ── The service behind the adapter ────────────────────────────────────────────────────────────────────

const OWN = 'aaaaaaaa-0000-4000-8000-00000000000a';
/** Every key can address it. */
const OTHER = 'bbbbbbbb-0000-4000-8000-00000000000b';
/** No key can. */
const FOREIGN = 'cccccccc-0000-4000-8000-00000000000c';

const PEPPER = { id: 'contract', secret: 'pepper-of-the-contract-which-no-answer-may-hold' };
/** The text of a driver's error. */
const DRIVER_TEXT = 'relation_of_keys_does_not_exist';

const catalog = defineScopes({ reports: { read: 'Read reports.', write: 'Write reports.' } });
type Scope = (typeof catalog.all)[number];

/** A handler that ran, and what it was given. */
interface Call {
  readonly principal: Principal;
  readonly entityUuid: string;
}

/** Called before a look-up, an admission and the end of a handler, for tests to break or delay. */
interface Hooks {
  lookUp(digests: readonly string[]): Promise<void>;
  admit(): Promise<void>;
  handler(): void;
}

interface Service {
  readonly setup: AdapterSetup;
  /** The keyring itself; calls to it are not counted. */
  readonly ring: Keyring<typeof catalog>;
  readonly hooks: Hooks;
  readonly calls: Call[];
  /** The adapter's calls to the keyring. */
  readonly asked: string[];
  /** What no answer may contain, and what it is. */
  readonly secrets: Map<string, string>;
  /** In milliseconds; the keyring has no other clock. */
  readonly clock: { now: number };
  issue(
    scopes: readonly Scope[],
    entityUuid?: string,
  ): Promise<{ readonly key: string; readonly keyId: string }>;
  /** Adds a key to the secrets. */
  watch(key: string): string;
}

/** What the handlers answer: for which key, and on which entity. */
const said = (keyId: unknown, entityUuid: unknown): string => `${keyId} on ${entityUuid}`;

function makeService(): Service {
  const clock = { now: 1_000_000_000_000 };
  const hooks: Hooks = { lookUp: async () => {}, admit: async () => {}, handler: () => {} };
  const [calls, asked]: [Call[], string[]] = [[], []];
  const secrets = new Map([
    [PEPPER.secret, 'the pepper'],
    [DRIVER_TEXT, "the text of a driver's error"],
  ]);
  const rows = memoryStore();
  const store = {
    ...rows,
    findByDigest: (digests: readonly string[]) =>
      hooks.lookUp(digests).then(() => rows.findByDigest(digests)),
  };
  const ring = createKeyring({
    prefix: 'acme',
    catalog,
    store,
    peppers: [PEPPER],
    now: () => clock.now,
  });
  const policy = definePolicy(catalog, { whoami: [], readReports: ['reports:read'] });
  const watch = (key: string) => {
    // Without its prefix, which is not secret, and the digest without its scheme.
    secrets
      .set(key.slice('acme_'.length), 'a key')
      .set(digestKey(key, PEPPER).replace(/^.*\$/, ''), 'a digest');
    return key;
  };
  const issue = async (scopes: readonly Scope[], entityUuid = OWN) => {
    const input = {
      name: 'contract',
      scopes,
      expiresAt: new Date(clock.now + 1000),
      accessibleEntities: [OTHER],
    };
    const { key, info } = await ring.issue(input, { entityUuid, entities: [OTHER] });
    return { key: watch(key), keyId: info.keyId };
  };
  const handle = (principal: Principal, entityUuid: string) => {
    calls.push({ principal, entityUuid });
    hooks.handler();
    return said(Object(principal).keyId, entityUuid);
  };
  // Text with a quote and a backslash, which challenges written by hand get wrong.
  const setup = {
    policy,
    realm: 'the "reports" \\ of acme',
    resourceMetadata: 'https://acme.example/metadata',
    handle,
  };
  const keyring = watched(ring as Keyring, asked, hooks);
  return { setup: { ...setup, keyring }, ring, hooks, calls, asked, secrets, clock, issue, watch };
}

/** The keyring that an adapter gets. It records the calls. */
function watched(ring: Keyring, asked: string[], hooks: Hooks): Keyring {
  return Object.freeze<Keyring>({
    ...ring,
    verify(key) {
      asked.push('verify');
      return ring.verify(key);
    },
    authenticate(request) {
      asked.push('authenticate');
      return ring.authenticate(request);
    },
    async admit(request, input) {
      asked.push(`admit ${Object(input).operation}`);
      await hooks.admit();
      return ring.admit(request, input);
    },
  });
}

// ── The client ────────────────────────────────────────────────────────────────────────────────────────

/** A header line: its name and its value. */
type Line = readonly [name: string, value: string];

/** Header names are in lower case, one entry per line, sorted. */
interface Answer {
  readonly status: number;
  readonly headers: readonly Line[];
  readonly body: string;
}

type Send = (
  method: string,
  path: string,
  lines: readonly Line[],
  signal: AbortSignal,
) => Promise<Answer>;

/** What a test works with. */
interface Setting extends Service {
  /** Whether header lines are sent as they are. */
  readonly overHttp: boolean;
  send(method: 'GET' | 'HEAD', path: string, ...lines: readonly Line[]): Promise<Answer>;
  /**
   * Runs `act` with requests that share one connection, one after another; `false` if there is none
   * to share.
   */
  onOneConnection(act: (send: Setting['send']) => Promise<void>): Promise<void> | false;
}

const TIMEOUT_MS = 4_000;

const bearer = (key: string): Line => ['Authorization', `Bearer ${key}`];

/** Sends requests, and looks for secrets in every answer. */
function client({ secrets }: Service, served: ServedAdapter): Omit<Setting, keyof Service> {
  const { url, fetch } = Object(served);
  const overHttp = typeof url === 'string';
  assert(
    overHttp || typeof fetch === 'function',
    'adapterContract: let serve answer { url }, or { fetch }',
  );
  const over =
    (transport: Send): Setting['send'] =>
    async (method, path, ...lines) => {
      const answer = await inTime(`${method} ${path}`, (signal) =>
        transport(method, path, lines, signal),
      );
      const text = [...answer.headers.flat(), answer.body].join('\n');
      for (const [secret, what] of secrets)
        check(!text.includes(secret), `the answer to ${method} ${path} holds ${what}`);
      return answer;
    };
  const http = overHttp ? nodeHttp() : undefined;
  const onOneConnection: Setting['onOneConnection'] = (act) => {
    if (http === undefined) return false;
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    return act(over(nodeClient(http, url, agent))).finally(() => agent.destroy());
  };
  // Otherwise each request has a connection of its own, which does not outlive it.
  const transport = http === undefined ? fetchClient(fetch) : nodeClient(http, url, false);
  return { overHttp, send: over(transport), onOneConnection };
}

async function inTime(
  what: string,
  act: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`${what} was not answered within ${TIMEOUT_MS} ms`));
      abort.abort();
    }, TIMEOUT_MS);
  });
  try {
    return await Promise.race([act(abort.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

const fetchClient =
  (fetch: (request: Request) => Awaitable<FetchAnswer>): Send =>
  async (method, path, lines, signal) => {
    const headers = new Headers();
    for (const [name, value] of lines) headers.append(name, value);
    const request = new Request(`http://adapter.example${path}`, { method, headers, signal });
    const response = await (async () => fetch(request))().catch(failed);
    check(
      typeof response?.text === 'function',
      `fetch must answer ${method} ${path} with a Response`,
    );
    const answered: Line[] = [];
    response.headers.forEach((value, name) => {
      answered.push([name.toLowerCase(), value]);
    });
    return { status: response.status, headers: answered.sort(byName), body: await response.text() };
  };

/**
 * What a runtime answers if the app's function rejects; the error shows if another answer was
 * expected.
 */
const failed = (error: unknown): FetchAnswer => ({
  status: 500,
  headers: new Map<string, string>(),
  text: async () => `fetch rejected: ${error}`,
});

const byName = ([a]: Line, [b]: Line): number => (a < b ? -1 : a > b ? 1 : 0);

// The part of `node:http` that is used; importing its types would require them of every user.
interface NodeResponse extends AsyncIterable<string> {
  readonly statusCode?: number;
  readonly rawHeaders: readonly string[];
  setEncoding(encoding: 'utf8'): unknown;
}
interface NodeRequest {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  end(): unknown;
}
interface NodeAgent {
  destroy(): unknown;
}
interface NodeHttp {
  readonly Agent: new (options: object) => NodeAgent;
  request(url: string, options: object, answered: (response: NodeResponse) => void): NodeRequest;
}
type Process = { getBuiltinModule?(id: 'node:http'): NodeHttp | undefined };

function nodeHttp(): NodeHttp {
  const http = (globalThis as { process?: Process }).process?.getBuiltinModule?.('node:http');
  const instead =
    'adapterContract: a url takes node:http (Node from 20.16 on, Bun, Deno); let serve answer { fetch }';
  assert(http !== undefined, instead);
  return http;
}

/** Does not use `fetch`, which would join two lines of the same name. */
function nodeClient(http: NodeHttp, url: string, agent: NodeAgent | false): Send {
  const base = url.replace(/\/$/, '');
  return (method, path, lines, signal) =>
    new Promise((resolve, reject) => {
      const headers: Record<string, string[]> = {};
      for (const [name, value] of lines) headers[name] = [...(headers[name] ?? []), value];
      const request = http.request(base + path, { method, headers, signal, agent }, (response) => {
        readNode(response).then(resolve, reject);
      });
      request.on('error', reject);
      request.end();
    });
}

async function readNode(response: NodeResponse): Promise<Answer> {
  const { statusCode: status = 0, rawHeaders } = response;
  const headers = rawHeaders.flatMap((name, i): Line[] =>
    i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1] ?? '']] : [],
  );
  response.setEncoding('utf8');
  let body = '';
  for await (const part of response) body += part;
  return { status, headers: headers.sort(byName), body };
}

// ── Let in, or denied ─────────────────────────────────────────────────────────────────────────────────

const values = ({ headers }: Answer, name: string): string[] =>
  headers.filter((line) => line[0] === name.toLowerCase()).map(([, value]) => value);

/**
 * Fails unless the request was denied: answered as `toResponse` says, without running the handler.
 */
async function denied(
  s: Setting,
  error: unknown,
  what: string,
  path: string,
  ...lines: readonly Line[]
): Promise<Answer> {
  const before = s.calls.length;
  const answer = await s.send('GET', path, ...lines);
  check(s.calls.length === before, `${what}: the handler must not run`);
  const { realm, resourceMetadata } = s.setup;
  const { status, headers, body } = toResponse(error, { realm, resourceMetadata });
  // If there is no challenge, none may be added.
  const names = new Set([...Object.keys(headers), 'WWW-Authenticate', 'Retry-After']);
  const shown = (read: (name: string) => readonly string[]) =>
    Object.fromEntries([...names].map((name) => [name, read(name)]));
  const expected = { status, headers: shown((name) => [headers[name] ?? []].flat()), body };
  same(
    { status: answer.status, headers: shown((name) => values(answer, name)), body: answer.body },
    expected,
    what,
  );
  return answer;
}

/** Fails unless the request was let in, once, by this key and on this entity. */
async function letIn(
  s: Setting,
  [keyId, entity]: readonly string[],
  what: string,
  path: string,
  ...lines: Line[]
): Promise<Call> {
  const before = s.calls.length;
  const { status, body } = await s.send('GET', path, ...lines);
  const [call, ...more] = s.calls.slice(before);
  check(call !== undefined, `${what}: the handler must run, and the answer was ${status}`);
  check(more.length === 0, `${what}: the handler must run once, not ${more.length + 1} times`);
  const got = { keyId: Object(call.principal).keyId, entityUuid: call.entityUuid };
  same(got, { keyId, entityUuid: entity }, `${what}: what the handler got`);
  same(
    { status, body },
    { status: 200, body: said(keyId, entity) },
    `${what}: what the handler said`,
  );
  return call;
}

/** Fails unless the answer is an error of the service: neither a success nor a denial. */
function isFailure(answer: Answer, what: string): void {
  check(answer.status >= 500, `${what}: the status must be 500 or above, not ${answer.status}`);
  check(
    values(answer, 'WWW-Authenticate').length === 0,
    `${what}: the answer must hold no challenge`,
  );
}

const MISSING = new AccessError('missing_credentials', 'no_header');
const MALFORMED = new AccessError('invalid_request', 'malformed_header');
const INVALID = new AccessError('invalid_token', 'unknown_key');
const UNDER_SCOPED = new AccessError('insufficient_scope', 'scope_missing', {
  requiredScopes: ['reports:read'],
});
const NOT_ACCESSIBLE = new AccessError('entity_forbidden', 'entity_not_accessible');
const OUTAGE = new StoreError('the store is broken');

// ── Credentials ───────────────────────────────────────────────────────────────────────────────────────

/**
 * Catches: a copied or missing principal, a scheme or a header name that is compared
 * case-sensitively.
 */
async function letsKeysIn(s: Setting): Promise<void> {
  const { key, keyId } = await s.issue(['reports:read', 'reports:write']);
  const { principal } = await letIn(
    s,
    [keyId, OWN],
    'a key that holds the scope',
    '/reports',
    bearer(key),
  );
  let genuine = false;
  try {
    genuine = hasScopes(principal, 'reports:read', 'reports:write');
  } catch {
    // Not a principal: it was copied.
  }
  check(
    genuine,
    'the handler must get the principal itself, which guards such as hasScopes take, and no copy',
  );
  await letIn(s, [keyId, OWN], 'a scheme in lower case', '/reports', [
    'authorization',
    `bearer ${key}`,
  ]);
  const bare = await s.issue([]);
  await letIn(
    s,
    [bare.keyId, OWN],
    'a key without scopes where none is needed',
    '/whoami',
    bearer(bare.key),
  );
}

/** Catches: no-store only on denials. */
async function storesNoAnswer(s: Setting): Promise<void> {
  const { key } = await s.issue(['reports:read']);
  for (const path of ['/whoami', '/reports']) {
    const cache = values(await s.send('GET', path, bearer(key)), 'Cache-Control').join(', ');
    const stored = !/(?:^|,)[ \t]*no-store[ \t]*(?:,|$)/i.test(cache);
    check(
      !stored,
      `the answer to a key must carry Cache-Control: no-store, not ${JSON.stringify(cache)}`,
    );
  }
}

/**
 * Catches: custom answers instead of `toResponse`'s, a charset added to the type, a challenge
 * quoted by hand.
 */
async function deniesWithoutCredential(s: Setting): Promise<void> {
  await s.issue(['reports:read']);
  for (const path of ['/whoami', '/reports', `/reports?entity=${OWN}`])
    await denied(s, MISSING, `GET ${path}`, path);
}

/**
 * Catches: anything behind the first space taken for the key, and headers parsed or cut by hand.
 */
async function deniesOtherCredentials(s: Setting): Promise<void> {
  const { key } = await s.issue(['reports:read']);
  const other = await s.issue(['reports:read']);
  const send = (value: string, error: AccessError, what: string) =>
    denied(s, error, what, '/reports', ['Authorization', value]);
  for (const scheme of ['Basic', 'Digest', 'Token', 'ApiKey', 'Bearers'])
    await send(`${scheme} ${key}`, MISSING, `the scheme ${scheme}`);
  await send(`Basic ${btoa(`${key}:`)}`, MISSING, 'a key as the name of a user');
  await send(key, MISSING, 'a key without a scheme');
  await send('Bearer', MALFORMED, 'a bare Bearer');
  await send(`Bearer ${key} ${key}`, MALFORMED, 'two keys in one credential');
  await send(`Bearer ${key}, Bearer ${other.key}`, MALFORMED, 'two credentials in one line');
  await send(`Basic YTpi, Bearer ${key}`, MALFORMED, 'two schemes in one line');
}

/** Catches: a credential truncated to fit. */
async function deniesLongCredentials(s: Setting): Promise<void> {
  const { key } = await s.issue(['reports:read']);
  const line = bearer(key + 'x'.repeat(16_384));
  // Many servers, including Node's, refuse a line of this length (RFC 6585 §5): then there is no
  // request to deny.
  s.asked.length = 0;
  const { status } = await s.send('GET', '/reports', line);
  if (s.overHttp && s.asked.length === 0 && (status === 431 || status === 400)) return;
  await denied(s, MALFORMED, 'a credential of more than 16 KiB', '/reports', line);
}

/** Catches: `req.headers` passed on, where Node shows only the first line; the last one taken. */
async function deniesTwoLines(s: Setting): Promise<void> {
  const [one, other] = [
    bearer((await s.issue(['reports:read'])).key),
    bearer((await s.issue(['reports:read'])).key),
  ];
  const basic: Line = ['Authorization', 'Basic YTpi'];
  const pairs = {
    'one key twice': [one, one],
    'two keys': [one, other],
    'Basic and a key': [basic, one],
  };
  for (const [what, lines] of Object.entries(pairs)) {
    await denied(s, MALFORMED, `two Authorization lines, ${what}`, '/reports', ...lines);
    await denied(
      s,
      MALFORMED,
      `two Authorization lines, ${what}, the other way round`,
      '/reports',
      ...lines.reverse(),
    );
  }
}

/**
 * Catches: keys read from where they end up in logs and histories, or where a browser sends them
 * automatically.
 */
async function readsOneHeader(s: Setting): Promise<void> {
  const { key } = await s.issue(['reports:read']);
  for (const name of ['access_token', 'api_key', 'apikey', 'key', 'token', 'authorization'])
    await denied(s, MISSING, `a key in the query as ${name}`, `/reports?${name}=${key}`);
  for (const name of [
    'X-API-Key',
    'Api-Key',
    'X-Auth-Token',
    'X-Forwarded-Authorization',
    'Proxy-Authorization',
  ])
    for (const value of [key, `Bearer ${key}`]) {
      await denied(s, MISSING, `a key in ${name}`, '/reports', [name, value]);
      await denied(
        s,
        MISSING,
        `a key in ${name} beside Basic`,
        '/reports',
        ['Authorization', 'Basic YTpi'],
        [name, value],
      );
    }
  for (const name of ['access_token', 'authorization', 'key', 'token'])
    await denied(s, MISSING, `a key in the cookie ${name}`, '/reports', [
      'Cookie',
      `${name}=${key}`,
    ]);
}

/**
 * Catches: an answer that reveals which keys exist or existed; the reason, the key id or the state
 * in a header.
 */
async function deniesAllKeysAlike(s: Setting): Promise<void> {
  const { ring, clock, issue, watch } = s;
  const authority = { entityUuid: OWN, entities: [OTHER] };
  const expired = await issue(['reports:read']);
  clock.now += 1000;
  const [revoked, retired, live] = [
    await issue(['reports:read']),
    await issue(['reports:read']),
    await issue([]),
  ];
  await ring.revoke(revoked.keyId, { entityUuid: OWN });
  watch((await ring.rotate(retired.keyId, { overlapMs: 0 }, authority)).key);
  const { key } = live;
  const refused = {
    'an unknown key': watch(generateKey({ prefix: 'acme' })),
    'a key of another prefix': watch(generateKey({ prefix: 'else' })),
    'a wrong checksum': key.slice(0, -1) + (key.endsWith('0') ? '1' : '0'),
    'a revoked key': revoked.key,
    'a retired key': retired.key,
    'an expired key': expired.key,
    'a malformed key': `${key}0`,
    'a token of another kind': 'eyJhbGciOiJub25lIn0.e30.',
  };
  const ask = (what: string, credential: string) =>
    denied(s, INVALID, what, '/reports', bearer(credential));
  const answers = [await ask('a malformed key', 'x'), await ask('a malformed key', 'x')];
  for (const [what, credential] of Object.entries(refused))
    answers.push(await ask(what, credential));
  // A request id or the time, for example: headers whose value changes when the same request is
  // repeated.
  const [one = [], two = []] = answers.map(({ headers }) => headers);
  const fickle = new Set([
    'date',
    ...one.filter((line) => !two.some((its) => `${its}` === `${line}`)).map(([name]) => name),
  ]);
  const compared = answers.map((answer) => ({
    ...answer,
    headers: answer.headers.filter(([name]) => !fickle.has(name)),
  }));
  for (const [i, what] of ['a malformed key', 'the same again', ...Object.keys(refused)].entries())
    same(compared[i], compared[0], `${what} must be answered as every other key that is refused`);
}

/**
 * Catches: callers believed because a proxy, a test or an attacker names them, and entities that
 * nobody checks.
 */
async function believesNoOther(s: Setting): Promise<void> {
  const { key, keyId } = await s.issue(['reports:read']);
  const other = await s.issue(['reports:read'], OTHER);
  const names = [
    'User',
    'User-Id',
    'Key-Id',
    'Entity',
    'Entity-Uuid',
    'Organization',
    'Tenant',
    'Tenant-Id',
    'Internal',
  ];
  const values = [other.keyId, OTHER, FOREIGN, '1', 'true'];
  for (const value of values) {
    const forged = names.map((name): Line => [`X-${name}`, value]);
    forged.push(
      ['X-Scopes', 'reports:read'],
      ['X-Forwarded-User', value],
      ['X-Authenticated', 'true'],
    );
    await denied(s, MISSING, `headers that name a caller as ${value}`, '/reports', ...forged);
    await letIn(
      s,
      [keyId, OWN],
      `headers that name another caller, ${value}`,
      '/reports',
      bearer(key),
      ...forged,
    );
  }
}

// ── Scopes and entities ───────────────────────────────────────────────────────────────────────────────

/**
 * Catches: a guard that authenticates but does not authorize, or for another operation; 401 instead
 * of 403.
 */
async function deniesWithoutScope(s: Setting): Promise<void> {
  const [none, write] = [await s.issue([]), await s.issue(['reports:write'])];
  await denied(s, UNDER_SCOPED, 'a key without scopes', '/reports', bearer(none.key));
  await denied(s, UNDER_SCOPED, 'a key with another scope', '/reports', bearer(write.key));
  const path = `/reports?entity=${OTHER}`;
  await denied(
    s,
    UNDER_SCOPED,
    'a key with another scope, on an entity that it can address',
    path,
    bearer(write.key),
  );
}

/**
 * Catches: an entity reader that is not called, and the key's own entity passed on instead of the
 * checked one.
 */
async function handsOnTheEntity(s: Setting): Promise<void> {
  const { key, keyId } = await s.issue(['reports:read']);
  const on = (entity: string, what: string, query = '') =>
    letIn(s, [keyId, entity], what, `/reports${query}`, bearer(key));
  await on(OWN, 'no entity');
  await on(OTHER, 'another entity that the key can address', `?entity=${OTHER}`);
  await on(OWN, "the key's own entity", `?entity=${OWN}`);
  await on(OWN, 'no entity, after another was addressed');
  const elsewhere = await s.issue(['reports:read'], OTHER);
  await letIn(
    s,
    [elsewhere.keyId, OTHER],
    "another entity's key",
    '/reports',
    bearer(elsewhere.key),
  );
}

/**
 * Catches: the first or last of several values taken; values joined, trimmed or folded; empty taken
 * for none.
 */
async function deniesOtherEntities(s: Setting): Promise<void> {
  const { key } = await s.issue(['reports:read']);
  const ask = (query: string, error: AccessError) =>
    denied(s, error, `GET /reports?${query}`, `/reports?${query}`, bearer(key));
  await ask(`entity=${FOREIGN}`, NOT_ACCESSIBLE);
  const [own, other, many] = [`entity=${OWN}`, `entity=${OTHER}`, 'a&'.repeat(1000)];
  for (const query of [
    `${own}&${other}`,
    `${other}&${own}`,
    `${own}&${own}`,
    `${own}&entity=${FOREIGN}`,
    `${own}&entity=`,
    `entity=&${own}`,
    // Some parsers stop at 1,000 parameters, and would not see what is behind them.
    `${own}&${many}${other}`,
    `${many}entity=x`,
  ])
    await ask(query, MALFORMED);
  for (const value of [
    '',
    OWN.toUpperCase(),
    `${OWN}%20`,
    `${OWN},${OTHER}`,
    'null',
    'undefined',
    '1',
    '*',
    `{${OWN}}`,
  ])
    await ask(`entity=${value}`, MALFORMED);
}

// ── What goes wrong ───────────────────────────────────────────────────────────────────────────────────

/**
 * Catches: an outage reported as a bad key, a driver's text in an answer, requests let in while
 * nobody can check.
 */
async function deniesWhileStoreIsBroken(s: Setting): Promise<void> {
  const { key, keyId } = await s.issue(['reports:read']);
  // Drivers quote what they were asked for.
  s.hooks.lookUp = (digests) => Promise.reject(new Error(`${DRIVER_TEXT}: ${digests}`));
  for (const path of ['/whoami', '/reports', `/reports?entity=${OTHER}`])
    await denied(s, OUTAGE, `GET ${path} while the store is broken`, path, bearer(key));
  s.hooks.lookUp = async () => {};
  await letIn(
    s,
    [keyId, OWN],
    'the same key once the store is there again',
    '/reports',
    bearer(key),
  );
}

/** Catches: every error turned into a denial, and requests let in when the guard itself fails. */
async function failsOnBugs(s: Setting): Promise<void> {
  const { key } = await s.issue(['reports:read']);
  const text = 'a bug, put here by the contract of adapters';
  for (const bug of [
    new TypeError(text),
    new Error(text),
    Object.assign(new Error(text), { code: 'invalid_token' }),
    text,
    '', // To `if (error)` this is none. Frameworks break on `undefined`: Koa never answers, Elysia and h3 crash.
  ]) {
    s.hooks.admit = () => Promise.reject(bug);
    const what = `an admit that rejects with ${bug || 'an empty text'}`;
    isFailure(await s.send('GET', '/reports', bearer(key)), what);
    check(s.calls.length === 0, `${what}: the handler must not run`);
  }
}

/**
 * Catches: a handler inside the guard's own `try`, whose errors become denials or run it a second
 * time.
 */
async function failsWithItsHandler(s: Setting): Promise<void> {
  const { key } = await s.issue(['reports:read']);
  s.hooks.handler = () => {
    throw new Error('a handler that fails, put here by the contract of adapters');
  };
  isFailure(await s.send('GET', '/reports', bearer(key)), 'a handler that throws');
  check(s.calls.length === 1, `a handler that throws must run once, not ${s.calls.length} times`);
}

/**
 * Catches: one admission per route and another per app, decisions kept, by connection too, denials
 * that the keyring is not told of.
 */
async function asksOnce(s: Setting): Promise<void> {
  const { key } = await s.issue([]);
  const asks: readonly (readonly [string, string, readonly Line[]])[] = [
    ['/whoami', 'admit whoami', [bearer(key)]],
    ['/whoami', 'admit whoami', [bearer(key)]],
    ['/whoami', 'admit whoami', []],
    ['/whoami', 'admit whoami', [['Authorization', `Basic ${key}`]]],
    ['/reports', 'admit readReports', [bearer(key)]],
    ['/reports?entity=1', 'admit readReports', []],
  ];
  const askAll = async (send: Setting['send']) => {
    for (const [path, expected, lines] of asks) {
      s.asked.length = 0;
      await send('GET', path, ...lines);
      same(s.asked, [expected], `what GET ${path} asks of the keyring`);
    }
  };
  // A proxy sends requests of all its callers over one connection.
  await (s.onOneConnection(askAll) || askAll(s.send));
}

/** Catches: the caller kept where the next request overwrites it. */
async function keepsRequestsApart(s: Setting): Promise<void> {
  const [one, two] = [await s.issue(['reports:read']), await s.issue(['reports:read'], OTHER)];
  const asks = [
    { ...one, query: '', entity: OWN },
    { ...one, query: `?entity=${OTHER}`, entity: OTHER },
    { ...two, query: '', entity: OTHER },
  ];
  let [gate, turns]: [Promise<void> | undefined, number] = [undefined, 0];
  // Look-ups wait for one another at a timer and resume together, some turns apart: other requests
  // take steps between two steps of a request, and requests end in a different order than they
  // began.
  s.hooks.lookUp = async () => {
    const late = turns++ % 5;
    gate ??= new Promise<void>((resolve) => setTimeout(resolve, 10)).finally(() => {
      gate = undefined;
    });
    await gate;
    for (let i = 0; i < late; i++) await undefined;
  };
  const all = Array.from({ length: 20 }, (_, i) => asks[i % asks.length]).filter(
    (ask) => ask !== undefined,
  );
  const requests = all.map(async ({ key, keyId, query, entity }) => {
    const { status, body } = await s.send('GET', `/reports${query}`, bearer(key));
    same(
      { status, body },
      { status: 200, body: said(keyId, entity) },
      '20 requests at once: whom a handler ran for',
    );
  });
  await Promise.all(requests);
  check(s.calls.length === 20, `20 requests at once: 20 handlers must run, not ${s.calls.length}`);
}

/** Catches: a body in an answer to HEAD, and HEAD let in where GET is denied. */
async function deniesHead(s: Setting): Promise<void> {
  const [none, read] = [await s.issue([]), await s.issue(['reports:read'])];
  const asks: readonly (readonly [number, string, string, readonly Line[]])[] = [
    [401, 'no credential', '', []],
    [403, 'a key without the scope', '', [bearer(none.key)]],
    [403, 'an entity that the key cannot address', `?entity=${FOREIGN}`, [bearer(read.key)]],
  ];
  for (const [expected, what, query, lines] of asks) {
    const { status, body } = await s.send('HEAD', `/reports${query}`, ...lines);
    // If GET routes do not serve HEAD, there is nothing to guard.
    const unserved = status === 404 || status === 405;
    check(
      unserved || status === expected,
      `HEAD with ${what}: the status must be ${expected}, not ${status}`,
    );
    check(body === '', `HEAD with ${what}: the answer must have no body`);
    check(s.calls.length === 0, `HEAD with ${what}: the handler must not run`);
  }
}

// ── Set-up ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Fails unless serving with an unusable option throws a TypeError, before any request could reveal
 * it.
 */
async function refusesToServe(serve: ServeAdapter, change: object): Promise<void> {
  let served: ServedAdapter;
  try {
    served = await serve({ ...makeService().setup, ...change });
  } catch (error) {
    check(
      error instanceof TypeError,
      `serve must throw a TypeError, not ${Object(error).name}: ${Object(error).message}`,
    );
    return;
  }
  await served?.close?.();
  throw new Error(
    'serve must throw a TypeError, and it started the app: when a guard is made, call policy.requires(operation) and ' +
      'toResponse(undefined, { realm, resourceMetadata }), and look for keyring.admit',
  );
}

/**
 * Catches: operations looked up only by the first request, a challenge written only by the first
 * denial.
 */
const REFUSED_AT_SET_UP: readonly (readonly [string, object])[] = [
  [
    'an operation that the policy lacks is refused at set-up',
    { policy: definePolicy(catalog, { whoami: [] }) },
  ],
  ['a realm that no header can carry is refused at set-up', { realm: 'a\r\nb' }],
  ['a guard without a keyring is refused at set-up', { keyring: undefined }],
];

const CONTRACT: readonly (readonly [string, (setting: Setting) => Promise<void>])[] = [
  ['a key that holds the scope is let in, with its principal and its entity', letsKeysIn],
  ['an answer to a key is not to be stored', storesNoAnswer],
  ['no credential is denied, byte for byte as toResponse says', deniesWithoutCredential],
  ['another scheme and a malformed credential are denied', deniesOtherCredentials],
  ['a credential of more than 16 KiB is denied', deniesLongCredentials],
  ['two Authorization lines are denied, whatever they are', deniesTwoLines],
  ['a key anywhere else is no credential', readsOneHeader],
  ['no other header says who is calling', believesNoOther],
  ['keys that are refused are answered alike, whatever the reason', deniesAllKeysAlike],
  ['a key without the scope is denied, and the challenge names it', deniesWithoutScope],
  ['the entity that was checked is handed to the handler', handsOnTheEntity],
  ['an entity that is not accessible, repeated or malformed is denied', deniesOtherEntities],
  ['a broken store is 503, and no bad key', deniesWhileStoreIsBroken],
  ['a bug lets nobody in, and is no denial', failsOnBugs],
  ['a handler that throws runs once, and is no denial', failsWithItsHandler],
  ['the keyring is asked once a request, for the operation of the route', asksOnce],
  ['20 requests at once: each handler has its own caller', keepsRequestsApart],
  ['HEAD is denied as GET is, without a body', deniesHead],
];

// ── Principals ────────────────────────────────────────────────────────────────────────────────────────

/** The caller in the test of a handler. */
export interface TestPrincipalOptions<C extends Catalog = Catalog> {
  readonly catalog: C;
  /** Concrete scopes of the catalog. */
  readonly scopes: readonly ScopeOf<C>[];
  /** Default: `00000000-0000-4000-8000-000000000001`. */
  readonly entityUuid?: string;
  /** In addition to `entityUuid`, which is always included. */
  readonly accessibleEntities?: readonly string[];
  /** Default: `00000000-0000-4000-8000-000000000002`. */
  readonly keyId?: string;
  /** Default: `test`. */
  readonly name?: string;
  readonly metadata?: Principal['metadata'];
  /** Milliseconds since the epoch. Default: `null`, never. */
  readonly expiresAt?: number | null;
  /** Default: `key`. */
  readonly via?: 'key' | 'jwt';
}

const PRINCIPAL_OPTIONS = [
  'catalog',
  'scopes',
  'entityUuid',
  'accessibleEntities',
  'keyId',
  'name',
  'metadata',
  'expiresAt',
  'via',
] as const;

/**
 * Makes a principal that every guard accepts, without a key, a keyring or a store. For tests only:
 * nobody was authenticated. A service that calls it outside its tests has no authentication there.
 *
 * Not checked: `keyId`, `name`, `metadata`, `expiresAt`, `via`.
 *
 * @throws TypeError without a catalog, on a scope that the catalog lacks, an entity that is not a
 *   UUID, an unknown option, or one inherited from a class or a prototype.
 * @example
 * const principal = testPrincipal({ catalog, scopes: ['threats:read'] });
 * expect(listThreats(principal)).toEqual([]);
 */
export function testPrincipal<const C extends Catalog>(
  options: TestPrincipalOptions<C>,
): Principal {
  const given = readFields(
    options,
    PRINCIPAL_OPTIONS,
    'testPrincipal',
  ) as unknown as TestPrincipalOptions;
  const {
    catalog,
    scopes,
    metadata = {},
    entityUuid = '00000000-0000-4000-8000-000000000001',
  } = given;
  assert(
    typeof catalog?.expand === 'function',
    'testPrincipal: catalog: pass what defineScopes returned',
  );
  const known = new Set<string>(catalog.all);
  assert(Array.isArray(scopes), 'scopes: pass a list of scopes of the catalog');
  for (const scope of scopes) catalog.describe(scope);
  assert(isUuid(entityUuid), 'entityUuid: pass a UUID in lower case', entityUuid);
  const source = {
    keyId: given.keyId ?? '00000000-0000-4000-8000-000000000002',
    name: given.name ?? 'test',
    entityUuid,
    accessibleEntities: readEntities(entityUuid, given.accessibleEntities, 'accessibleEntities'),
    // Each once and in catalog order, as `issue` stores them.
    scopes: Object.freeze(catalog.expand(scopes)),
    metadata: Object.freeze({ ...metadata }),
    expiresAt: given.expiresAt ?? null,
  };
  return createPrincipal(source, given.via ?? 'key', known);
}
