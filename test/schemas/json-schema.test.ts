/** The JSON Schemas as documents. */
import {
  addressedKeyJsonSchema,
  addressedKeySchema,
  damagedKeyJsonSchema,
  damagedKeySchema,
  issueInputJsonSchema,
  issueInputJsonSchemaFor,
  issueInputSchema,
  issueKeylessInputJsonSchema,
  issueKeylessInputSchema,
  keyInfoJsonSchema,
  keyInfoSchema,
  listInputJsonSchema,
  listInputSchema,
  meJsonSchema,
  meSchema,
  rotateInputJsonSchema,
  rotateInputSchema,
} from 'keyscope/schemas';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { catalog, inputSchemaForCatalog } from '../support/schemas.ts';

describe('the JSON Schema', () => {
  test.each([
    ['of /me', meJsonSchema, meSchema],
    ['of a key', keyInfoJsonSchema, keyInfoSchema],
    ['of a damaged key', damagedKeyJsonSchema, damagedKeySchema],
    ['of an addressed key', addressedKeyJsonSchema, addressedKeySchema],
    ["of rotate's input", rotateInputJsonSchema({ catalog }), rotateInputSchema({ catalog })],
    ["of issue's input", issueInputJsonSchema, issueInputSchema],
    ["of issue's input for a catalog", issueInputJsonSchemaFor({ catalog }), inputSchemaForCatalog],
    ["of issueKeyless's input", issueKeylessInputJsonSchema, issueKeylessInputSchema],
    ["of list's input", listInputJsonSchema, listInputSchema],
  ])(
    '%s is plain JSON of a closed object, with the same fields as in zod',
    (_, jsonSchema, schema) => {
      expect(JSON.parse(JSON.stringify(jsonSchema))).toEqual(jsonSchema);
      expect(jsonSchema).toMatchObject({ type: 'object', additionalProperties: false });
      const stated = z.toJSONSchema(schema as z.ZodType, { io: 'input' });
      const { properties, required } = jsonSchema;
      expect(Object.keys(properties ?? {})).toEqual(Object.keys(stated.properties ?? {}));
      expect(required).toEqual(stated.required);
    },
  );

  test('of /me requires exactly its four fields', () => {
    const { required } = meJsonSchema;
    expect(required).toEqual(['entity_uuid', 'key_id', 'scopes', 'accessible_entities']);
  });

  test("of issue's input requires three fields of six", () => {
    const { properties, required } = issueInputJsonSchema;
    expect(required).toEqual(['name', 'scopes', 'expiresAt']);
    expect(Object.keys(properties ?? {})).toHaveLength(6);
  });
});
