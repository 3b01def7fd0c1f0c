/** What a lock is made of, and what is refused. */
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
  lockOf({ catalog, policy, routes, reasons });

describe('lockOf', () => {
  it('has the scopes that the guards of a route need together', () => {
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

  it('takes a route twice if it has the same guards', () => {
    const again = [route('GET', '/me', 'whoami'), route('GET', '/me', 'whoami')];
    expect(lockFor(again).routes.size).toBe(1);
  });

  it('takes paths of every language, and tools', () => {
    const routes = [route('GET', '/übersicht'), route('TOOL', 'list threats', 'listThreats')];
    expect([...lockFor(routes).routes.keys()]).toEqual(['GET /übersicht', 'TOOL list threats']);
  });

  it.each<[string, Partial<LockInput>, string]>([
    ['another catalog', { catalog: untyped({}) }, 'catalog: pass what defineScopes made'],
    ['another policy', { policy: untyped(null) }, 'policy: pass what definePolicy made'],
    ['an unknown field', untyped({ more: 1 }), 'unknown field "more"'],
    [
      'an unknown operation',
      { routes: [route('GET', '/x', 'nothing')] },
      'the policy has no nothing',
    ],
    [
      'an unknown operation before a route',
      { routes: [{ ...route('GET', '/x'), behind: ['nothing'] }] },
      'the policy has no nothing',
    ],
    [
      'other guards before one route',
      { routes: [{ ...route('GET', '/x'), behind: ['whoami'] }, route('GET', '/x')] },
      '"GET /x" is there twice, with different guards',
    ],
    [
      'other guards for one route',
      { routes: [route('GET', '/x', 'whoami'), route('GET', '/x')] },
      '"GET /x" is there twice, with different guards',
    ],
    ['a method', { routes: [route('get', '/x')] }, 'a method is upper-case letters'],
    ['no path', { routes: [route('GET', '')] }, 'a path is printable'],
    ['a path of two lines', { routes: [route('GET', '/x\ny')] }, 'a path is printable'],
    ['no route', { routes: [untyped({})] }, 'a method is upper-case letters'],
    ['a reason for nothing', { reasons: { 'GET /x': 'why' } }, 'there is no route "GET /x"'],
    [
      'a reason for a guarded route',
      { routes: [route('GET', '/x', 'whoami')], reasons: { 'GET /x': 'why' } },
      '"GET /x" has a guard',
    ],
    [
      'no reason',
      { routes: [route('GET', '/x')], reasons: { 'GET /x': '' } },
      '1 to 500 characters',
    ],
    ['reasons', { reasons: untyped('x') }, 'reasons: pass { route: reason }'],
  ])('refuses %s', (_, input, instead) => {
    const all: LockInput = { catalog, policy, routes: [], ...input };
    expect(complaint(() => lockOf(all))).toContain(instead);
  });
});
