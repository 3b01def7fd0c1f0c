import type { UsageEntry } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { usageBatches } from '../../src/stores/writes.js';

describe('usageBatches', () => {
  const any = () => true;

  function entry(
    keyId: string,
    lastUsedAt: number = 1,
    scopesUsed: Readonly<Record<string, number>> = {},
  ): UsageEntry {
    return { keyId, lastUsedAt, scopesUsed };
  }

  function keysOf(json: string): string[] {
    const entries = JSON.parse(json) as UsageEntry[];
    return entries.map(({ keyId }) => keyId);
  }

  it('returns each valid id once, in order, with the later of its times', () => {
    const entries = [
      entry('b', 5, { x: 5, y: 1 }),
      entry('no'),
      entry('a', 2),
      entry('b', 4, { y: 3, x: 4 }),
    ];
    const [json = '', ...more] = usageBatches(entries, (keyId) => keyId !== 'no');
    expect(JSON.parse(json)).toEqual([entry('a', 2), entry('b', 5, { x: 5, y: 3 })]);
    expect(more).toEqual([]);
    expect(usageBatches([], any)).toEqual([]);
    expect(usageBatches([entry('no')], () => false)).toEqual([]);
  });

  it('puts at most 1,000 keys into a batch', () => {
    const ids = Array.from({ length: 2_001 }, (_, i) => String(i).padStart(5, '0'));
    const entries = ids.map((id) => entry(id));
    const batches = usageBatches(entries, any).map(keysOf);
    expect(batches.map(({ length }) => length)).toEqual([1_000, 1_000, 1]);
    expect(batches.flat()).toEqual(ids);
  });

  // With 256 long scopes each, 1,000 keys made one statement of 38 MB: more than a packet may have,
  // at every attempt.
  it('puts at most a million characters, and at least one key, into a batch', () => {
    const scopes = Array.from({ length: 256 }, (_, i) => `${'r'.repeat(125)}:${i}`);
    const scopesUsed = Object.fromEntries(scopes.map((scope) => [scope, 1e12]));
    const ids = Array.from({ length: 100 }, (_, i) => String(i).padStart(5, '0'));
    const entries = ids.map((id) => entry(id, 1, scopesUsed));
    const batches = usageBatches(entries, any);
    const lengths = batches.map(({ length }) => length);
    expect(batches.length).toBeGreaterThan(3);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1_000_002);
    expect(Math.min(...lengths.slice(0, -1))).toBeGreaterThan(900_000);
    expect(batches.flatMap(keysOf)).toEqual(ids);
    const huge = [entry('a', 1, { ['x'.repeat(2_000_000)]: 1 }), entry('b')];
    expect(usageBatches(huge, any).map(keysOf)).toEqual([['a'], ['b']]);
  });

  it('fills batches up to the given limits', () => {
    const entries = ['a', 'b', 'c', 'd', 'e'].map((keyId) => entry(keyId));
    const byKeys = usageBatches(entries, any, { keys: 2, characters: 1_000 });
    expect(byKeys.map(keysOf)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    // Three entries with a comma between them.
    const characters = 3 * JSON.stringify(entry('a')).length + 2;
    const exact = usageBatches(entries, any, { keys: 9, characters });
    expect(exact.map(keysOf)).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
    const less = usageBatches(entries, any, { keys: 9, characters: characters - 1 });
    expect(less.map(keysOf)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });
});
