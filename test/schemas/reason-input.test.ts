/** A reason in a request: the schema against the core, and an input without fields. */
import type { GrantAuthority } from 'keyscope';
import { describe, expect, test } from 'vitest';
import { noInputSchema, reasonInputSchema } from '../../src/schemas/reason-input.js';
import { AUTHORITY, setUp, untyped } from '../support/keyring.ts';
import { refusedField } from '../support/schemas.ts';

const TEXTS: readonly unknown[] = [
  'x',
  '',
  ' ',
  'x'.repeat(200),
  'x'.repeat(201),
  '\u00e9'.repeat(200),
  'e\u0301'.repeat(200),
  'e\u0301'.repeat(201),
  '\u{1f511}'.repeat(200),
  '\u{1f511}'.repeat(201),
  'a\nb',
  'a\u0000b',
  'a\u200bb',
  'a\u2028b',
  '\ud800',
  7,
  null,
  true,
  ['x'],
  { toString: 'x' },
];

describe('reasonInputSchema', () => {
  const { keyring } = setUp();

  test.each(TEXTS.map((text) => [text]))('accepts the same as the core: %j', async (reason) => {
    const authority = untyped<GrantAuthority>({ ...AUTHORITY, reason });
    const field = await refusedField(() => keyring.list({}, authority));
    const parsed = reasonInputSchema.safeParse({ reason });
    expect(parsed.success ? null : parsed.error.issues[0]?.path[0]).toBe(field);
  });

  test('reads a text in NFC, as the core stores it', () => {
    expect(reasonInputSchema.parse({ reason: 'e\u0301' })).toEqual({ reason: '\u00e9' });
  });

  test('accepts a missing reason, and no other field', () => {
    expect(reasonInputSchema.parse({})).toEqual({});
    for (const value of [{ actor: 'x' }, [], null, 'x', JSON.parse('{"__proto__":1}') as object]) {
      const { error } = reasonInputSchema.safeParse(value);
      expect(error?.issues[0]?.path).toEqual(['input']);
    }
  });
});

describe('noInputSchema', () => {
  test('accepts only an object without fields', () => {
    expect(noInputSchema.parse({})).toEqual({});
    for (const value of [{ a: undefined }, [], null, '', JSON.parse('{"__proto__":1}') as object]) {
      expect(noInputSchema.safeParse(value).success).toBe(false);
    }
  });
});
