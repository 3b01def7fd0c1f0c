/** Texts that people write. */

import { issueInputJsonSchema, issueInputSchema } from 'keyscope/schemas';
import { afterEach, describe, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a name', () => {
  const parse = (name: string) =>
    issueInputSchema.safeParse({ name, scopes: [], expiresAt: 'never' });

  test('is in NFC after parsing', () => {
    expect(parse('e\u0301').data?.name).toBe('\u00e9');
  });

  test('is not composed if it would still be too long', () => {
    const normalize = vi.spyOn(String.prototype, 'normalize');
    expect(parse('x'.repeat(801)).success).toBe(false);
    expect(normalize).not.toHaveBeenCalled();
    expect(parse('x'.repeat(800)).success).toBe(false);
    expect(normalize).toHaveBeenCalled();
  });

  // As ranges, because not every validator supports Unicode categories.
  test('has an equivalent JSON Schema pattern for every 16-bit character', () => {
    const { properties } = issueInputJsonSchema as { properties: { name: { pattern: string } } };
    const pattern = new RegExp(properties.name.pattern);
    const differing: string[] = [];
    for (let code = 0; code <= 0xffff; code++) {
      const character = String.fromCharCode(code);
      const isSurrogate = code >= 0xd800 && code <= 0xdfff;
      if (isSurrogate || pattern.test(character) === parse(character).success) continue;
      differing.push(code.toString(16));
    }
    expect(differing).toEqual([]);
  });
});
