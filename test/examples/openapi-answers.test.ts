/**
 * The real refusals of guarded servers, compared with their OpenAPI document: every operation and
 * every kind of refusal on all three frameworks.
 */
import { AccessError, InputError, StoreError, toResponse } from 'keyscope';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REALM } from '../../examples/platform/host/http.ts';
import { openApi } from '../../examples/platform/host/openapi.ts';
import { policy } from '../../examples/platform/service/policy.ts';
import { routes } from '../../examples/platform/service/routes.ts';
import { createValidator } from '../support/schemas.ts';
import type { Json } from '../support/vectors.ts';
import { C, type Fleet, named, startAll } from './http-harness.ts';

interface Named<T> {
  readonly [name: string]: { readonly value: T };
}
interface Described {
  readonly headers: Readonly<
    Record<string, { readonly required?: boolean; readonly examples?: Named<string> }>
  >;
  readonly content: Readonly<Record<string, { readonly examples: Named<unknown> }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: { readonly AccessProblem: object };
    readonly responses: Readonly<Record<string, Described>>;
  };
}

const document = openApi('https://deception.example') as unknown as Document;
const { schemas, responses } = document.components;
/** The headers that toResponse adds as RFC 9110 requires: a challenge, or the time to retry. */
const HEADERS = ['WWW-Authenticate', 'Retry-After'];
/** An unknown id, which is enough, because every request is refused before it is used. */
const NOBODY = '00000000-0000-4000-8000-000000000000';

let fleet: Fleet;
let isProblem: (body: Json) => Promise<boolean>;
beforeAll(async () => {
  fleet = await startAll();
  isProblem = await createValidator(schemas.AccessProblem);
});
afterAll(() => fleet.stop());

/** Returns the documented response for a status of a route. */
function describedBy(path: string, method: string, status: number): Described {
  const operation = document.paths[path.replace(':id', '{id}')]?.[method.toLowerCase()] as
    | { readonly responses: Readonly<Record<string, { readonly $ref: string }>> }
    | undefined;
  const name = operation?.responses[status]?.$ref.replace('#/components/responses/', '') ?? '';
  const found = responses[name];
  if (found === undefined) throw new Error(`${method} ${path} has no ${status}`);
  return found;
}

/** The name of an example: the `error`, or else the status. */
function codeOf({ status, error }: { readonly status: number; readonly error?: string }): string {
  if (error !== undefined) return error;
  return status === 503 ? 'outage' : 'missing_credentials';
}

interface Body {
  readonly status: number;
  readonly error?: string;
  readonly scope?: string;
}

/** Compares an answer with a documented response, and returns its code. */
async function fits(response: Response, described: Described, needs: readonly string[]) {
  const body = (await response.json()) as Body;
  expect(await isProblem(body as unknown as Json)).toBe(true);
  expect(response.headers.get('Content-Type')).toBe('application/problem+json');
  const code = codeOf(body);
  const [declared] = Object.entries(described.headers);
  for (const name of HEADERS) {
    const sent = response.headers.get(name);
    const isDeclared = name === declared?.[0];
    if (sent !== null) expect(isDeclared, name).toBe(true);
    if (isDeclared && declared?.[1].required === true) expect(sent, name).not.toBeNull();
    // Only the scopes differ between operations.
    const example = declared?.[1].examples?.[code]?.value;
    const shown = example?.replace(/scope="[^"]*"/, `scope="${needs.join(' ')}"`);
    if (isDeclared) expect(sent ?? undefined, code).toBe(shown);
  }
  const example = described.content['application/problem+json']?.examples[code]?.value as Body;
  const { scope: _, ...rest } = example;
  expect(body).toEqual(body.scope === undefined ? rest : { ...rest, scope: needs.join(' ') });
  return code;
}

const KINDS = {
  'no credential': ['', ''],
  'an unknown key': ['unknown', ''],
  'a revoked key': ['revoked', ''],
  'a malformed entity': ['full', '?entity_uuid=x'],
  'a key without scopes': ['bare', ''],
  'an entity out of reach': ['full', `?entity_uuid=${C}`],
  'a broken store': ['outage', ''],
} as const;

describe.each(Object.entries(KINDS))('%s', (kind, [credential, query]) => {
  it('is refused as documented by every operation of every server', async () => {
    const codes = new Set<string>();
    for (const running of fleet.all) {
      for (const { method, path, operation } of routes) {
        const needs = policy.requires(operation);
        // Every key may call whoami.
        if (kind === 'a key without scopes' && needs.length === 0) continue;
        const key = credential === '' ? undefined : named(running, credential);
        const target = path.replace(':id', NOBODY) + query;
        const response = await fetch(`http://127.0.0.1:${running.port}${target}`, {
          method,
          ...(key !== undefined && { headers: { Authorization: `Bearer ${key}` } }),
        });
        const described = describedBy(path, method, response.status);
        codes.add(await fits(response, described, needs));
      }
    }
    expect(codes.size).toBe(1);
  });
});

describe('the schema of a refusal', () => {
  const options = { realm: REALM };
  const valid = (error: unknown) => isProblem(JSON.parse(toResponse(error, options).body) as Json);

  it('fits every answer of toResponse, including those of key management', async () => {
    const codes = ['missing_credentials', 'invalid_request', 'invalid_token', 'insufficient_scope'];
    const managing = ['entity_forbidden', 'ceiling_exceeded', 'not_found', 'conflict'];
    for (const code of [...codes, ...managing]) {
      expect(await valid(new AccessError(code as 'conflict', 'no_header')), code).toBe(true);
    }
    expect(await valid(new InputError('name', 'pass a name'))).toBe(true);
    expect(await valid(new StoreError('down'))).toBe(true);
    expect(await valid(new Error('a bug'))).toBe(true);
  });

  it('has every member, and fits nothing else', async () => {
    const { properties } = schemas.AccessProblem as { readonly properties: object };
    const errors = [
      new InputError('name', 'pass a name'),
      new AccessError('insufficient_scope', 'scope_missing', { requiredScopes: ['a:b'] }),
    ];
    const members = errors.flatMap((error) =>
      Object.keys(JSON.parse(toResponse(error, options).body) as object),
    );
    expect([...new Set(members)].sort()).toEqual(Object.keys(properties).sort());
    for (const body of [{}, { type: 'about:blank' }, { error: 'teapot' }, 'refused']) {
      expect(await isProblem(body)).toBe(false);
    }
    const { body } = toResponse(errors[1], options);
    const problem = JSON.parse(body) as Readonly<Record<string, Json>>;
    expect(await isProblem({ ...problem, error: 'teapot' })).toBe(false);
    expect(await isProblem({ ...problem, type: 'https://example.com/teapot' })).toBe(false);
  });
});
