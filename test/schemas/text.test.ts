/** Texts that people write. */

import { issueInputSchema } from 'keyscope/schemas';
import { afterEach, describe, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a name', () => {
  const parse = (name: string) =>
    issueInputSchema.safeParse({ name, scopes: [], expiresAt: 'never' });

  test('is in NFC once it is parsed', () => {
    expect(parse('e\u0301').data?.name).toBe('\u00e9');
  });

  test('is not composed if it would be too long even then', () => {
    const normalize = vi.spyOn(String.prototype, 'normalize');
    expect(parse('x'.repeat(801)).success).toBe(false);
    expect(normalize).not.toHaveBeenCalled();
    expect(parse('x'.repeat(800)).success).toBe(false);
    expect(normalize).toHaveBeenCalled();
  });
});
