/** How `secureDocument` changes a document, and which documents it rejects. */
import { definePolicy } from 'keyscope';
import { diffOperations, secureDocument } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import {
  at,
  catalog,
  documentOf,
  operation,
  PATHS,
  type Part,
  policy,
} from '../../support/openapi.ts';

const options = { policy };
const secure = (paths: Part, more: Part = {}): Part =>
  secureDocument(documentOf({ ...PATHS, ...paths }, more), options);
const refused = (paths: Part, more: Part = {}): string => complaint(() => secure(paths, more));
const responsesOf = (document: unknown, ...place: readonly string[]): Part =>
  at(document, 'paths', ...place, 'responses') as Part;
const reference = (name: string): Part => ({ $ref: `#/components/responses/${name}` });

describe('secureDocument', () => {
  it('gives each operation of the policy exactly the required scopes', () => {
    const { paths } = secure({});
    expect(at(paths, '/me', 'get', 'security')).toEqual([{ bearerAuth: [] }]);
    expect(at(paths, '/threats', 'get', 'security')).toEqual([{ bearerAuth: ['threats:read'] }]);
    expect(at(paths, '/threats/merge', 'post', 'security')).toEqual([
      { bearerAuth: ['threats:read', 'threats:write'] },
    ]);
  });

  it('leaves open operations unchanged', () => {
    expect(at(secure({}), 'paths', '/health')).toEqual(PATHS['/health']);
  });

  it('adds the four denials to the responses of each operation of the policy', () => {
    expect(responsesOf(secure({}), '/threats', 'get')).toEqual({
      200: { description: 'OK' },
      400: reference('AccessMalformed'),
      401: reference('AccessUnauthenticated'),
      403: reference('AccessForbidden'),
      503: reference('AccessUnavailable'),
    });
  });

  it('describes the key and every scope in the scheme', () => {
    const scheme = at(secure({}), 'components', 'securitySchemes', 'bearerAuth');
    expect(scheme).toMatchObject({ type: 'http', scheme: 'bearer', bearerFormat: 'API key' });
    const description = String(at(scheme, 'description'));
    expect(description).toContain('- `threats:read`: List and read threats.\n');
    expect(description).toMatch(/- `users:delete`: Delete users\. \*Reserved\.\*$/);
  });

  it('uses the prefix for bearerFormat, and the name of the scheme', () => {
    const named = { ...options, prefix: 'acme', schemeName: 'key' };
    const document = secureDocument(documentOf(PATHS), named);
    expect(at(document, 'components', 'securitySchemes', 'key', 'bearerFormat')).toBe(
      'acme_[0-9A-Za-z]{32}',
    );
    expect(at(document, 'paths', '/me', 'get', 'security')).toEqual([{ key: [] }]);
    expect(complaint(() => secureDocument(documentOf(PATHS), { ...options, prefix: 'A' }))).toMatch(
      /^prefix: /,
    );
  });

  it('adds examples of the challenges if it knows the realm', () => {
    const document = secureDocument(documentOf(PATHS), { ...options, realm: 'the "acme"' });
    const forbidden = at(document, 'components', 'responses', 'AccessForbidden');
    const error = 'error="insufficient_scope", scope="threats:read"';
    expect(at(forbidden, 'headers', 'WWW-Authenticate', 'examples')).toEqual({
      insufficient_scope: { value: String.raw`Bearer realm="the \"acme\"", ${error}` },
    });
    const bare = definePolicy(catalog, { whoami: [] });
    const only = documentOf({ '/me': PATHS['/me'] });
    const unscoped = secureDocument(only, { policy: bare, realm: 'acme' });
    const shown = at(unscoped, 'components', 'responses', 'AccessForbidden', 'content');
    expect(Object.keys(at(shown, 'application/problem+json', 'examples') as object)).toEqual([
      'entity_forbidden',
    ]);
    const without = at(secure({}), 'components', 'responses', 'AccessForbidden');
    expect(at(without, 'headers', 'WWW-Authenticate')).toEqual({ schema: { type: 'string' } });
  });

  it('changes neither its argument nor later results', () => {
    const document = documentOf(PATHS, { components: { schemas: { Own: {} } } });
    const before = JSON.stringify(document);
    const first = secureDocument(document, options);
    expect(JSON.stringify(document)).toBe(before);
    const again = JSON.stringify(first);
    const problem = at(first, 'components', 'schemas', 'AccessProblem') as object;
    Object.assign(problem, { type: 'string' });
    (at(first, 'paths', '/threats', 'get', 'security') as unknown[]).length = 0;
    expect(JSON.stringify(secureDocument(document, options))).toBe(again);
    expect(at(first, 'components', 'schemas', 'Own')).toEqual({});
  });

  it('changes nothing in a secured document', () => {
    const own = { description: 'No.', content: { 'application/problem+json': { schema: {} } } };
    const get = operation('listThreats', { responses: { 401: { description: 'No.' }, 400: own } });
    const once = secure({ '/threats': { get } });
    expect(secureDocument(once, options)).toEqual(once);
    const { secured, open, ...rest } = diffOperations(once, { policy });
    expect([secured.length, open.length]).toEqual([3, 1]);
    expect(Object.values(rest).flat()).toEqual([]);
  });

  it('finds operations with a custom operationOf', () => {
    const paths = { '/t': { get: { 'x-operation': 'listThreats', responses: {} } } };
    const given = {
      ...options,
      elsewhere: ['whoami', 'mergeThreats'] as const,
      operationOf: (_: unknown, written: Part) => String(written['x-operation']),
    };
    const document = secureDocument(documentOf(paths), given);
    expect(at(document, 'paths', '/t', 'get', 'security')).toEqual([
      { bearerAuth: ['threats:read'] },
    ]);
  });
});

