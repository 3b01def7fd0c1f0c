/**
 * The recipes for AWS Lambda: the guard and the authorizers, called with events that have the
 * fields of the vendor's documentation.
 */
import { readFileSync } from 'node:fs';
import type { Admission, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { type AdapterSetup, adapterContract } from 'keyscope/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AUTHORITY,
  bearer,
  issue,
  OTHER,
  OWN,
  PLAIN,
  setUp,
  thrown,
  wrap,
} from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';

interface Answer {
  readonly statusCode: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
}
type Handler = (event: object) => Promise<Answer>;
type Admit = (event: object) => Promise<Admission>;
type Authorizer = (admit: Admit) => (event: object) => Promise<object>;

interface Guards {
  createGuard(
    options: object,
  ): (operation: string, handle: (event: object, caller: Admission) => Promise<Answer>) => Handler;
}
interface Authorizers {
  readonly restAuthorizer: Authorizer;
  readonly httpAuthorizer: Authorizer;
}

let recipes: Recipes;
let guards: Guards;
let authorizers: Authorizers;
beforeAll(async () => {
  const names = ['lambda.ts', 'authorizers.ts'] as const;
  recipes = writeRecipes('docs/recipes.md', 'test/recipes', names);
  guards = (await recipes.load('lambda.ts')) as Guards;
  authorizers = (await recipes.load('authorizers.ts')) as Authorizers;
});
afterAll(() => recipes.remove());

/** An event with additional headers, each a line, and a query. */
type ToEvent = (lines: readonly (readonly [string, string])[], query?: string) => object;

