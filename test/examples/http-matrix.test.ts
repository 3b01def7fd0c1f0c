/** Every operation with every single-scope key on each framework, against a handwritten table. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog } from '../../examples/platform/service/catalog.ts';
import type { Operation } from '../../examples/platform/service/policy.ts';
import { policy } from '../../examples/platform/service/policy.ts';
import { routes } from '../../examples/platform/service/routes.ts';
import { definePolicy } from '../../src/index.js';
import type { Fleet, Running } from './http-harness.ts';
import { A, FRAMEWORKS, named, startAll } from './http-harness.ts';

// The operations of each scope, written by hand and not read from the policy. `whoami` needs none.
const OPENS: Readonly<Record<string, readonly Operation[]>> = {
  'threats:read': ['listThreats', 'readThreat'],
  'threats:write': ['updateThreat'],
  'interactions:read': ['listInteractions', 'readInteraction'],
  'decoys:read': ['listDecoys', 'readDecoy'],
  'decoys:update': ['updateDecoy'],
  'decoys:delete': ['decommissionDecoy'],
  'canaries:read': ['listCanaries', 'readCanary'],
  'canaries:write': ['createCanary', 'updateCanary'],
  'canaries:delete': ['decommissionCanary'],
  'reports:read': ['exportReport'],
  'users:read': ['listUsers', 'readUser'],
  'users:write': ['createUser'],
  'users:delete': ['deleteUser'],
};

const SENTENCES: Readonly<Record<string, string>> = {
  'threats:read': 'List and read threats.',
  'threats:write': "Update a threat's triage status and notes.",
  'interactions:read': 'List and read interactions captured by decoys.',
  'decoys:read': 'List and read decoys, including their breadcrumbs.',
  'decoys:update': 'Trigger a decoy software update.',
  'decoys:delete': 'Decommission a decoy.',
  'canaries:read': 'List and read canaries.',
  'canaries:write': 'Create and update canaries.',
  'canaries:delete': 'Decommission a canary.',
  'reports:read': 'Export the executive report.',
  'users:read': 'List and read console users.',
  'users:write': 'Create console users.',
  'users:delete': 'Delete console users.',
};

interface Call {
  readonly line: string;
  readonly body?: unknown;
  /** The status of success. */
  readonly ok: number;
}

/** One call for each operation. Deletions use the second row, so that the order does not matter. */
function calls(running: Running): Readonly<Record<Operation, Call>> {
  const { domain } = running;
  const id = (name: string) => named(running, name);
  const second = { limit: 2, after: null };
  const decoy = domain.listDecoys(A, second).items[1]?.id;
  const canary = domain.listCanaries(A, second).items[1]?.id;
  const user = domain.listUsers(A, second).items[1]?.id;
  return {
    whoami: { line: 'GET /v1/me', ok: 200 },
    listThreats: { line: 'GET /v1/threats', ok: 200 },
    readThreat: { line: `GET /v1/threats/${id('threat')}`, ok: 200 },
    updateThreat: {
      line: `PATCH /v1/threats/${id('threat')}`,
      body: { status: 'resolved' },
      ok: 200,
    },
    listInteractions: { line: 'GET /v1/interactions', ok: 200 },
    readInteraction: { line: `GET /v1/interactions/${id('interaction')}`, ok: 200 },
    listDecoys: { line: 'GET /v1/decoys', ok: 200 },
    readDecoy: { line: `GET /v1/decoys/${id('decoy')}`, ok: 200 },
    updateDecoy: { line: `POST /v1/decoys/${id('decoy')}/software-update`, ok: 202 },
    decommissionDecoy: { line: `DELETE /v1/decoys/${decoy}`, ok: 204 },
    listCanaries: { line: 'GET /v1/canaries', ok: 200 },
    readCanary: { line: `GET /v1/canaries/${id('canary')}`, ok: 200 },
    createCanary: { line: 'POST /v1/canaries', body: { name: 'Wages', kind: 'link' }, ok: 201 },
    updateCanary: { line: `PATCH /v1/canaries/${id('canary')}`, body: { notes: 'moved' }, ok: 200 },
    decommissionCanary: { line: `DELETE /v1/canaries/${canary}`, ok: 204 },
    exportReport: { line: 'GET /v1/reports/executive', ok: 200 },
    listUsers: { line: 'GET /v1/users', ok: 200 },
    readUser: { line: `GET /v1/users/${id('user')}`, ok: 200 },
    createUser: {
      line: 'POST /v1/users',
      body: { email: 'dea@example.com', name: 'Dea', role: 'viewer' },
      ok: 201,
    },
    deleteUser: { line: `DELETE /v1/users/${user}`, ok: 204 },
  };
}

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startAll();
});
afterAll(() => fleet.stop());

