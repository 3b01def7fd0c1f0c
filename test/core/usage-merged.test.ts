import { describe, expect, it } from 'vitest';
import { mergeUsage } from '../../src/core/usage.js';

describe('mergeUsage', () => {
  it('moves each time only forward', () => {
    const old = { lastUsedAt: 5, scopesUsed: { 'a:b': 5, 'a:c': 1 } };
    const more = { lastUsedAt: 3, scopesUsed: { 'a:b': 3, 'a:c': 3, 'a:d': 3 } };
    const merged = { lastUsedAt: 5, scopesUsed: { 'a:b': 5, 'a:c': 3, 'a:d': 3 } };
    expect(mergeUsage(old, more)).toEqual(merged);
    expect(old.scopesUsed).toEqual({ 'a:b': 5, 'a:c': 1 });
  });

  it('starts from nothing for a key that was never used', () => {
    const usage = { lastUsedAt: 3, scopesUsed: { 'a:b': 3 } };
    expect(mergeUsage(undefined, usage)).toEqual(usage);
    expect(mergeUsage({ lastUsedAt: null, scopesUsed: {} }, usage)).toEqual(usage);
  });
});
