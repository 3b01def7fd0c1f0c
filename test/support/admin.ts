/** Endpoints to manage keys, and requests to them. */
import { DatabaseSync } from 'node:sqlite';
import type { KeyStore, TokenVerifier } from 'keyscope';
import { createKeyAdmin, type KeyAdmin, type KeyAdminOptions } from 'keyscope/admin';
import { memoryStore } from 'keyscope/stores/memory';
import { migrate, sqliteStore } from 'keyscope/stores/sqlite';
import { expect } from 'vitest';
import { OWN, setUp } from './keyring.ts';

export const BASE = 'https://api.example.com';
export const ACTOR = 'ada@example.com';
export const GRANT = { entityId: OWN, scopes: 'all', actor: ACTOR } as const;
/** The part of a policy that lets every key manage keys. */
export const OPEN_OPERATIONS = {
  listKeys: [],
  getKey: [],
  issueKey: [],
  issueKeylessKey: [],
  rotateKey: [],
  suspendKey: [],
  resumeKey: [],
  revokeKey: [],
  revokeKeyLineage: [],
  withdrawFromKey: [],
} as const;
export const BODY = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' } as const;

function createSqlite(): KeyStore {
  const database = new DatabaseSync(':memory:');
  migrate(database);
  return sqliteStore(database);
}

/** The stores on which each endpoint is tested. */
export const STORES: readonly (readonly [string, () => KeyStore])[] = [
  ['memory', memoryStore],
  ['SQLite', createSqlite],
];

/** Makes endpoints whose callers act for `OWN` by default. */
export function setUpAdmin(
  options: Partial<KeyAdminOptions> = {},
  store: KeyStore = memoryStore(),
  tokens?: TokenVerifier,
) {
  const ring = setUp({ store, tokens });
  const errors: unknown[] = [];
  const admin = createKeyAdmin({
    keyring: ring.keyring,
    authorityOf: () => GRANT,
    onError: (error) => errors.push(error),
    ...options,
  });
  return { ...ring, admin, errors };
}

type Headers = Readonly<Record<string, string>>;

export function get(path: string, headers: Headers = {}): Request {
  return new Request(BASE + path, { headers });
}

/** Sends a string unchanged, anything else as JSON. */
export function post(path: string, body: unknown = {}, headers: Headers = {}): Request {
  return new Request(BASE + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** The fields of a response body, unchecked. */
export interface Body {
  readonly key?: unknown;
  readonly info?: unknown;
  readonly keys?: unknown;
  readonly next?: unknown;
  readonly state?: unknown;
  readonly revoked?: unknown;
  readonly detail?: unknown;
}

/** Checks the status and `no-store`, and returns the body. */
export async function answered(answer: Promise<Response>, status: number): Promise<Body> {
  const response = await answer;
  const text = await response.text();
  expect([response.status, text]).toEqual([status, expect.anything()]);
  expect(response.headers.get('cache-control')).toBe('no-store');
  if (text === '') return {};
  const isProblem = status >= 400;
  const type = isProblem ? 'application/problem+json' : 'application/json';
  expect(response.headers.get('content-type')).toBe(type);
  const body = JSON.parse(text) as Body;
  if (isProblem) expect(body).toMatchObject({ type: 'about:blank', status });
  return body;
}

/** Asserts a 400 that names the field and says what is allowed. */
export async function malformed(answer: Promise<Response>, field: string): Promise<string> {
  const body = await answered(answer, 400);
  expect(body).toMatchObject({
    error: 'invalid_input',
    field,
    detail: expect.any(String) as unknown,
  });
  const detail = String(body.detail);
  // Neither the generic sentence nor one of zod's.
  expect(detail).not.toMatch(/^A field is missing|^Invalid|expected/);
  return detail;
}

/** Makes a key through the endpoint; returns its id. */
export async function issueBy(admin: KeyAdmin, over: object = {}): Promise<string> {
  const { info } = await answered(admin(post('/keys', { ...BODY, ...over })), 201);
  return (info as { readonly keyId: string }).keyId;
}
