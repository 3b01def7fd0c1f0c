/** Laws that hold for every document. */
import { Validator } from '@seriousme/openapi-schema-validator';
import fc from 'fast-check';
import { diffOperations, secureDocument } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import { at, documentOf, operation, type Part, policy } from '../../support/openapi.ts';
import { runs } from '../../support/runs.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const components = {
  securitySchemes: { cookie: { type: 'apiKey', in: 'cookie', name: 'session' } },
  responses: { Own: { description: 'Own.' } },
};

const requirement = fc.constantFrom<Part>(
  {},
  { cookie: [] },
  { bearerAuth: [] },
  { bearerAuth: ['threats:read'] },
  { bearerAuth: ['threats:write', 'threats:read'] },
  { cookie: [], bearerAuth: ['threats:read'] },
);
const security = fc.option(fc.array(requirement, { maxLength: 2 }), { nil: undefined });
const problem = { 'application/problem+json': { schema: { type: 'object' } } };
const response = fc.constantFrom<Part>(
  { description: 'Own.' },
  { $ref: '#/components/responses/Own' },
  { description: 'Own.', content: problem },
  { description: 'Own.', headers: { 'www-authenticate': { schema: { type: 'string' } } } },
);
const status = fc.constantFrom('200', '400', '401', '403', '503', '4XX', '5XX', 'default');
const responses = fc.dictionary(status, response, { minKeys: 1 });
const name = fc.constantFrom(...policy.operations, 'readHealth', 'stray');

/** Documents of up to six operations on different paths. Names may repeat, which is an error. */
const documents = fc
  .array(fc.tuple(name, security, responses, fc.constantFrom(...METHODS)), { maxLength: 6 })
  .map((entries) => {
    const paths = entries.map(([id, own, said, method], index) => {
      const written = operation(id, { responses: said, ...(own && { security: own }) });
      return [`/${index}`, { [method]: written }] as const;
    });
    return documentOf(Object.fromEntries(paths), { components });
  });

const options = { policy, realm: 'acme' };

/** Returns the operations of the policy that a document lacks. */
function elsewhereOf(document: Part): (typeof policy.operations)[number][] {
  const { missing } = diffOperations(document, { policy });
  return policy.operations.filter((one) => missing.includes(one));
}

/** Returns the place of each operation, such as `GET /0`. */
const placesOf = (list: readonly { readonly method: string; readonly path: string }[]) =>
  list.map(({ method, path }) => `${method} ${path}`);

describe('diffOperations and secureDocument', () => {
  it('list each operation of the document once, and each of the policy that is missing', () => {
    fc.assert(
      fc.property(documents, (document) => {
        const { missing, ...lists } = diffOperations(document, { policy });
        const places = Object.values(lists).flatMap(placesOf);
        const written = Object.entries(at(document, 'paths') as Part).map(([path, item]) => {
          const [method = ''] = Object.keys(item as Part);
          return `${method.toUpperCase()} ${path}`;
        });
        expect(places.sort()).toEqual(written.sort());
        const ids = Object.values(at(document, 'paths') as Part).map((item) =>
          at(Object.values(item as Part)[0], 'operationId'),
        );
        expect(missing).toEqual(policy.operations.filter((one) => !ids.includes(one)));
      }),
    );
  });

  it('reject a document, or return one that matches the policy', () => {
    let secured = 0;
    fc.assert(
      fc.property(documents, (document) => {
        const elsewhere = elsewhereOf(document);
        const before = diffOperations(document, { policy });
        const differs = before.conflicting.length + before.unmapped.length > 0;
        const secure = (given: Part) => secureDocument(given, { ...options, elsewhere });
        if (differs) {
          expect(() => secure(document)).toThrow('document and policy differ');
          return;
        }
        const after = secure(document);
        const found = diffOperations(after, { policy, elsewhere });
        expect(placesOf(found.secured).sort()).toEqual(
          placesOf([...before.secured, ...before.unsecured]).sort(),
        );
        expect([found.open, found.otherScheme]).toEqual([before.open, before.otherScheme]);
        for (const { method, path } of [...found.open, ...found.otherScheme]) {
          const place = [path, method.toLowerCase()];
          expect(at(after, 'paths', ...place)).toEqual(at(document, 'paths', ...place));
        }
        expect(secure(after)).toEqual(after);
        secured += 1;
      }),
    );
    expect(secured).toBeGreaterThan(5);
  });

  it('keep a valid document valid', async () => {
    const sound = documents.filter((document) => {
      const { conflicting, unmapped } = diffOperations(document, { policy });
      return conflicting.length + unmapped.length === 0;
    });
    await fc.assert(
      fc.asyncProperty(sound, async (document) => {
        const elsewhere = elsewhereOf(document);
        const after = secureDocument(document, { ...options, elsewhere });
        const { valid, errors } = await new Validator().validate(after as object as never);
        expect([valid, errors]).toEqual([true, undefined]);
      }),
      { numRuns: runs(20) },
    );
  });
});
