/** The answers to malformed requests. */
import { generateKey, InputError, toResponse } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { AUTHORITY, PLAIN, setUp, thrown, untyped } from '../support/keyring.ts';

const KEY = generateKey({ prefix: 'acme' });
const own = { realm: 'acme' };
const options = { ...own, resourceMetadata: 'https://api.example/.well-known/x' };

describe('toResponse', () => {
  const FIELDS = [
    'input',
    'name',
    'scopes',
    'expiresAt',
    'accessibleEntities',
    'justification',
    'metadata',
    'overlapMs',
    'keyId',
    'reason',
    'limit',
    'after',
    'addressing',
  ];

  it.each(FIELDS)('answers a malformed field with 400 and its name: %s', (field) => {
    const error = new InputError(field, `${field}: not "a value from a request"`);
    const { status, headers, body } = toResponse(error, options);
    expect(status).toBe(400);
    // No challenge, because the credential is not wrong.
    expect(headers).toEqual({
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
    });
    expect(JSON.parse(body)).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: 'A field is missing, malformed or not known.',
      error: 'invalid_input',
      field,
    });
    expect(Object.keys(JSON.parse(body) as object).at(-1)).toBe('field');
  });

  it('answers malformed input of every operation without its value', async () => {
    const { keyring, events } = setUp();
    const acts = [
      () => keyring.issue(untyped({ ...PLAIN, [KEY]: KEY }), AUTHORITY),
      () => keyring.issue(untyped({ ...PLAIN, name: `${KEY}\u202e` }), AUTHORITY),
      () => keyring.rotate(untyped([KEY]), { overlapMs: 0 }, AUTHORITY),
      () => keyring.list({ after: KEY }, AUTHORITY),
      () => keyring.suspend(KEY, { ...AUTHORITY, reason: `${KEY}\n` }),
    ];
    const fields: string[] = [];
    for (const act of acts) {
      const error = await thrown(act);
      const { status, body } = toResponse(error, own);
      expect(status).toBe(400);
      const { error: code, field } = JSON.parse(body) as { error: string; field: string };
      expect(code).toBe('invalid_input');
      fields.push(field);
      expect(body).not.toContain(KEY.slice(5, 21));
      // The same answer, whatever is wrong with the field.
      const again = new InputError(field, 'another problem');
      expect(toResponse(again, own)).toEqual(toResponse(error, own));
    }
    expect(fields).toEqual(['input', 'name', 'keyId', 'after', 'reason']);
    expect(events).toEqual([]);
  });

  it('also answers an InputError of another copy of the package', () => {
    const foreign = { [Symbol.for('keyscope.InputError')]: true, field: 'name' };
    const error = new InputError('name', 'name: pass a string');
    expect(toResponse(foreign, options)).toEqual(toResponse(error, options));
  });
});
