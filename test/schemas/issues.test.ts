/** The issues of a failed parse, which people log and which must not contain the input. */
import {
  addressedKeySchema,
  damagedKeySchema,
  issueInputSchema,
  listInputSchema,
  meSchema,
  rotateInputSchema,
} from 'keyscope/schemas';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { catalog, inputSchemaForCatalog, KEY } from '../support/schemas.ts';

const PLAIN = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' };

/** Every place for a pasted key: names, values, elements, metadata, or the whole input. */
const BODIES: readonly unknown[] = [
  KEY,
  [KEY],
  { ...PLAIN, [KEY]: 1 },
  { [KEY]: KEY },
  { ...PLAIN, name: `${KEY}\n` },
  { ...PLAIN, name: [KEY] },
  { ...PLAIN, name: KEY.repeat(5) },
  { ...PLAIN, scopes: KEY },
  { ...PLAIN, scopes: [KEY] },
  { ...PLAIN, scopes: [`${KEY}:read`] },
  { ...PLAIN, expiresAt: KEY },
  { ...PLAIN, accessibleEntities: [KEY] },
  { ...PLAIN, justification: `${KEY}\0` },
  { ...PLAIN, metadata: { [KEY]: 1 } },
  { ...PLAIN, metadata: { a: [KEY] } },
  { ...PLAIN, metadata: KEY },
];

const SCHEMAS = [
  issueInputSchema,
  inputSchemaForCatalog,
  rotateInputSchema({ catalog }),
  listInputSchema,
  meSchema,
  damagedKeySchema,
  addressedKeySchema,
];

describe('the issues of a failed parse', () => {
  test('quote no input, in messages or paths', () => {
    const secret = KEY.slice('acme_'.length);
    for (const body of BODIES) {
      for (const schema of SCHEMAS) {
        const { error } = schema.safeParse(body);
        if (error === undefined) throw new Error('was accepted');
        const printed = [
          error.message,
          JSON.stringify(error.issues),
          z.prettifyError(error),
          String(error),
        ];
        expect(printed.join('\n')).not.toContain(secret);
      }
    }
  });
});
