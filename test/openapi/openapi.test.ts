/** A second validator finds nothing wrong with the documents that the first accepts. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { keyAdminOpenApi } from 'keyscope/admin';
import { describe, expect, test } from 'vitest';

const VALIDATOR = fileURLToPath(
  new URL('node_modules/@redocly/openapi-core/lib/index.js', import.meta.url),
);

/** What is used of it. */
interface Redocly {
  createConfig(config: object): Promise<object>;
  lintFromString(input: object): Promise<readonly { readonly message: string }[]>;
}

/** What it says of a document, by the rules of the specification alone. */
async function complaintsOf(document: object): Promise<readonly string[]> {
  const { createConfig, lintFromString } = (await import(VALIDATOR)) as Redocly;
  const config = await createConfig({ extends: ['spec'] });
  const source = JSON.stringify(document);
  return (await lintFromString({ source, config })).map(({ message }) => message);
}

function documentWith(options: object): object {
  const info = { title: 'Keys', version: '1' };
  return { openapi: '3.1.0', info, ...keyAdminOpenApi(options) };
}

describe.skipIf(!existsSync(VALIDATOR))('another validator of OpenAPI', () => {
  const securitySchemes = { bearerAuth: { type: 'http', scheme: 'bearer' } };

  test('accepts the document of the endpoints to manage keys', async () => {
    for (const options of [{ securitySchemes }, { securitySchemes, basePath: '/v1/keys' }]) {
      expect(await complaintsOf(documentWith(options))).toEqual([]);
    }
  });

  test('would complain', async () => {
    const nowhere = { ...documentWith({ securitySchemes }), components: {} };
    expect((await complaintsOf(nowhere)).join()).toContain("Can't resolve $ref");
  });
});