describe('secureDocument, on a difference of document and policy', () => {
  it('names all differences in one error', () => {
    const paths = {
      '/stray': { get: operation('stray'), put: {} },
      '/me': { get: operation('whoami', { security: [] }) },
    };
    const { '/threats': _, ...others } = PATHS;
    const document = documentOf({ ...others, ...paths });
    expect(complaint(() => secureDocument(document, options)).split('\n')).toEqual([
      'secureDocument: document and policy differ:',
      expect.stringMatching(/^"GET \/stray" \("stray"\): not in the policy\. /),
      expect.stringMatching(/^"PUT \/stray": not in the policy\. /),
      expect.stringMatching(/^"GET \/me" \("whoami"\): its "security" differs from the policy/),
      expect.stringMatching(/^"listThreats": not in the document\. /),
    ]);
  });

  it.each([
    ['requires no key', []],
    ['makes a key optional', [{}, { bearerAuth: ['threats:read'] }]],
    ['has one scope less', [{ bearerAuth: [] }]],
    ['has one scope more', [{ bearerAuth: ['threats:read', 'threats:write'] }]],
    ['also requires another scheme', [{ bearerAuth: ['threats:read'], other: [] }]],
    ['accepts another scheme instead', [{ bearerAuth: ['threats:read'] }, { other: [] }]],
    ['requires another scheme', [{ other: ['threats:read'] }]],
    ['is a text', 'none'],
    ['has a text instead of a list of scopes', [{ bearerAuth: 'threats:read' }]],
    ['contains null', [null]],
  ])('rejects a security that %s', (_, security) => {
    expect(refused({ '/threats': { get: operation('listThreats', { security }) } })).toMatch(
      /"GET \/threats" \("listThreats"\): its "security" differs from the policy/,
    );
  });

  it('accepts a security with the same scopes in any order', () => {
    const security = [{ bearerAuth: ['threats:write', 'threats:read'] }];
    const post = operation('mergeThreats', { security });
    const document = secure({ '/threats/merge': { post } });
    expect(at(document, 'paths', '/threats/merge', 'post', 'security')).toEqual([
      { bearerAuth: ['threats:read', 'threats:write'] },
    ]);
  });

  it("ignores the document's own security", () => {
    const paths = { '/stray': { get: operation('stray') } };
    for (const security of [[], [{ bearerAuth: [] }]]) {
      expect(refused(paths, { security })).toContain('"GET /stray" ("stray"): not in the policy');
      expect(at(secure({}, { security }), 'security')).toEqual(security);
    }
  });
});