interface Answer {
  readonly status: number;
  /** The missing scope of a 403. */
  readonly scope: string;
  readonly challenge: string;
}

/** Makes a call, with another method if given. */
async function send(
  { port }: Running,
  { line, body }: Call,
  key: string | undefined,
  override?: string,
): Promise<Answer> {
  const [method = '', path = ''] = line.split(' ');
  const headers = new Headers();
  if (key !== undefined) headers.set('Authorization', `Bearer ${key}`);
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: override ?? method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.headers.get('Cache-Control') !== 'no-store') throw new Error(`${line}: no no-store`);
  return {
    status: response.status,
    scope: response.status === 403 ? scopeIn(text) : '',
    challenge: response.headers.get('WWW-Authenticate') ?? '',
  };
}

function scopeIn(problem: string): string {
  const { scope = '' } = JSON.parse(problem) as { readonly scope?: string };
  return scope;
}

/** The scope of an operation; empty if it needs none. */
function scopeFor(operation: string): string {
  const found = Object.entries(OPENS).find(([, opened]) =>
    opened.some((name) => name === operation),
  );
  return found?.[0] ?? '';
}

describe.each(FRAMEWORKS)('the service on %s', (framework) => {
  function running(): Running {
    const found = fleet.all.find((one) => one.framework === framework);
    if (found === undefined) throw new Error(`no server on ${framework}`);
    return found;
  }

  test('allows each scope exactly its operations, and whoami to every key', async () => {
    const got: Record<string, string> = {};
    const wanted: Record<string, string> = {};
    for (const [operation, call] of Object.entries(calls(running()))) {
      const needs = scopeFor(operation);
      const tries = ['bare', ...catalog.all].map(async (name) => {
        const { status, scope, challenge } = await send(running(), call, named(running(), name));
        const isOpen = operation === 'whoami' || name === needs;
        got[`${name} ${operation}`] = `${status} ${scope}`;
        wanted[`${name} ${operation}`] = isOpen ? `${call.ok} ` : `403 ${needs}`;
        if (!isOpen) expect(challenge).toContain(`error="insufficient_scope", scope="${needs}"`);
      });
      await Promise.all(tries);
    }
    expect(got).toEqual(wanted);
    expect(Object.keys(got)).toHaveLength(14 * 20);
  });

  test('answers 401 on every route without a credential, to GET and to HEAD', async () => {
    for (const call of Object.values(calls(running()))) {
      expect(await send(running(), call, undefined)).toMatchObject({ status: 401 });
      if (!call.line.startsWith('GET')) continue;
      expect(await send(running(), call, undefined, 'HEAD')).toMatchObject({ status: 401 });
    }
  });
});

test('the catalog has the documented scopes and reserved scopes', () => {
  expect(Object.fromEntries(catalog.all.map((scope) => [scope, catalog.describe(scope)]))).toEqual(
    SENTENCES,
  );
  expect(catalog.all).toEqual(Object.keys(SENTENCES));
  expect(catalog.all.filter((scope) => catalog.isReserved(scope))).toEqual([
    'decoys:delete',
    'canaries:delete',
    'users:read',
    'users:write',
    'users:delete',
  ]);
});

describe('routes and policy', () => {
  const differences = (table: typeof policy, served: readonly string[]) => ({
    unmapped: table.unmapped(served),
    unserved: table.operations.filter((operation) => !served.includes(operation)),
  });
  const served = routes.map(({ operation }) => operation);

  test('have the same operations', () => {
    expect(differences(policy, served)).toEqual({ unmapped: [], unserved: [] });
    expect(new Set(served).size).toBe(served.length);
    expect(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size).toBe(routes.length);
  });

  test('differ if a route has no operation, or an operation no route', () => {
    const other = definePolicy(catalog, {
      whoami: [],
      purge: ['users:delete'],
    }) as unknown as typeof policy;
    expect(differences(other, ['whoami', 'listThreats'])).toEqual({
      unmapped: ['listThreats'],
      unserved: ['purge'],
    });
  });
});
