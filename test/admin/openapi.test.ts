/** The OpenAPI document: it is valid, and the endpoints answer as it says. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { type KeyAdminOpenApi, keyAdminOpenApi } from 'keyscope/admin';
import {
  issueInputJsonSchema,
  issueKeylessInputJsonSchema,
  keyInfoJsonSchema,
} from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { answered, BASE, BODY, GRANT, get, issueBy, post, setUpAdmin } from '../support/admin.ts';
import { complaint } from '../support/complaint.ts';
import { HOUR, NOWHERE, OTHER, OWN, tampering } from '../support/keyring.ts';

const TRUST = { issuer: 'https://ci.example', claims: { sub: 'app' } };

const SCHEMES = {
  bearerAuth: { type: 'http', scheme: 'bearer' },
  session: { type: 'apiKey', in: 'cookie', name: 'session' },
};

function documentWith(fragment: KeyAdminOpenApi): Record<string, unknown> {
  return { openapi: '3.1.0', info: { title: 'Keys', version: '1' }, ...fragment };
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly object[];
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
  readonly responses: Readonly<
    Record<string, { readonly $ref?: string; readonly content?: object }>
  >;
}

interface Described extends Operation {
  readonly method: string;
  readonly path: string;
}

function operationsOf({ paths }: KeyAdminOpenApi): readonly Described[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Readonly<Record<string, Operation>>).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
}

describe('the document', () => {
  it('passes a validator of OpenAPI 3.1, with and without security schemes', async () => {
    for (const options of [{}, { securitySchemes: SCHEMES, basePath: '/v1/keys' }]) {
      const validator = new Validator();
      const result = await validator.validate(documentWith(keyAdminOpenApi(options)));
      expect(result.errors).toBeUndefined();
      expect([result.valid, validator.version]).toEqual([true, '3.1']);
    }
  });

  it('is plain data, and changing one copy does not change another', () => {
    const before = JSON.stringify(keyAdminOpenApi());
    const document = structuredClone(keyAdminOpenApi());
    expect(JSON.parse(before)).toEqual(document);
    for (const schema of Object.values(keyAdminOpenApi().components.schemas)) {
      Object.assign(schema, { description: 'changed' });
    }
    expect(JSON.stringify(keyAdminOpenApi())).toBe(before);
  });

  it('has the shapes of keyscope/schemas', () => {
    const { schemas } = keyAdminOpenApi().components;
    expect(schemas).toMatchObject({
      KeyInfo: keyInfoJsonSchema,
      KeyIssueInput: issueInputJsonSchema,
      KeyIssueKeylessInput: issueKeylessInputJsonSchema,
      NewKeylessKey: { required: ['info'], additionalProperties: false },
    });
    const list = operationsOf(keyAdminOpenApi()).find((each) => each.operationId === 'listKeys');
    const names = list?.parameters.map(({ name }) => name);
    expect(names).toEqual(['after', 'limit', 'addressing']);
    // A query cannot have null.
    expect(JSON.stringify(list?.parameters)).not.toContain('null');
  });

  it('has exactly the components that it refers to', () => {
    const { paths, components } = keyAdminOpenApi({ securitySchemes: SCHEMES });
    const text = JSON.stringify({ paths, components });
    const references = [...text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)];
    const wanted = new Set(references.map(([, kind, name]) => `${kind} ${name}`));
    const has = (['schemas', 'responses'] as const).flatMap((kind) =>
      Object.keys(components[kind]).map((name) => `${kind} ${name}`),
    );
    expect([...wanted].sort()).toEqual(has.sort());
    expect(has.filter((name) => !name.includes('Key'))).toEqual([]);
  });

  it('accepts any of the schemes for each operation, or leaves security out', () => {
    const named = operationsOf(keyAdminOpenApi({ securitySchemes: SCHEMES }));
    expect(named.map(({ security }) => security)).toEqual(
      named.map(() => [{ bearerAuth: [] }, { session: [] }]),
    );
    for (const operation of operationsOf(keyAdminOpenApi())) {
      expect(operation).not.toHaveProperty('security');
    }
  });

  it('needs well-formed options', () => {
    const complain = (options: object) => complaint(() => keyAdminOpenApi(options));
    expect(complain({ basePath: 'keys' })).toMatch(/^basePath/);
    expect(complain({ securitySchemes: [] })).toMatch(/^securitySchemes/);
    expect(complain({ security: [] })).toMatch(/unknown field/);
  });
});

describe('the endpoints', () => {
  const operations = operationsOf(keyAdminOpenApi());
  const isPath = (path: string) => operations.some((each) => each.path === path);
  const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'];

  it('have exactly the paths and methods of the document', async () => {
    expect(operations).toHaveLength(10);
    const asked: string[] = [];
    const authorityOf = (_request: Request, operation: string) => {
      asked.push(operation);
      return GRANT;
    };
    const { admin } = setUpAdmin({ authorityOf });
    const paths = [...new Set(operations.map(({ path }) => path)), '/keys/{keyId}/delete', '/'];
    for (const path of paths) {
      for (const method of METHODS) {
        const described = operations.find((each) => each.path === path && each.method === method);
        const url = BASE + path.replace('{keyId}', NOWHERE);
        const init = method === 'GET' ? {} : { body: '{}' };
        const headers = { 'content-type': 'application/json' };
        const { status } = await admin(new Request(url, { method, headers, ...init }));
        const expected = isPath(path) ? 405 : 404;
        if (described === undefined)
          expect([method, path, status]).toEqual([method, path, expected]);
        else expect(asked.pop()).toBe(described.operationId);
        expect(asked).toEqual([]);
      }
    }
  });

  it('answer as the document says, for each operation and each refusal', async () => {
    const tokens = { verify: () => Promise.reject(new Error('unused')), identifies: () => true };
    const { admin, keyring, clock, store } = setUpAdmin({}, memoryStore(), tokens);
    const seen = new Map<string, Set<string>>();

    async function send(operationId: string, request: Request, by = admin): Promise<void> {
      const response = await by(request);
      const described = operations.find((each) => each.operationId === operationId);
      const answer = described?.responses[response.status];
      expect([operationId, response.status, answer]).toEqual([
        operationId,
        response.status,
        expect.anything(),
      ]);
      const isProblem = response.status >= 400;
      expect(answer?.$ref !== undefined).toBe(isProblem);
      expect((await response.text()) === '').toBe(!isProblem && answer?.content === undefined);
      seen.set(operationId, (seen.get(operationId) ?? new Set()).add(String(response.status)));
    }

    const addressing = { entityId: OTHER, entities: [OWN], scopes: 'all' } as const;
    const { info } = await keyring.issue({ ...BODY, accessibleEntities: [OWN] }, addressing);
    const rotation = { overlapMs: HOUR };
    const actions = [
      ['rotateKey', 'rotate', rotation],
      ['suspendKey', 'suspend', {}],
      ['resumeKey', 'resume', {}],
      ['revokeKey', 'revoke', {}],
      ['revokeKeyLineage', 'revoke-lineage', {}],
      ['withdrawFromKey', 'withdraw', {}],
    ] as const;
    await send('listKeys', get('/keys'));
    await send('listKeys', get('/keys?limit=x'));
    await send('issueKey', post('/keys', BODY));
    await send('issueKeylessKey', post('/keys/keyless', { ...BODY, trust: TRUST }));
    await send('getKey', get(`/keys/${await issueBy(admin)}`));
    await send('getKey', get(`/keys/${NOWHERE}`));
    await send('getKey', get(`/keys/${NOWHERE}?x`));
    const ended = await issueBy(admin);
    await answered(admin(post(`/keys/${ended}/revoke`)), 204);
    for (const [operationId, action, body] of actions) {
      clock.advance(1);
      const keyId = action === 'withdraw' ? info.keyId : await issueBy(admin);
      await send(operationId, post(`/keys/${keyId}/${action}`, body));
      await send(operationId, post(`/keys/${NOWHERE}/${action}`, body));
      const conflicts = ['rotate', 'suspend', 'resume'].includes(action);
      if (conflicts) await send(operationId, post(`/keys/${ended}/${action}`, body));
    }
    const posts = [
      ['issueKey', '/keys'],
      ['issueKeylessKey', '/keys/keyless'],
      ...actions.map(([id, name]) => [id, `/keys/x/${name}`]),
    ];
    for (const [operationId = '', path = ''] of posts) {
      await send(operationId, post(path, '['));
      await send(operationId, post(path, 'x'.repeat(200_000)));
      await send(operationId, post(path, {}, { 'content-type': 'text/plain' }));
    }
    const damaged = tampering(store, (row) => ({ ...row, name: 'other' }));
    const lineage = post(`/keys/${await issueBy(admin)}/revoke-lineage`);
    await send('revokeKeyLineage', lineage, setUpAdmin({}, damaged).admin);
    const broken = { ...store, list: () => Promise.reject(new Error('away')) };
    await send('listKeys', get('/keys'), setUpAdmin({}, broken).admin);

    for (const { operationId, responses } of operations) {
      const unseen = Object.keys(responses).filter((status) => !seen.get(operationId)?.has(status));
      // The others come from the authority (authority.test.ts) or from the store.
      expect([
        operationId,
        unseen.filter((status) => !['401', '403', '503'].includes(status)),
      ]).toEqual([operationId, []]);
    }
  });
});
