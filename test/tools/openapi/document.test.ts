/** What a document must be for its operations to be found, all of them. */
import { diffOperations } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { documentOf, operation, PATHS, type Part, policy } from '../../support/openapi.ts';

const refused = (document: unknown): string =>
  complaint(() => diffOperations(document as object, { policy }));
const refusedPaths = (paths: Part): string => refused(documentOf(paths));

describe('a document', () => {
  it.each([
    ['3.0', { openapi: '3.0.3' }],
    ['3.2, whose operations are in more places', { openapi: '3.2.0' }],
    ['2.0', { openapi: undefined, swagger: '2.0' }],
    ['no version', { openapi: undefined }],
    ['a number', { openapi: 3.1 }],
  ])('of version %s is refused', (_, version) => {
    expect(refused({ ...documentOf(PATHS), ...version })).toMatch(/pass OpenAPI 3\.1; before it/);
  });

  it.each([[null], ['openapi: 3.1.0'], [[]], [new Map()], [{ toJSON: () => 'text' }]])(
    'is an object: %#',
    (document) => {
      expect(refused(document)).toMatch(/pass a document that is JSON, without circles$/);
    },
  );

  it('has no circle', () => {
    const circle: { self?: unknown } = { ...documentOf(PATHS) };
    circle.self = circle;
    expect(refused(circle)).toMatch(/pass a document that is JSON, without circles$/);
  });

  it('is read as it is sent', () => {
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
    ['a path that is written elsewhere', { '/x': { $ref: 'x.yaml' } }, /bundle the document first/],
    ['a method in capitals', { '/x': { GET: {} } }, /"\/x" has a field that is no method: "GET"/],
    ['a method of a later version', { '/x': { query: {} } }, /no method: "query"/],
    ['a name of the prototype', { '/x': { constructor: {} } }, /no method: "constructor"/],
    ['a path without a slash', { x: {} }, /"x": a path begins with "\/"/],
    ['a path that is no object', { '/x': [] }, /\/x has to be an object/],
    ['an operation that is no object', { '/x': { get: null } }, /get has to be an object/],
  ])('with %s is refused', (_, paths, problem) => {
    expect(refusedPaths(paths)).toMatch(problem);
  });

  it('may have fields of its own, and no paths', () => {
    const paths = { ...PATHS, 'x-own': 1, '/x': { 'x-own': {}, summary: '', servers: [] } };
    expect(diffOperations(documentOf(paths), { policy }).missing).toEqual([]);
    const { paths: _, ...without } = documentOf({});
    expect(diffOperations(without, { policy }).missing).toHaveLength(3);
  });
});
