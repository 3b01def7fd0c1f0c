/** The data of `scopeTable`. */
import { definePolicy, defineScopes } from 'keyscope';
import { scopeTable } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { catalog, policy } from '../../support/openapi.ts';

describe('scopeTable', () => {
  it('lists scopes in catalog order and operations in the order of the policy', () => {
    expect(scopeTable({ catalog, policy })).toEqual({
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

  it('rejects a policy for another catalog', () => {
    const other = defineScopes({ reports: { read: 'Read.' } });
    expect(complaint(() => scopeTable({ catalog: other, policy }))).toMatch(
      /pass scopes of the catalog/,
    );
    const its = definePolicy(other, { read: ['reports:read'] });
    expect(scopeTable({ catalog: other, policy: its }).operations).toHaveLength(1);
  });

  it.each([
    [{ catalog }, /pass the policy/],
    [{ policy }, /pass the catalog/],
    [{ catalog, policy, format: 'html' }, /unknown field "format"/],
  ])('rejects invalid input: %#', (given, problem) => {
    expect(
      complaint(() => scopeTable(given as { catalog: typeof catalog; policy: typeof policy })),
    ).toMatch(problem);
  });
});
