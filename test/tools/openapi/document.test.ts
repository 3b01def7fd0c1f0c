/** Documents that cannot be read completely are rejected. */
import { diffOperations } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { documentOf, operation, PATHS, type Part, policy } from '../../support/openapi.ts';

const refused = (document: unknown): string =>
  complaint(() => diffOperations(document as object, { policy }));
const refusedPaths = (paths: Part): string => refused(documentOf(paths));

describe('diffOperations', () => {
  it.each([
    ['3.0', { openapi: '3.0.3' }],
    ['3.2, whose operations are in more places', { openapi: '3.2.0' }],
    ['2.0', { openapi: undefined, swagger: '2.0' }],
    ['undefined', { openapi: undefined }],
    ['3.1 as a number', { openapi: 3.1 }],
  ])('rejects a document of version %s', (_, version) => {
    const message = refused({ ...documentOf(PATHS), ...version });
    expect(message).toMatch(/the version of the document is .*\. Pass OpenAPI 3\.1/);
  });

  it.each([[null], ['openapi: 3.1.0'], [[]], [new Map()], [{ toJSON: () => 'text' }]])(
    'rejects a document that is not an object: %#',
    (document) => {
      expect(refused(document)).toMatch(/not JSON\. Pass an object without cycles$/);
    },
  );

  it('rejects a cyclic document', () => {
    const circle: { self?: unknown } = { ...documentOf(PATHS) };
    circle.self = circle;
    expect(refused(circle)).toMatch(/not JSON\. Pass an object without cycles$/);
  });

  it('reads a document as its JSON', () => {
    const document = { toJSON: () => documentOf(PATHS) };
    expect(diffOperations(document, { policy }).missing).toEqual([]);
    const absent = operation('listThreats', { security: undefined });
    const { unsecured } = diffOperations(documentOf({ '/threats': { get: absent } }), {
      policy,
      elsewhere: ['whoami', 'mergeThreats'],
    });
    expect(unsecured).toHaveLength(1);
  });

  it.each([
    ['a path that is a $ref', { '/x': { $ref: 'x.yaml' } }, /is a \$ref\. Bundle the document/],
    ['a method in upper case', { '/x': { GET: {} } }, /"\/x" has the unknown field "GET"\. Write/],
    ['a method of a later version', { '/x': { query: {} } }, /unknown field "query"/],
    ['a name of the prototype', { '/x': { constructor: {} } }, /unknown field "constructor"/],
    ['a path without a slash', { x: {} }, /"x": start the path with "\/"/],
    ['a path that is not an object', { '/x': [] }, /\/x must be an object/],
    ['an operation that is not an object', { '/x': { get: null } }, /get must be an object/],
  ])('rejects a document with %s', (_, paths, problem) => {
    expect(refusedPaths(paths)).toMatch(problem);
  });

  it('accepts extensions, and documents without paths', () => {
    const paths = { ...PATHS, 'x-own': 1, '/x': { 'x-own': {}, summary: '', servers: [] } };
    expect(diffOperations(documentOf(paths), { policy }).missing).toEqual([]);
    const { paths: _, ...without } = documentOf({});
    expect(diffOperations(without, { policy }).missing).toHaveLength(3);
  });
});
