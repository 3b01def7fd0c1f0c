/** How `lockOf` makes a lock, and which inputs it rejects. */
import { definePolicy, defineScopes } from 'keyscope';
import { type GuardedRoute, type LockInput, lockOf } from 'keyscope/lock';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { untyped } from '../../support/keyring.ts';

const catalog = defineScopes(
  { threats: { read: 'Read.', write: 'Write.' }, users: { delete: 'Delete.' } },
  { reserved: ['users:*'] },
);
const policy = definePolicy(catalog, {
  whoami: [],
  listThreats: ['threats:read'],
  updateThreat: ['threats:write', 'threats:read'],
});
const route = (method: string, path: string, ...operations: readonly string[]): GuardedRoute => {
  return { method, path, operations };
};

const lockFor = (routes: readonly GuardedRoute[], reasons?: Record<string, string>) =>
  lockOf({ keyring: { policy }, routes, reasons });

const other = defineScopes({ reports: { read: 'Read.' } }, { reserved: ['reports:read'] });

describe('lockOf', () => {
  it('joins the operations and scopes of several keyrings', () => {
    const reports = definePolicy(other, { readReport: ['reports:read'], whoami: [] });
    const lock = lockOf({
      keyring: [{ policy }, { policy: reports }],
      routes: [
        route('GET', '/me', 'whoami'),
        route('GET', '/reports', 'readReport'),
        route('GET', '/threats', 'listThreats'),
      ],
    });
    expect(lock.scopes).toEqual(['reports:read', 'threats:read', 'threats:write', 'users:delete']);
    expect(lock.reserved).toEqual(['reports:read', 'users:delete']);
    expect([...lock.routes].map(([name, { scopes }]) => [name, scopes])).toEqual([
      ['GET /me', []],
      ['GET /reports', ['reports:read']],
      ['GET /threats', ['threats:read']],
    ]);
  });

  it('accepts an operation that needs the same scopes in two catalogs, in any order', () => {
    const turned = defineScopes({ threats: { write: 'Write.', read: 'Read.' } });
    const again = definePolicy(turned, { updateThreat: ['threats:read', 'threats:write'] });
    expect(again.requires('updateThreat')).not.toEqual(policy.requires('updateThreat'));
    const routes = [route('PUT', '/threats/:id', 'updateThreat')];
    const lock = lockOf({ keyring: [{ policy }, { policy: again }], routes });
    expect(lock).toEqual(lockFor(routes));
  });

  it.each([
    ['an operation', '"listThreats"', definePolicy(catalog, { listThreats: ['threats:write'] })],
    ['an operation that needs nothing', '"listThreats"', definePolicy(other, { listThreats: [] })],
    [
      'a scope that only one of them reserves',
      '"users:delete"',
      definePolicy(defineScopes({ users: { delete: 'Delete.' } }), { remove: ['users:delete'] }),
    ],
  ])('rejects %s with two meanings in two keyrings', (_, name, its) => {
    for (const keyring of [
      [{ policy }, { policy: its }],
      [{ policy: its }, { policy }],
    ]) {
      expect(complaint(() => lockOf({ keyring, routes: [] }))).toBe(
        `lockOf: ${name} has two meanings in two keyrings. Rename one of them`,
      );
    }
  });

  it('lists all scopes that the guards of a route need', () => {
    const { routes, scopes, reserved } = lockFor([
      route('GET', '/me', 'whoami'),
      route('PUT', '/threats/:id', 'listThreats', 'updateThreat'),
    ]);
    expect(routes.get('PUT /threats/:id')).toEqual({
      operations: ['listThreats', 'updateThreat'],
      scopes: ['threats:read', 'threats:write'],
      reason: null,
    });
    expect(routes.get('GET /me')).toMatchObject({ operations: ['whoami'], scopes: [] });
    expect(scopes).toEqual(['threats:read', 'threats:write', 'users:delete']);
    expect(reserved).toEqual(['users:delete']);
  });

  it('accepts a duplicate route with the same guards', () => {
    const again = [route('GET', '/me', 'whoami'), route('GET', '/me', 'whoami')];
    expect(lockFor(again).routes.size).toBe(1);
  });

  it('accepts paths in any language, and tools', () => {
    const routes = [route('GET', '/übersicht'), route('TOOL', 'list threats', 'listThreats')];
    expect([...lockFor(routes).routes.keys()]).toEqual(['GET /übersicht', 'TOOL list threats']);
  });

  it.each<[string, Partial<LockInput>, string]>([
    ['no keyring', { keyring: untyped(undefined) }, 'pass one that was made with a policy'],
    [
      'a keyring without a policy',
      { keyring: untyped({}) },
      'pass one that was made with a policy',
    ],
    [
      'a list in which one has no policy',
      { keyring: [{ policy }, untyped({})] },
      'pass one that was made with a policy, or a list of them',
    ],
    ['an unknown field', untyped({ more: 1 }), 'unknown field "more"'],
    [
      'an unknown operation',
      { routes: [route('GET', '/x', 'nothing')] },
      'the policy has no operation nothing',
    ],
    [
      'an unknown operation in behind',
      { routes: [{ ...route('GET', '/x'), behind: ['nothing'] }] },
      'the policy has no operation nothing',
    ],
    [
      'a duplicate route behind different guards',
      { routes: [{ ...route('GET', '/x'), behind: ['whoami'] }, route('GET', '/x')] },
      '"GET /x" appears twice, with different guards',
    ],
    [
      'a duplicate route with different guards',
      { routes: [route('GET', '/x', 'whoami'), route('GET', '/x')] },
      '"GET /x" appears twice, with different guards',
    ],
    [
      'a duplicate route that one guard opens to others',
      {
        routes: [
          { ...route('GET', '/x', 'whoami'), also: ['people'] },
          route('GET', '/x', 'whoami'),
        ],
      },
      '"GET /x" appears twice, with different guards',
    ],
    [
      'a text of two lines for who else may call',
      { routes: [{ ...route('GET', '/x', 'whoami'), also: ['people\nand others'] }] },
      '"GET /x": also: no control',
    ],
    ['a lower-case method', { routes: [route('get', '/x')] }, 'write methods in upper-case'],
    ['an empty path', { routes: [route('GET', '')] }, 'write paths in printable characters'],
    ['a path of two lines', { routes: [route('GET', '/x\ny')] }, 'write paths in printable'],
    ['an empty route', { routes: [untyped({})] }, 'write methods in upper-case letters'],
    [
      'a reason for an unknown route',
      { reasons: { 'GET /x': 'why' } },
      'reasons: "GET /x" applies to no route without a guard. Correct or remove it',
    ],
    [
      'a reason for a guarded route',
      { routes: [route('GET', '/x', 'whoami')], reasons: { 'GET /x': 'why' } },
      'reasons: "GET /x" applies to no route without a guard',
    ],
    [
      'an empty reason',
      { routes: [route('GET', '/x')], reasons: { 'GET /x': '' } },
      '1 to 500 characters',
    ],
    ['a text for reasons', { reasons: untyped('x') }, 'reasons: pass { route: reason }'],
  ])('rejects %s', (_, input, instead) => {
    const all: LockInput = { keyring: { policy }, routes: [], ...input };
    expect(complaint(() => lockOf(all))).toContain(instead);
  });
});
