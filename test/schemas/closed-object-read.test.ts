/** A value that a schema refuses causes the same error as in the core. */
import { isInputError } from 'keyscope';
import { issueInputSchema } from 'keyscope/schemas';
import { expect, test } from 'vitest';
import { readWith } from '../../src/schemas/closed-object.js';
import { inputError, rejecting } from '../support/keyring.ts';
import { KEY } from '../support/schemas.ts';

const BODY = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' };

test('readWith returns the parsed value', () => {
  const expiresAt = '2030-01-31T12:00:00Z';
  const read = readWith(issueInputSchema, { ...BODY, expiresAt });
  expect(read).toEqual({ ...BODY, expiresAt: new Date(expiresAt) });
});

test.each([
  [{ ...BODY, name: 7 }, 'name', /^name: 1 to 100 characters/],
  [{ ...BODY, scopes: ['threats:read', KEY] }, 'scopes', /^a scope resource:action/],
  [{ ...BODY, metadata: { [KEY]: 7 } }, 'metadata', /^metadata/],
  [{ ...BODY, [KEY]: 7 }, 'input', /^unknown field/],
  [KEY, 'input', /^pass an object/],
])(
  'readWith names the field of a bad value without quoting it: case %#',
  async (value, field, message) => {
    const error = await inputError(
      rejecting(() => readWith(issueInputSchema, value)),
      field,
      message,
    );
    expect(isInputError(error)).toBe(true);
    expect(String(error)).not.toContain(KEY.slice(-32));
  },
);
