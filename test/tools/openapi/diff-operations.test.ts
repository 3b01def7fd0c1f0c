/** Each operation is listed once, where it belongs; nothing is passed over. */
import { diffOperations } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { documentOf, operation, PATHS, type Part, policy } from '../../support/openapi.ts';

const diff = (paths: Part, more: Part = {}) =>
  diffOperations(documentOf({ ...PATHS, ...paths }, more), { policy });
/** The list in which an operation of this security stands, which the policy does not have. */
const listOf = (security: unknown): string | undefined => {
  const components = { securitySchemes: { bearerAuth: {}, cookie: {} } };
  const lists = diff({ '/stray': { get: operation('stray', { security }) } }, { components });
  const [found] = Object.entries(lists).filter(([, list]: [string, readonly unknown[]]) =>
    list.some((one) => (one as { path?: string }).path === '/stray'),
  );
  return found?.[0];
};

describe('diffOperations', () => {
  it('lists where document and policy differ, and what is open', () => {
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

  it('lists what secureDocument would write, and changes nothing', () => {
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
  ])('takes a stranger with the security %j for %s', (security, list) => {
    expect(listOf(security)).toBe(list);
  });

  it('lists operations of every method, and of two paths', () => {
    const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
    const item = Object.fromEntries(methods.map((method) => [method, { responses: {} }]));
    const { unmapped } = diff({ '/all': item, '/more': { get: operation('listThreats') } });
    expect(unmapped.map(({ method }) => method)).toEqual(methods.map((m) => m.toUpperCase()));
    expect(unmapped[0]).toEqual({ method: 'GET', path: '/all', operationId: undefined });
  });

  it('leaves out what has its place elsewhere, and only that', () => {
    const { '/me': _, ...paths } = PATHS;
    const document = documentOf(paths);
    expect(diffOperations(document, { policy }).missing).toEqual(['whoami']);
    expect(diffOperations(document, { policy, elsewhere: ['whoami'] }).missing).toEqual([]);
    const both = { policy, elsewhere: ['listThreats'] as const };
    expect(complaint(() => diffOperations(document, both))).toMatch(
      /^diffOperations: elsewhere: this operation is in the document: listThreats$/,
    );
    const unknown = { policy, elsewhere: ['whoamI'] as unknown as ['whoami'] };
    expect(complaint(() => diffOperations(document, unknown))).toMatch(/is not in the table/);
  });

  it('takes what operationOf returns for a name only if it is one', () => {
    const operationOf = ({ path }: { readonly path: string }) => {
      const names: Part = { '/me': 'whoami', '/threats': 1, '/health': 'constructor' };
      return names[path] as string;
    };
    const { unsecured, unmapped } = diffOperations(documentOf(PATHS), { policy, operationOf });
    expect(unsecured.map(({ path }) => path)).toEqual(['/me']);
    expect(unmapped.map(({ path }) => path)).toEqual(['/threats', '/threats/merge']);
  });
});
