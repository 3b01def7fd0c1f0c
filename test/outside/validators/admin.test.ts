/** Checks the OpenAPI document of the key management endpoints with a second validator. */
import { keyAdminOpenApi } from 'keyscope/admin';
import { expect, test } from 'vitest';
import { installedIn } from '../../support/installed.ts';

interface Parser {
  validate(document: object): Promise<{ readonly valid: boolean }>;
}

const { describe, load } = installedIn('outside', '@readme/openapi-parser');

async function isValid(document: object): Promise<boolean> {
  const parser = (await load('@readme/openapi-parser')) as Parser;
  // The validator modifies its input.
  const { valid } = await parser.validate(structuredClone(document));
  return valid;
}

function documentWith(options: object): object {
  const info = { title: 'Keys', version: '1' };
  return { openapi: '3.1.0', info, ...keyAdminOpenApi(options) };
}

describe('the key management endpoints', () => {
  const securitySchemes = { bearerAuth: { type: 'http', scheme: 'bearer' } };

  test('have a document that another validator accepts', async () => {
    expect(await isValid(documentWith({ securitySchemes }))).toBe(true);
    expect(await isValid(documentWith({ securitySchemes, basePath: '/v1/keys' }))).toBe(true);
  });

  test('would fail with a dangling reference', async () => {
    const nowhere = { ...documentWith({ securitySchemes }), components: {} };
    expect(await isValid(nowhere).catch(() => false)).toBe(false);
  });
});
