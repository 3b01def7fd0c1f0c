/** What a document says once it is secured, and what is refused instead of guessed. */
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

const options = { policy, catalog };
const secure = (paths: Part, more: Part = {}): Part =>
  secureDocument(documentOf({ ...PATHS, ...paths }, more), options);
const refused = (paths: Part, more: Part = {}): string => complaint(() => secure(paths, more));
const responsesOf = (document: unknown, ...place: readonly string[]): Part =>
  at(document, 'paths', ...place, 'responses') as Part;
const reference = (name: string): Part => ({ $ref: `#/components/responses/${name}` });

describe('secureDocument', () => {
  it('gives each operation of the policy exactly the scopes that it requires', () => {
    const { paths } = secure({});
    expect(at(paths, '/me', 'get', 'security')).toEqual([{ bearerAuth: [] }]);
    expect(at(paths, '/threats', 'get', 'security')).toEqual([{ bearerAuth: ['threats:read'] }]);
    expect(at(paths, '/threats/merge', 'post', 'security')).toEqual([
      { bearerAuth: ['threats:read', 'threats:write'] },
    ]);
  });

  it('leaves what anybody may call as it was written', () => {
    expect(at(secure({}), 'paths', '/health')).toEqual(PATHS['/health']);
  });

  it('gives each operation of the policy the four refusals, beside its own responses', () => {
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

  it('says how a key is formatted, and how the scheme is called', () => {
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

  it('shows challenges as they are sent, if it knows the realm', () => {
    const document = secureDocument(documentOf(PATHS), { ...options, realm: 'the "acme"' });
    const forbidden = at(document, 'components', 'responses', 'AccessForbidden');
    const error = 'error="insufficient_scope", scope="threats:read"';
    expect(at(forbidden, 'headers', 'WWW-Authenticate', 'examples')).toEqual({
      insufficient_scope: { value: String.raw`Bearer realm="the \"acme\"", ${error}` },
    });
    const bare = definePolicy(catalog, { whoami: [] });
    const only = documentOf({ '/me': PATHS['/me'] });
    const unscoped = secureDocument(only, { policy: bare, catalog, realm: 'acme' });
    const shown = at(unscoped, 'components', 'responses', 'AccessForbidden', 'content');
    expect(Object.keys(at(shown, 'application/problem+json', 'examples') as object)).toEqual([
      'entity_forbidden',
    ]);
    const without = at(secure({}), 'components', 'responses', 'AccessForbidden');
    expect(at(without, 'headers', 'WWW-Authenticate')).toEqual({ schema: { type: 'string' } });
  });

  it('changes neither the document nor what it shares with the next one', () => {
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

  it('changes nothing if everything is secured', () => {
    const own = { description: 'No.', content: { 'application/problem+json': { schema: {} } } };
    const get = operation('listThreats', { responses: { 401: { description: 'No.' }, 400: own } });
    const once = secure({ '/threats': { get } });
    expect(secureDocument(once, options)).toEqual(once);
    const { secured, open, ...rest } = diffOperations(once, { policy });
    expect([secured.length, open.length]).toEqual([3, 1]);
    expect(Object.values(rest).flat()).toEqual([]);
  });

  it('finds operations by a name of your own', () => {
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

describe('a difference between document and policy is refused:', () => {
  it('all of them by name, in one error', () => {
    const paths = {
      '/stray': { get: operation('stray'), put: {} },
      '/me': { get: operation('whoami', { security: [] }) },
    };
    const { '/threats': _, ...others } = PATHS;
    const document = documentOf({ ...others, ...paths });
    expect(complaint(() => secureDocument(document, options)).split('\n')).toEqual([
      'secureDocument: document and policy differ:',
      expect.stringMatching(/^"GET \/stray" \("stray"\): not in the policy; /),
      expect.stringMatching(/^"PUT \/stray": not in the policy; /),
      expect.stringMatching(/^"GET \/me" \("whoami"\): its own "security" says something else/),
      expect.stringMatching(/^"listThreats": in the policy alone; /),
    ]);
  });

  it.each([
    ['nobody but the policy asks for a key', []],
    ['a key is optional', [{}, { bearerAuth: ['threats:read'] }]],
    ['a scope less', [{ bearerAuth: [] }]],
    ['a scope more', [{ bearerAuth: ['threats:read', 'threats:write'] }]],
    ['another scheme as well', [{ bearerAuth: ['threats:read'], other: [] }]],
    ['another scheme will do', [{ bearerAuth: ['threats:read'] }, { other: [] }]],
    ['another scheme', [{ other: ['threats:read'] }]],
    ['nothing that can be read', 'none'],
    ['no list of scopes', [{ bearerAuth: 'threats:read' }]],
    ['no requirement', [null]],
  ])('%s', (_, security) => {
    expect(refused({ '/threats': { get: operation('listThreats', { security }) } })).toMatch(
      /"GET \/threats" \("listThreats"\): its own "security" says something else/,
    );
  });

  it('not if it says the same, in any order', () => {
    const security = [{ bearerAuth: ['threats:write', 'threats:read'] }];
    const post = operation('mergeThreats', { security });
    const document = secure({ '/threats/merge': { post } });
    expect(at(document, 'paths', '/threats/merge', 'post', 'security')).toEqual([
      { bearerAuth: ['threats:read', 'threats:write'] },
    ]);
  });

  it("the document's own security opens nothing and closes nothing", () => {
    const paths = { '/stray': { get: operation('stray') } };
    for (const security of [[], [{ bearerAuth: [] }]]) {
      expect(refused(paths, { security })).toContain('"GET /stray" ("stray"): not in the policy');
      expect(at(secure({}, { security }), 'security')).toEqual(security);
    }
  });
});

describe('what a document says of a status stays', () => {
  const Problem = { $ref: '#/components/schemas/AccessProblem' };
  const header = { schema: { type: 'string' } };

  it('and is one of the two that the response may be', () => {
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
        'The query is malformed. Or: The request is malformed: the credential, the entity, or ' +
        'another part of it.',
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

  it('if it says so by range, by default or by reference', () => {
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

  it('and promises no header and no body that only the refusal has', () => {
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

  it('its headers too, however they are spelled', () => {
    const own = { description: '', headers: { 'retry-after': { schema: { type: 'integer' } } } };
    const get = operation('listThreats', { responses: { 503: own } });
    const responses = responsesOf(secure({ '/threats': { get } }), '/threats', 'get');
    expect(at(responses, '503', 'headers')).toEqual(own.headers);
    expect(at(responses, '503', 'description')).toBe(
      'Credentials cannot be checked at the moment.',
    );
  });

  it.each([
    ['a file', { 400: { $ref: 'responses.yaml#/Bad' } }],
    ['nothing', { 400: { $ref: '#/components/responses/None' } }],
    ['another reference', { 400: { $ref: '#/components/responses/Other' } }],
    ['something else than text', { 400: { $ref: 1 } }],
  ])('and is refused if it refers to %s', (_, responses) => {
    const components = { responses: { Other: { $ref: '#/components/responses/None' } } };
    const get = operation('listThreats', { responses });
    expect(refused({ '/threats': { get } }, { components })).toMatch(
      /^secureDocument: bundle the document first: this response is written elsewhere: /,
    );
  });

  it('and is refused if it is no response', () => {
    const get = operation('listThreats', { responses: { 400: 'Bad' } });
    expect(refused({ '/threats': { get } })).toMatch(/a response has to be an object/);
  });
});

describe('components that are written already', () => {
  it('keep a bearer scheme as it is', () => {
    const bearerAuth = { type: 'http', scheme: 'Bearer', description: 'Ours.' };
    const securitySchemes = { bearerAuth, cookie: {} };
    const document = secure({}, { components: { securitySchemes } });
    expect(at(document, 'components', 'securitySchemes')).toEqual(securitySchemes);
  });

  it.each([{ type: 'apiKey', name: 'k', in: 'header' }, { type: 'http', scheme: 'basic' }, null])(
    'are refused if the scheme is another: %j',
    (bearerAuth) => {
      expect(refused({}, { components: { securitySchemes: { bearerAuth } } })).toMatch(
        /the security scheme bearerAuth is no http bearer scheme; pass another schemeName/,
      );
    },
  );

  it('are refused where they have our names', () => {
    expect(refused({}, { components: { schemas: { AccessProblem: {} } } })).toMatch(
      /components\.schemas\.AccessProblem is something else; rename it/,
    );
    expect(refused({}, { components: { responses: { AccessForbidden: {} } } })).toMatch(
      /components\.responses\.AccessForbidden is something else/,
    );
  });
});

describe('bad options', () => {
  it.each([
    [{ policy, catalog, realms: 'x' }, /unknown field "realms"/],
    [{ policy }, /pass the catalog/],
    [{ catalog }, /pass what definePolicy returned/],
    [{ ...options, realm: 1 }, /realm: pass a string/],
    [{ ...options, realm: 'ä' }, /realm: pass printable ASCII/],
    [{ ...options, schemeName: 'a/b' }, /schemeName: letters, digits/],
    [{ ...options, operationOf: 'id' }, /operationOf: pass a function/],
  ])('are refused: %#', (given, problem) => {
    expect(complaint(() => secureDocument(documentOf(PATHS), given as typeof options))).toMatch(
      problem,
    );
  });

  it('a scheme by the name of a prototype is a name like any other', () => {
    for (const schemeName of ['__proto__', 'constructor']) {
      const document = secureDocument(documentOf(PATHS), { ...options, schemeName });
      const schemes = at(document, 'components', 'securitySchemes') as object;
      expect(Object.keys(schemes)).toEqual([schemeName]);
      const [requirement] = at(document, 'paths', '/me', 'get', 'security') as object[];
      expect(Object.keys(requirement ?? {})).toEqual([schemeName]);
    }
  });
});
