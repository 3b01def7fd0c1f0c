/** Changes of the lock as SARIF. */
import { diffLocks, formatLock, lockSarif } from 'keyscope/lock';
import { describe, expect, it } from 'vitest';
import { lockWith } from '../../support/locks.ts';

const SCOPES = { 'threats:read': 'open' } as const;
const before = lockWith(SCOPES, { 'GET /threats': ['threats:read'], 'GET /old': [] });
const after = lockWith(SCOPES, { 'GET /threats': [], 'GET /bare': null });

describe('lockSarif', () => {
  it('reports each change at the line of its route', () => {
    const log = lockSarif(diffLocks(before, after), {
      lock: after,
      path: 'api/keyscope.lock.json',
    });
    const { runs } = log as {
      readonly runs: readonly [
        {
          readonly results: readonly {
            readonly ruleId: string;
            readonly level: string;
            readonly message: { readonly text: string };
            readonly locations: readonly [
              {
                readonly physicalLocation: {
                  readonly artifactLocation: { readonly uri: string };
                  readonly region: { readonly startLine: number };
                };
              },
            ];
          }[];
        },
      ];
    };
    const lines = formatLock(after).split('\n');
    const shown = runs[0].results.map(({ ruleId, level, locations: [{ physicalLocation }] }) => {
      expect(physicalLocation.artifactLocation.uri).toBe('api/keyscope.lock.json');
      return [ruleId, level, lines[physicalLocation.region.startLine - 1]?.trim().slice(0, 16)];
    });
    expect(shown).toEqual([
      ['unguarded', 'error', '"GET /bare": {"u'],
      ['widened', 'warning', '"GET /threats": '],
      ['added', 'note', '"GET /bare": {"u'],
      ['removed', 'note', '{'],
    ]);
    expect(runs[0].results[1]?.message.text).toContain('GET /threats no longer needs threats:read');
  });

  it('declares a rule for each kind of change', () => {
    const log = JSON.stringify(lockSarif(diffLocks(before, before), { lock: before }));
    for (const kind of ['widened', 'narrowed', 'added', 'removed', 'changed', 'unguarded']) {
      expect(log).toContain(`"id":"${kind}"`);
    }
    expect(log).toContain('"version":"2.1.0"');
  });
});