describe('secureDocument, on existing responses', () => {
  const Problem = { $ref: '#/components/schemas/AccessProblem' };
  const header = { schema: { type: 'string' } };

  it('allows the existing response or the denial', () => {
    const own = {
      description: 'The query is malformed.',
      headers: { 'X-Own': header },
      content: {
        'application/json': { schema: { type: 'string' } },
        'application/problem+json': { schema: { type: 'number' }, example: 1 },
      },
    };
    const get = operation('listThreats', { responses: { 400: own } });
    const responses = responsesOf(secure({ '/threats': { get } }), '/threats', 'get');
    expect(responses['400']).toEqual({
      description:
        'The query is malformed. Or: The credential, the entity or another part of the request ' +
        'is malformed.',
      headers: { 'X-Own': header, 'WWW-Authenticate': { ...header, required: false } },
      content: {
        'application/json': { schema: { type: 'string' } },
        'application/problem+json': {
          schema: { anyOf: [{ type: 'number' }, Problem] },
          example: 1,
        },
      },
    });
    expect(responses['401']).toEqual(reference('AccessUnauthenticated'));
  });

  it('keeps responses written as a range, the default or a reference', () => {
    const Own = { description: 'Own.', content: {} };
    const components = { responses: { Own } };
    for (const said of [{ '4XX': Own }, { default: reference('Own') }, { 403: reference('Own') }]) {
      const get = operation('listThreats', { responses: said });
      const document = secure({ '/threats': { get } }, { components });
      expect(at(responsesOf(document, '/threats', 'get'), '403', 'description')).toMatch(
        /^Own\. Or: The key lacks a scope/,
      );
      expect(at(document, 'components', 'responses', 'Own')).toEqual(Own);
    }
  });

  it('does not require headers or bodies that only the denial has', () => {
    const own = { description: 'Own.', content: { 'application/problem+json': {} } };
    const get = operation('listThreats', { responses: { 503: own } });
    const responses = responsesOf(secure({ '/threats': { get } }), '/threats', 'get');
    expect(at(responses, '503', 'headers', 'Retry-After', 'required')).toBe(false);
    expect(at(responses, '503', 'content', 'application/problem+json', 'schema')).toEqual({
      anyOf: [{}, Problem],
    });
    const alone = at(secure({}), 'components', 'responses', 'AccessUnavailable', 'headers');
    expect(at(alone, 'Retry-After', 'required')).toBe(true);
  });

  it('keeps existing headers in any case', () => {
    const own = { description: '', headers: { 'retry-after': { schema: { type: 'integer' } } } };
    const get = operation('listThreats', { responses: { 503: own } });
    const responses = responsesOf(secure({ '/threats': { get } }), '/threats', 'get');
    expect(at(responses, '503', 'headers')).toEqual(own.headers);
    expect(at(responses, '503', 'description')).toBe(
      'The service cannot check credentials at the moment.',
    );
  });

  it.each([
    ['a file', { 400: { $ref: 'responses.yaml#/Bad' } }],
    ['a missing response', { 400: { $ref: '#/components/responses/None' } }],
    ['another reference', { 400: { $ref: '#/components/responses/Other' } }],
    ['a number', { 400: { $ref: 1 } }],
  ])('rejects a reference to %s', (_, responses) => {
    const components = { responses: { Other: { $ref: '#/components/responses/None' } } };
    const get = operation('listThreats', { responses });
    expect(refused({ '/threats': { get } }, { components })).toMatch(
      /^secureDocument: cannot find the response .*\. Bundle the document first$/,
    );
  });

  it('rejects a response that is not an object', () => {
    const get = operation('listThreats', { responses: { 400: 'Bad' } });
    expect(refused({ '/threats': { get } })).toMatch(/a response must be an object/);
  });
});

describe('secureDocument, on existing components', () => {
  it('keeps a bearer scheme unchanged', () => {
    const bearerAuth = { type: 'http', scheme: 'Bearer', description: 'Ours.' };
    const securitySchemes = { bearerAuth, cookie: {} };
    const document = secure({}, { components: { securitySchemes } });
    expect(at(document, 'components', 'securitySchemes')).toEqual(securitySchemes);
  });

  it.each([{ type: 'apiKey', name: 'k', in: 'header' }, { type: 'http', scheme: 'basic' }, null])(
    'rejects another kind of scheme under the same name: %j',
    (bearerAuth) => {
      expect(refused({}, { components: { securitySchemes: { bearerAuth } } })).toMatch(
        /the security scheme bearerAuth is not an http bearer scheme\. Pass another schemeName/,
      );
    },
  );

  it('rejects other components under its own names', () => {
    expect(refused({}, { components: { schemas: { AccessProblem: {} } } })).toMatch(
      /keyscope needs the name components\.schemas\.AccessProblem\. Rename yours/,
    );
    expect(refused({}, { components: { responses: { AccessForbidden: {} } } })).toMatch(
      /keyscope needs the name components\.responses\.AccessForbidden/,
    );
  });
});

describe('secureDocument, on its options', () => {
  it.each([
    [{ policy, realms: 'x' }, /unknown field "realms"/],
    [{ policy, catalog }, /unknown field "catalog"/],
    [{}, /policy: pass the policy that definePolicy returned/],
    [{ policy: catalog }, /policy: pass the policy that definePolicy returned/],
    [{ ...options, realm: 1 }, /realm: pass a string/],
    [{ ...options, realm: 'ä' }, /realm: pass printable ASCII/],
    [{ ...options, schemeName: 'a/b' }, /schemeName: use letters, digits/],
    [{ ...options, operationOf: 'id' }, /operationOf: pass a function/],
  ])('rejects invalid options: %#', (given, problem) => {
    expect(complaint(() => secureDocument(documentOf(PATHS), given as typeof options))).toMatch(
      problem,
    );
  });

  it('accepts a schemeName that is a property of Object.prototype', () => {
    for (const schemeName of ['__proto__', 'constructor']) {
      const document = secureDocument(documentOf(PATHS), { ...options, schemeName });
      const schemes = at(document, 'components', 'securitySchemes') as object;
      expect(Object.keys(schemes)).toEqual([schemeName]);
      const [requirement] = at(document, 'paths', '/me', 'get', 'security') as object[];
      expect(Object.keys(requirement ?? {})).toEqual([schemeName]);
    }
  });
});
