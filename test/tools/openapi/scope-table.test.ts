/** The data of `scopeTable`. */
import type { Policy } from 'keyscope';
import { scopeTable } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { catalog, policy } from '../../support/openapi.ts';

describe('scopeTable', () => {
  it('lists scopes in catalog order and operations in the order of the policy', () => {
    expect(scopeTable({ policy })).toEqual({
      scopes: [
        {
          scope: 'threats:read',
          description: 'List and read threats.',
          reserved: false,
          operations: ['listThreats', 'mergeThreats'],
        },
        {
          scope: 'threats:write',
          description: 'Update a threat.',
          reserved: false,
          operations: ['mergeThreats'],
        },
        { scope: 'users:delete', description: 'Delete users.', reserved: true, operations: [] },
      ],
      operations: [
        { operation: 'whoami', scopes: [] },
        { operation: 'listThreats', scopes: ['threats:read'] },
        { operation: 'mergeThreats', scopes: ['threats:read', 'threats:write'] },
      ],
    });
  });

  it.each([
    [{}, /pass the policy/],
    [{ policy: catalog }, /pass the policy/],
    [{ catalog, policy }, /unknown field "catalog"/],
    [{ policy, format: 'html' }, /unknown field "format"/],
  ])('rejects invalid input: %#', (given, problem) => {
    expect(complaint(() => scopeTable(given as { policy: Policy }))).toMatch(problem);
  });
});