function readEvent(name: string): { readonly headers: Record<string, string> } {
  const path = new URL(`events/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')) as { readonly headers: Record<string, string> };
}

/** The last value of each name, and all of them. */
const payloadOne =
  (name: string): ToEvent =>
  (lines, query = '') => {
    const event = readEvent(name);
    const all: Record<string, string[]> = {};
    for (const [header, value] of lines) all[header] = [...(all[header] ?? []), value];
    const parameters = new URLSearchParams(query);
    const names = [...new Set(parameters.keys())];
    return {
      ...event,
      headers: { ...event.headers, ...Object.fromEntries(lines) },
      multiValueHeaders: all,
      queryStringParameters: query === '' ? null : Object.fromEntries(parameters),
      multiValueQueryStringParameters:
        query === '' ? null : Object.fromEntries(names.map((of) => [of, parameters.getAll(of)])),
    };
  };

/** Names in lower case, and the values of a name joined. */
const payloadTwo =
  (name: string): ToEvent =>
  (lines, query = '') => {
    const event = readEvent(name);
    const headers = new Headers(event.headers);
    for (const [header, value] of lines) headers.append(header, value);
    const joined = Object.fromEntries(headers.entries());
    return { ...event, headers: joined, rawQueryString: query };
  };

const EVENTS = { 'payload 1.0': payloadOne('rest'), 'payload 2.0': payloadTwo('http') } as const;

/** Serves fetch requests through the guard, as API Gateway would. */
function serve(toEvent: ToEvent, { handle, ...options }: AdapterSetup) {
  const guard = guards.createGuard(options);
  const answer = async (_: object, { principal, entityId }: Admission): Promise<Answer> => {
    const body = await handle(principal, entityId);
    return { statusCode: 200, body };
  };
  const whoami = guard('whoami', answer);
  const reports = guard('readReports', answer);
  return async (request: Request) => {
    const { pathname, searchParams } = new URL(request.url);
    const query = new URLSearchParams();
    for (const value of searchParams.getAll('entity')) query.append('entity_uuid', value);
    const lines = [...request.headers.entries()];
    const run = pathname === '/whoami' ? whoami : reports;
    const { statusCode, headers = {}, body } = await run(toEvent(lines, query.toString()));
    return new Response(request.method === 'HEAD' ? null : body, { status: statusCode, headers });
  };
}

describe.each(Object.entries(EVENTS))('the guard of a function, %s', (_, toEvent) => {
  adapterContract(test, (setup) => ({ fetch: serve(toEvent, setup) }));

  async function ready() {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const options = { keyring };
    const answer = async (_: object, { entityId }: Admission) => ({
      statusCode: 200,
      body: entityId,
    });
    return { key, handler: guards.createGuard(options)('list', answer) };
  }

  test.each(['Authorization', 'authorization', 'AUTHORIZATION'])('reads %s', async (name) => {
    const { key, handler } = await ready();
    expect(await handler(toEvent([[name, bearer(key)]]))).toMatchObject({ statusCode: 200 });
  });

  test('refuses two lines, also in two letter cases', async () => {
    const { key, handler } = await ready();
    for (const names of [
      ['Authorization', 'Authorization'],
      ['Authorization', 'authorization'],
    ]) {
      const lines = names.map((name) => [name, bearer(key)] as const);
      expect(await handler(toEvent(lines))).toMatchObject({ statusCode: 400 });
    }
  });

  test('sees each value of a parameter', async () => {
    const { key, handler } = await ready();
    const lines = [['authorization', bearer(key)]] as const;
    expect(await handler(toEvent(lines, `entity_uuid=${OWN}`))).toMatchObject({ body: OWN });
    const twice = `entity_uuid=${OTHER}&entity_uuid=${OWN}`;
    expect(await handler(toEvent(lines, twice))).toMatchObject({ statusCode: 400 });
    const other = await handler(toEvent(lines, `entity_uuid=${OTHER}`));
    expect(other).toMatchObject({ statusCode: 403 });
  });
});

/** An authorizer for an operation, over a store with one key. */
async function authorize(which: keyof Authorizers, operation: 'list' | 'triage', store?: KeyStore) {
  const { keyring } = setUp(store === undefined ? {} : { store });
  const { key, info } = await keyring.issue(PLAIN, AUTHORITY);
  const admit: Admit = (event) => keyring.admit(event, { operation });
  return { keyring, key, keyId: info.keyId, authorizer: authorizers[which](admit) };
}

const brokenStore = (): KeyStore =>
  wrap(memoryStore(), (method, _, call) => {
    if (method === 'findByDigest') throw new Error('away');
    return call();
  });

describe('an authorizer of a REST API', () => {
  const toEvent = payloadOne('rest-authorizer');
  const methodArn = 'arn:aws:execute-api:us-east-1:123456789012:s4x3opwd6i/test/GET/threats';
  const Action = 'execute-api:Invoke';

  test('allows the one method, and says who calls', async () => {
    const { authorizer, key, keyId } = await authorize('restAuthorizer', 'list');
    const Statement = [{ Action, Effect: 'Allow', Resource: methodArn }];
    expect(await authorizer(toEvent([['authorization', bearer(key)]]))).toEqual({
      principalId: keyId,
      policyDocument: { Version: '2012-10-17', Statement },
    });
  });

  test('rejects with the text of a 401', async () => {
    const { authorizer, key, keyId, keyring } = await authorize('restAuthorizer', 'list');
    const call = (...lines: [string, string][]) => thrown(() => authorizer(toEvent(lines)));
    expect(await call()).toEqual(new Error('Unauthorized'));
    await keyring.revoke(keyId, AUTHORITY);
    expect(await call(['Authorization', bearer(key)])).toEqual(new Error('Unauthorized'));
  });

  test('denies a key without the scope', async () => {
    const { authorizer, key } = await authorize('restAuthorizer', 'triage');
    const Statement = [{ Action, Effect: 'Deny', Resource: methodArn }];
    expect(await authorizer(toEvent([['Authorization', bearer(key)]]))).toEqual({
      principalId: 'denied',
      policyDocument: { Version: '2012-10-17', Statement },
    });
  });

  test('passes on an outage, which is not a 401', async () => {
    const { authorizer, key } = await authorize('restAuthorizer', 'list', brokenStore());
    const error = await thrown(() => authorizer(toEvent([['Authorization', bearer(key)]])));
    expect(error).toMatchObject({ name: 'StoreError' });
  });
});

describe('an authorizer of an HTTP API', () => {
  const toEvent = payloadTwo('http-authorizer');

  test('answers whether the caller is authorized, and who calls', async () => {
    const { authorizer, key, keyId, keyring } = await authorize('httpAuthorizer', 'list');
    const event = toEvent([['Authorization', bearer(key)]]);
    const context = { keyId };
    expect(await authorizer(event)).toEqual({ isAuthorized: true, context });
    expect(await authorizer(toEvent([]))).toEqual({ isAuthorized: false });
    await keyring.revoke(keyId, AUTHORITY);
    expect(await authorizer(event)).toEqual({ isAuthorized: false });
  });

  test('refuses a key without the scope', async () => {
    const { authorizer, key } = await authorize('httpAuthorizer', 'triage');
    const event = toEvent([['Authorization', bearer(key)]]);
    expect(await authorizer(event)).toEqual({ isAuthorized: false });
  });

  test('passes on an outage', async () => {
    const { authorizer, key } = await authorize('httpAuthorizer', 'list', brokenStore());
    const error = await thrown(() => authorizer(toEvent([['Authorization', bearer(key)]])));
    expect(error).toMatchObject({ name: 'StoreError' });
  });
});
