/** Leak handlers for tests, and reports in the format of each source. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GitHubSource, Leak, LeakHandler, LeakHandlerOptions } from 'keyscope/leaks';
import { createLeakHandler } from 'keyscope/leaks';
import { memoryStore } from 'keyscope/stores/memory';
import { type Between, type Method, recording, setUp, wrap } from './keyring.ts';
import { readVectors } from './vectors.ts';

/** An entry of the list that GitHub publishes. */
export interface ListedKey {
  readonly key_identifier: string;
  readonly key: string;
  readonly is_current: boolean;
}

interface SignedVector {
  readonly comment: string;
  readonly identifier: string;
  readonly signature: string;
  readonly body: string;
}

/** The examples that the vendors document. */
export const VECTORS = readVectors<{
  readonly publicKeys: readonly ListedKey[];
  readonly signed: readonly SignedVector[];
  readonly gitlab: {
    readonly types: object;
    readonly tokens: readonly { readonly type: string }[];
  };
}>('leaks');

// ── A signer, and the list of its key ────────────────────────────────────────────────────────────

/** A key pair with an entry for the list. */
export interface Signer {
  readonly listed: ListedKey;
  sign(body: string | Uint8Array): string;
}

export function createSigner(identifier: string, privateKey?: KeyObject): Signer {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return {
    listed: { key_identifier: identifier, key, is_current: true },
    sign: (body) => {
      return sign('sha256', Buffer.from(body), privateKey ?? pair.privateKey).toString('base64');
    },
  };
}

export const SIGNER: Signer = createSigner('current');

/** A list served over HTTP, whose answer tests can change. */
export interface Listing {
  readonly url: string;
  /** The option for the handler. Its `fetch` always goes to this server. */
  readonly source: GitHubSource;
  /** The number of requests so far. */
  asked(): number;
  /** Sets the answer for all later requests. The status null never answers. */
  answer(status: number | null, body: unknown, headers?: Readonly<Record<string, string>>): void;
  close(): void;
}

export async function openListing(keys: readonly ListedKey[]): Promise<Listing> {
  let count = 0;
  let now: { status: number | null; text: string; headers: Readonly<Record<string, string>> };
  function answer(status: number | null, body: unknown, headers = {}): void {
    now = { status, text: typeof body === 'string' ? body : JSON.stringify(body), headers };
  }
  answer(200, { public_keys: keys });
  const server: Server = createServer((_request, response) => {
    count += 1;
    if (now.status !== null) response.writeHead(now.status, now.headers).end(now.text);
  });
  // Avoids resets of idle connections on a busy machine: see `listen` in the tests of examples.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    source: { fetch: (_url, init) => fetch(url, init) },
    asked: () => count,
    answer,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

// ── Handlers ─────────────────────────────────────────────────────────────────────────────────────

/** The secret of GitLab in all tests. */
export const SECRET = 'a secret of at least thirty-two characters'.replaceAll(' ', '-');
export const TYPE = 'gitleaks_rule_id_acme';

/** Makes a keyring and a handler for it, and records their events, leaks and errors. */
export function setUpLeaks(options: Partial<LeakHandlerOptions>) {
  const recorded = recording(memoryStore());
  let between: Between = (_method, _args, call) => call();
  const ring = setUp({ store: wrap(recorded.store, (...call) => between(...call)) });
  const found: Leak[] = [];
  const errors: unknown[] = [];
  const leaks = createLeakHandler({
    keyrings: { acme: ring.keyring },
    onLeak: (leak) => void found.push(leak),
    onError: (error) => errors.push(error),
    ...options,
  });
  const calls: Method[] = recorded.calls;
  /** Intercepts all later calls of the keyring to its store. */
  function intercept(next: Between): void {
    between = next;
  }
  return { ...ring, leaks, found, errors, calls, intercept };
}

// ── Reports ──────────────────────────────────────────────────────────────────────────────────────

const BASE = 'https://api.example.com/leaks';
type Headers = Readonly<Record<string, string>>;

export interface Found {
  readonly token: string;
  readonly type?: string;
  readonly url?: string;
  readonly source?: string;
}

/** Makes a request as GitHub sends it, signed unless `headers` replace the signature. */
export function fromGitHub(
  found: readonly Found[] | string,
  signer: Signer = SIGNER,
  headers: Headers = {},
): Request {
  const listed =
    typeof found === 'string' ? found : found.map((find) => ({ type: 'acme_key', ...find }));
  const body = typeof listed === 'string' ? listed : JSON.stringify(listed);
  return post('github', body, {
    'content-type': 'application/json',
    'github-public-key-identifier': signer.listed.key_identifier,
    'github-public-key-signature': signer.sign(body),
    ...headers,
  });
}

export function fromGitLab(found: unknown, headers: Headers = {}): Request {
  const body = typeof found === 'string' ? found : JSON.stringify(found);
  const type = { 'content-type': 'application/json' };
  return post('gitlab/v1/revoke_tokens', body, { ...type, authorization: SECRET, ...headers });
}

export function fromHolder(token: string): Request {
  return fromHolderAs(new URLSearchParams({ token, token_type_hint: 'access_token' }).toString());
}

export function fromHolderAs(
  body: string,
  type: string = 'application/x-www-form-urlencoded',
  headers: Headers = {},
): Request {
  return post('revoke', body, { 'content-type': type, ...headers });
}

export function post(path: string, body: string, headers: Headers = {}): Request {
  return new Request(`${BASE}/${path}`, { method: 'POST', headers, body });
}

export function get(path: string, headers: Headers = {}): Request {
  return new Request(`${BASE}/${path}`, { headers });
}

/** Returns the status and body of an answer, and whether it forbids storing. */
export async function answerOf(leaks: LeakHandler, request: Request) {
  const response = await leaks(request);
  const text = await response.text();
  const noStore = response.headers.get('cache-control') === 'no-store';
  const body: unknown = text === '' ? null : JSON.parse(text);
  return { status: response.status, body, noStore };
}
