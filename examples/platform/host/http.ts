/**
 * The HTTP edge that the three servers share, so that a request gets the same answer from each
 * framework. The frameworks route, guard and read the body; this file does the rest.
 */
import type { Principal } from 'keyscope';
import type { Domain } from '../service/domain.ts';
import { Conflict } from '../service/domain.ts';
import type { PlatformKeyring } from '../service/policy.ts';
import type { Answer, Report } from '../service/problem.ts';
import { problem, Refusal, refused } from '../service/problem.ts';
import type { Route } from '../service/route.ts';
import { routes } from '../service/routes.ts';
import type { Readiness } from './readiness.ts';
import type { Tokens } from './tokens.ts';

/** The parts of a server. */
export interface Service {
  readonly keyring: PlatformKeyring;
  readonly domain: Domain;
  /** The origin at which clients reach the service, such as `https://api.example.com`. */
  readonly publicUrl?: string;
  /** Accepts tokens for MCP, where `keyring` accepts tokens for REST. Default: `keyring`. */
  readonly mcpKeyring?: PlatformKeyring;
  /** Makes tokens; absent if the service does not make any. */
  readonly tokens?: Tokens;
  /** Answers `/readyz`; absent if the service does not. */
  readonly readiness?: Readiness;
  /**
   * Gets each error that is not the client's fault, including outages of the key store. Default:
   * `console.error`.
   */
  readonly report?: Report;
}

export const REALM = 'deception platform';
const ENTITY = 'entity_uuid';

// ── Requests ────────────────────────────────────────────────────────────────────────────────────

/** Reads the query of a URL or path in the same way for all frameworks. */
function parametersOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
}

/** Returns all values of `entity_uuid`. Without one, the guard uses the key's own entity. */
export function entityOf(url: string): readonly string[] {
  return parametersOf(url).getAll(ENTITY);
}

function readQuery(url: string): Record<string, string> {
  const others = [...parametersOf(url)].filter(([name]) => name !== ENTITY);
  const query = Object.fromEntries(others);
  const isRepeated = Object.keys(query).length < others.length;
  if (isRepeated) throw new Refusal(400, 'query: a parameter is repeated');
  return query;
}

/** A request after its guard. */
export interface Admitted {
  readonly principal: Principal;
  readonly entityId: string;
  readonly params: { readonly id?: string | string[] };
  readonly url: string;
  readonly header: (name: string) => string | null | undefined;
  /** The body as bytes. No body counts as empty. */
  readonly body?: unknown;
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;

function bytesOf(body: unknown): Uint8Array | ArrayBuffer {
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) return body;
  return new Uint8Array();
}

/** Returns `undefined` for an empty body, which needs no type. */
function readBody({ header, body }: Admitted): unknown {
  const type = header('content-type') ?? null;
  const isJson = type === null || JSON_TYPE.test(type);
  const encoding = header('content-encoding') ?? 'identity';
  if (!isJson || encoding.toLowerCase() !== 'identity') throw refused(415);
  const bytes = bytesOf(body);
  if (bytes.byteLength === 0) return undefined;
  if (type === null) throw refused(415);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new Refusal(400, 'body: this is not JSON in UTF-8');
  }
}

function handle(route: Route, domain: Domain, request: Admitted): Answer {
  const { principal, entityId, params, url } = request;
  const query = readQuery(url);
  const body = route.method === 'GET' ? undefined : readBody(request);
  if (route.body === null && body !== undefined)
    throw new Refusal(400, 'body: this operation takes none');
  const answered = route.handle({ domain, principal, entityId, id: params.id, query, body });
  const { status } = route;
  if (answered === undefined) return { status, headers: {}, body: '' };
  const headers = { 'Content-Type': 'application/json' };
  return { status, headers, body: JSON.stringify(answered) };
}

/** Answers an admitted request. Rejects with errors that are not the client's fault. */
export async function answer(
  route: Route,
  { domain }: Service,
  request: Admitted,
): Promise<Answer> {
  try {
    return handle(route, domain, request);
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    if (error instanceof Conflict) return problem(409, error.message);
    throw error;
  }
}

// ── Requests without a route ────────────────────────────────────────────────────────────────────

const PATHS = routes.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replace(/:[a-z]+/g, '[^/]+')}$`),
}));

/**
 * Answers a request without a route: 404 for an unknown path, and for a known one 405, or 204 to
 * OPTIONS, both with `Allow`. These need no credential, because they reveal only what the
 * documentation says.
 */
export function unrouted(method: string, url: string): Answer {
  const path = url.replace(/\?.*$/, '');
  const methods: string[] = PATHS.filter(({ pattern }) => pattern.test(path)).map(
    (route) => route.method,
  );
  if (methods.length === 0) return problem(404, 'There is nothing at this path.');
  if (methods.includes('GET')) methods.push('HEAD');
  const allow = [...methods, 'OPTIONS'].sort().join(', ');
  return unserved(method, allow);
}

/** Answers OPTIONS, and a method that the path does not have. */
export function unserved(method: string, allow: string): Answer {
  if (method !== 'OPTIONS')
    return problem(405, 'This path does not take this method.', { Allow: allow });
  return { status: 204, headers: { Allow: allow, 'Cache-Control': 'no-store' }, body: '' };
}
