/** `diffOperations` lists each operation once, in the right list, and omits none. */
import { diffOperations } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { documentOf, operation, PATHS, type Part, policy } from '../../support/openapi.ts';

const diff = (paths: Part, more: Part = {}) =>
  diffOperations(documentOf({ ...PATHS, ...paths }, more), { policy });
/** Returns the list that contains an unmapped operation with this `security`. */
const listOf = (security: unknown): string | undefined => {
  const components = { securitySchemes: { bearerAuth: {}, cookie: {} } };
  const lists = diff({ '/stray': { get: operation('stray', { security }) } }, { components });
  const [found] = Object.entries(lists).filter(([, list]: [string, readonly unknown[]]) =>
    list.some((one) => (one as { path?: string }).path === '/stray'),
  );
  return found?.[0];
};

describe('diffOperations', () => {
  it('lists the differences of document and policy, and open operations', () => {
    const security = [{ bearerAuth: ['threats:write'] }];
    const paths = {
      '/me': { get: operation('whoami', { security: [{ bearerAuth: [] }] }) },
      '/threats': { get: operation('listThreats', { security }), delete: operation('wipe') },
      '/threats/merge': {},
    };
    expect(diff(paths)).toEqual({
      secured: [{ method: 'GET', path: '/me', operationId: 'whoami' }],
      unsecured: [],
      conflicting: [
        {
          method: 'GET',
          path: '/threats',
          operationId: 'listThreats',
          operation: 'listThreats',
          required: ['threats:read'],
          security,
        },
      ],
      open: [{ method: 'GET', path: '/health', operationId: 'readHealth' }],
      otherScheme: [],
      unmapped: [{ method: 'DELETE', path: '/threats', operationId: 'wipe' }],
      missing: ['mergeThreats'],
    });
  });

  it('lists the operations that secureDocument would change, without changing them', () => {
    const document = documentOf(PATHS);
    const before = JSON.stringify(document);
    const { unsecured, secured } = diffOperations(document, { policy });
    expect(unsecured.map(({ operationId }) => operationId)).toEqual([
      'whoami',
      'listThreats',
      'mergeThreats',
    ]);
    expect([secured, JSON.stringify(document)]).toEqual([[], before]);
  });

  it.each([
    [[], 'open'],
    [[{}], 'open'],
    [[{ cookie: [] }, {}], 'open'],
    [[{ cookie: [] }], 'otherScheme'],
    [[{ cookie: [], bearerAuth: [] }], 'unmapped'],
    [[{ bearerAuth: ['threats:read'] }], 'unmapped'],
    [[{ cookie: [] }, { cokie: [] }], 'unmapped'],
    [[{ constructor: [] }], 'unmapped'],
    [[null], 'unmapped'],
    ['none', 'unmapped'],
    [undefined, 'unmapped'],
  ])('lists an unmapped operation with the security %j as %s', (security, list) => {
    expect(listOf(security)).toBe(list);
  });

  it('lists operations of every method, and of two paths', () => {
    const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
    const item = Object.fromEntries(methods.map((method) => [method, { responses: {} }]));
    const { unmapped } = diff({ '/all': item, '/more': { get: operation('listThreats') } });
    expect(unmapped.map(({ method }) => method)).toEqual(methods.map((m) => m.toUpperCase()));
    expect(unmapped[0]).toEqual({ method: 'GET', path: '/all', operationId: undefined });
  });

  it('omits exactly the operations in elsewhere', () => {
    const { '/me': _, ...paths } = PATHS;
    const document = documentOf(paths);
    expect(diffOperations(document, { policy }).missing).toEqual(['whoami']);
    expect(diffOperations(document, { policy, elsewhere: ['whoami'] }).missing).toEqual([]);
    const both = { policy, elsewhere: ['listThreats'] as const };
    expect(complaint(() => diffOperations(document, both))).toMatch(
      /^diffOperations: elsewhere: the document contains listThreats\. Remove it from elsewhere$/,
    );
    const unknown = { policy, elsewhere: ['whoamI'] as unknown as ['whoami'] };
    expect(complaint(() => diffOperations(document, unknown))).toMatch(/is not in the table/);
  });

  it('ignores results of operationOf that are not names in the policy', () => {
    const operationOf = ({ path }: { readonly path: string }) => {
      const names: Part = { '/me': 'whoami', '/threats': 1, '/health': 'constructor' };
      return names[path] as string;
    };
    const { unsecured, unmapped } = diffOperations(documentOf(PATHS), { policy, operationOf });
    expect(unsecured.map(({ path }) => path)).toEqual(['/me']);
    expect(unmapped.map(({ path }) => path)).toEqual(['/threats', '/threats/merge']);
  });
});
