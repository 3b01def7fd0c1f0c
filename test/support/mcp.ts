/**
 * Shared by the MCP tests: a small policy and its tools, tokens with a verifier that ignores the
 * audience, JSON-RPC requests, and a gate over a test keyring.
 */
import { jwtVerify, SignJWT } from 'jose';
import type { KeyringEvent, KeyStore, Policy, Principal, TokenVerifier } from 'keyscope';
import { AccessError, definePolicy } from 'keyscope';
import type { McpEntry, McpGate, McpGateOptions, McpTool } from 'keyscope/mcp';
import { createMcpGate } from 'keyscope/mcp';
import { expect } from 'vitest';
import {
  AUTHORITY,
  catalog,
  OTHER,
  OWN,
  type Ring,
  type RingOptions,
  setUp,
  untyped,
} from './keyring.ts';

export const RESOURCE = 'https://api.example.com/mcp';
export const METADATA_URL = 'https://api.example.com/.well-known/oauth-protected-resource/mcp';
const REALM = 'test';

export type Operation = 'connect' | 'whoami' | 'listThreats' | 'updateThreat' | 'listUsers';

export const policy: Policy<Operation, typeof catalog> = definePolicy(catalog, {
  connect: [],
  whoami: [],
  listThreats: ['threats:read'],
  updateThreat: ['threats:read', 'threats:write'],
  listUsers: ['users:read'],
});

export interface Tool extends McpTool {
  readonly name: Operation;
}

export const tools: readonly Tool[] = policy.operations
  .filter((name) => name !== 'connect')
  .map((name) => ({ name }));

// ── Credentials ────────────────────

const SECRET = new TextEncoder().encode('a secret of the tests, of thirty-two bytes and more');

/** Accepts any token signed with the secret, for any audience. */
export const tokens: TokenVerifier = {
  async verify(token) {
    const checked = await jwtVerify(token, SECRET).catch(() => null);
    if (checked === null) throw new AccessError('invalid_token', 'token_refused');
    const { principal } = checked.payload;
    return untyped<Principal>(principal);
  },
};

/** Makes a real JWT for the key of a principal. */
export function tokenFor(principal: Principal, audience: unknown = RESOURCE): Promise<string> {
  const { keyId, name, entityId, accessibleEntities, scopes } = principal;
  const claimed = {
    keyId,
    name,
    entityId,
    accessibleEntities,
    scopes,
    metadata: {},
    expiresAt: 4e12,
  };
  return new SignJWT({ aud: untyped<string>(audience), principal: claimed })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(SECRET);
}

/** Issues a key for two entities, {@link OWN} and {@link OTHER}. */
export function issueForTwo(keyring: Ring): ReturnType<Ring['issue']> {
  const input = {
    name: 'n',
    scopes: ['threats:read'],
    expiresAt: 'never',
    accessibleEntities: [OTHER],
  } as const;
  return keyring.issue(input, { ...AUTHORITY, entities: [OWN, OTHER] });
}

// ── Requests ────────────────────

type HeaderFields = Readonly<Record<string, string>>;

export const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

/** Makes the message that calls a tool. */
export function call(name: unknown, args?: unknown, id = 1): object {
  const params = args === undefined ? { name } : { name, arguments: args };
  return { jsonrpc: '2.0', id, method: 'tools/call', params };
}

/** Makes a request with a message or a raw text. Its host is not that of the server. */
export function post(credential: string | null, body: unknown, more: HeaderFields = {}): Request {
  const headers = new Headers({ 'content-type': 'application/json' });
  if (credential !== null) headers.set('authorization', `Bearer ${credential}`);
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return new Request('https://attacker.example/mcp', { method: 'POST', headers, body: text });
}

// ── The gate ────────────────────

interface Gated {
  readonly gate: McpGate;
  readonly keyring: Ring;
  readonly store: KeyStore;
  /** The events of the keyring. The first is `key.issued` once a test issues a key. */
  readonly events: KeyringEvent[];
}

/** Makes a gate over a new keyring, with the options of a test. */
export function setUpGate(
  options: Partial<McpGateOptions> = {},
  keyringOptions: RingOptions<typeof catalog, Operation> = {},
): Gated {
  const { keyring, store, events } = setUp({ policy, tokens, ...keyringOptions });
  const gate = createMcpGate({ keyring, tools, realm: REALM, resource: RESOURCE, ...options });
  return { gate, keyring, store, events };
}

/** Returns the entry of a request; fails if the gate denied it. */
export function entered(answer: McpEntry | Response): McpEntry {
  if (answer instanceof Response) throw new Error(`was answered ${answer.status}`);
  return answer;
}

/** A denial, as a client sees it. */
export interface Refusal {
  readonly status: number;
  readonly challenge: string | null;
  readonly body: string;
}

/** Returns the denial of a request; fails if the gate admitted it. */
export async function refused(answer: McpEntry | Response): Promise<Refusal> {
  if (!(answer instanceof Response)) throw new Error('was let in');
  const { status, headers } = answer;
  const body = await answer.text();
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(JSON.parse(body)).toMatchObject({ type: 'about:blank', status });
  return { status, challenge: headers.get('www-authenticate'), body };
}

/** Returns the challenge with these parameters, each with a comma, between realm and metadata. */
export function challenge(params: string): string {
  return `Bearer realm="${REALM}", ${params}resource_metadata="${METADATA_URL}"`;
}
