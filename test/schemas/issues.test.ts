/** The issues of a failed parse, which are logged and must not contain what was sent. */
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

/** Wherever somebody could paste a key: in names, values, elements, metadata, or as the whole. */
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
  rotateInputSchema(catalog),
  listInputSchema,
  meSchema,
  damagedKeySchema,
  addressedKeySchema,
];

describe('the issues of a failed parse', () => {
  test('quote nothing that was sent, in no message and no path', () => {
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
