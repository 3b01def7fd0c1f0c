/**
 * Events of cloud functions, copied from the vendors' documentation. Either the credential is
 * found, or the error says what to pass instead. No event counts as a request without a credential.
 */
import { describe, expect, it } from 'vitest';
import { bearer, denied, issue, setUp, untyped } from '../support/keyring.ts';

const ARN = 'arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/request';

/** The documented event of one kind, around the headers. */
type Event = (value: string) => unknown;

/** An event of Amazon API Gateway, REST, payload 1.0. Also for `$connect` and authorizers. */
const payloadOne = (value: string) => ({
  resource: '/my/path',
  path: '/my/path',
  httpMethod: 'GET',
  headers: { Host: 'x.execute-api.us-east-1.amazonaws.com', Authorization: value },
  multiValueHeaders: { Host: ['x.execute-api.us-east-1.amazonaws.com'], Authorization: [value] },
  queryStringParameters: { parameter1: 'value1' },
  multiValueQueryStringParameters: { parameter1: ['value1'] },
  requestContext: { accountId: '123456789012', identity: { sourceIp: '192.0.2.1' } },
  pathParameters: null,
  stageVariables: null,
  body: null,
  isBase64Encoded: false,
});

/** HTTP APIs and function URLs, payload 2.0. */
const payloadTwo = (value: string) => ({
  version: '2.0',
  routeKey: '$default',
  rawPath: '/my/path',
  rawQueryString: 'parameter1=value1',
  cookies: ['cookie1', 'cookie2'],
  headers: { authorization: value, 'content-type': 'text/plain' },
  queryStringParameters: { parameter1: 'value1' },
  requestContext: { http: { method: 'POST', path: '/my/path' }, authentication: null },
  isBase64Encoded: false,
});

const loadBalancer = { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:…' } };

const READ: readonly (readonly [string, Event])[] = [
  ['API Gateway, REST', payloadOne],
  ['API Gateway, HTTP', payloadTwo],
  ['a Lambda function URL', payloadTwo],
  [
    'an Application Load Balancer',
    (value) => ({
      requestContext: loadBalancer,
      httpMethod: 'GET',
      path: '/',
      queryStringParameters: { foo: 'bar' },
      headers: { accept: 'text/html', authorization: value },
      body: '',
      isBase64Encoded: false,
    }),
  ],
  [
    'an Application Load Balancer with multi-value headers',
    (value) => ({
      requestContext: loadBalancer,
      multiValueQueryStringParameters: { myKey: ['val1', 'val2'] },
      multiValueHeaders: { accept: ['text/html'], authorization: [value] },
    }),
  ],
  [
    'a REQUEST authorizer, 1.0',
    (value) => ({ type: 'REQUEST', methodArn: ARN, ...payloadOne(value) }),
  ],
  [
    'a REQUEST authorizer, 2.0',
    (value) => ({
      type: 'REQUEST',
      routeArn: ARN,
      identitySource: ['user1', '123'],
      ...payloadTwo(value),
    }),
  ],
  [
    'a WebSocket $connect',
    (value) => ({
      ...payloadOne(value),
      requestContext: { routeKey: '$connect', eventType: 'CONNECT', connectionId: 'x=' },
    }),
  ],
  [
    'the request of an AppSync resolver',
    (value) => ({ headers: { host: 'x', authorization: value }, domainName: null }),
  ],
  [
    'a context of Azure Functions 3',
    (value) => ({
      invocationId: 'x',
      bindings: {},
      req: { method: 'GET', url: 'https://x/', headers: { authorization: value }, query: {} },
      res: {},
    }),
  ],
  [
    'a request of Azure Functions 4',
    (value) => ({ method: 'GET', headers: new Headers({ authorization: value }), query: {} }),
  ],
  [
    'Netlify, the older functions',
    (value) => ({
      path: '/x',
      httpMethod: 'GET',
      headers: { authorization: value },
      multiValueHeaders: { authorization: [value] },
      rawUrl: 'https://x/x',
      rawQuery: '',
      body: '',
      isBase64Encoded: false,
    }),
  ],
  ['a Map of headers', (value) => new Map([['authorization', value]])],
  ['a Map of headers as they were sent', (value) => new Map([['Authorization', value]])],
  [
    'a request with a Map of headers',
    (value) => ({ headers: new Map([['AUTHORIZATION', value]]) }),
  ],
];

/** A header of CloudFront, in Lambda@Edge. */
const edge = (key: string, value: string) => ({ [key.toLowerCase()]: [{ key, value }] });

/** A viewer request of Lambda@Edge, with additional headers. */
const viewerRequest = (headers: object) => ({
  clientIp: '203.0.113.178',
  headers: {
    ...edge('Host', 'd111111abcdef8.cloudfront.net'),
    ...edge('User-Agent', 'curl/7.66.0'),
    ...edge('accept', '*/*'),
    ...headers,
  },
  method: 'GET',
  querystring: '',
  uri: '/',
});

const cloudFront = (headers: object) => ({
  Records: [
    {
      cf: {
        config: {
          distributionDomainName: 'd111111abcdef8.cloudfront.net',
          distributionId: 'EDFDVBD6EXAMPLE',
          eventType: 'viewer-request',
          requestId: '4TyzHTaYWb1GX1qTfsHhEqV6HUDd_BzoBZnwfnvQc_1oF26ClkoUSEQ==',
        },
        request: viewerRequest(headers),
      },
    },
  ],
});

/** Two lines of one header, in Lambda@Edge. */
const edgeTwice = (value: string) => {
  const line = { key: 'Authorization', value };
  return { authorization: [line, line] };
};

const TEXTS = /^request: pass its Authorization values as texts: event\.authorizationToken of a/;
const NEITHER = /^request: pass the request itself or its headers; this object is neither$/;

const REFUSED: readonly (readonly [string, Event, RegExp])[] = [
  [
    'a TOKEN authorizer',
    (value) => ({ type: 'TOKEN', authorizationToken: value, methodArn: ARN }),
    TEXTS,
  ],
  ['Lambda@Edge', (value) => cloudFront(edge('Authorization', value)), TEXTS],
  ['the request of Lambda@Edge', (value) => viewerRequest(edge('Authorization', value)), TEXTS],
  ['the request of Lambda@Edge with two lines', (value) => viewerRequest(edgeTwice(value)), TEXTS],
  ['the request of Lambda@Edge without the header', () => viewerRequest({}), TEXTS],
  [
    'the headers of Lambda@Edge',
    (value) => viewerRequest(edge('Authorization', value)).headers,
    TEXTS,
  ],
  ['the headers of Lambda@Edge without the header', () => viewerRequest({}).headers, TEXTS],
  ['the lines of Lambda@Edge', (value) => edgeTwice(value).authorization, TEXTS],
  ['one line of Lambda@Edge', (value) => edgeTwice(value).authorization.slice(1), TEXTS],
  [
    'CloudFront Functions',
    (value) => ({
      version: '1.0',
      context: { eventType: 'viewer-request' },
      viewer: { ip: '192.0.2.1' },
      request: { method: 'GET', uri: '/', headers: { authorization: { value } }, cookies: {} },
    }),
    NEITHER,
  ],
  [
    'the headers of CloudFront Functions in a request',
    (value) => ({ method: 'GET', headers: { authorization: { value } } }),
    TEXTS,
  ],
  [
    'the request of CloudFront Functions without the header',
    () => ({ method: 'GET', uri: '/', headers: { host: { value: 'x' } }, cookies: {} }),
    NEITHER,
  ],
  [
    'an AppSync authorizer',
    (value) => ({
      authorizationToken: value,
      requestContext: { apiId: 'x', accountId: 'x', queryString: '', variables: {} },
      requestHeaders: { host: 'x' },
    }),
    NEITHER,
  ],
  [
    'an AppSync resolver',
    (value) => ({
      arguments: {},
      identity: null,
      source: null,
      request: { headers: { authorization: value }, domainName: null },
      info: { fieldName: 'x' },
    }),
    NEITHER,
  ],
  [
    'a message of a WebSocket',
    () => ({ requestContext: { routeKey: '$default' }, body: '{}', isBase64Encoded: false }),
    NEITHER,
  ],
  [
    'a context of Cloudflare Pages',
    (value) => ({
      request: new Request('http://x/', { headers: { authorization: value } }),
      env: {},
    }),
    NEITHER,
  ],
];

describe('the event of a cloud function', () => {
  it.each(READ)('is read: %s', async (_what, event) => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    const principal = await keyring.authenticate(untyped(event(bearer(key))));
    expect(principal.keyId).toBe(info.keyId);
  });

  // Events of TOKEN authorizers and Lambda@Edge counted as requests without a credential, and lines
  // of Lambda@Edge as malformed. Callers got a 401 or 400 for the key that they had sent correctly.
  it.each(REFUSED)(
    'is refused, and the error says what to pass: %s',
    async (_what, event, message) => {
      const { keyring, events } = setUp();
      const { key } = await issue(keyring);
      const act = keyring.authenticate(untyped(event(bearer(key))));
      await expect(act).rejects.toThrow(message);
      await expect(act).rejects.toBeInstanceOf(TypeError);
      await expect(act).rejects.not.toThrow(key.slice(5, 20));
      expect(events.map(({ type }) => type)).toEqual(['key.issued']);
    },
  );

  it('is read from the place that the error names', async () => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    const token = { type: 'TOKEN', authorizationToken: bearer(key), methodArn: ARN };
    expect((await keyring.authenticate(token.authorizationToken)).keyId).toBe(info.keyId);
    const headers: { readonly authorization?: readonly { readonly value: string }[] } = edge(
      'Authorization',
      bearer(key),
    );
    const values = headers.authorization?.map(({ value }) => value);
    expect((await keyring.authenticate(values)).keyId).toBe(info.keyId);
    await denied(() => keyring.authenticate(undefined), 'missing_credentials', 'no_header');
  });
});

describe('headers with the names of event fields', () => {
  const NAMED = {
    type: 'TOKEN',
    authorizationToken: 'Bearer x',
    methodArn: ARN,
    Records: 'x',
    requestContext: 'x',
    request: 'x',
    rawHeaders: 'authorization',
    headers: 'x',
    multiValueHeaders: 'x',
    get: 'x',
    entries: 'x',
  };

  it.each([
    ['texts', (headers: object) => headers],
    [
      'lists',
      (headers: object) => Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, [v]])),
    ],
    ['a request', (headers: object) => ({ headers })],
    ['a Map', (headers: object) => new Map(Object.entries(headers))],
    ['fetch Headers', (headers: object) => new Headers({ ...headers })],
  ])('are ordinary headers: %s', async (_what, wrap) => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    const none = wrap({ Host: 'x', ...NAMED });
    await denied(() => keyring.authenticate(untyped(none)), 'missing_credentials', 'no_header');
    const { type, authorizationToken, methodArn } = NAMED;
    const three = wrap({ type, authorizationToken, methodArn, Host: 'x' });
    await denied(() => keyring.authenticate(untyped(three)), 'missing_credentials', 'no_header');
    const one = wrap({ ...NAMED, authorization: bearer(key) });
    expect((await keyring.authenticate(untyped(one))).keyId).toBe(info.keyId);
  });

  it('refuses two spellings in a Map as two credentials', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const map = new Map([
      ['authorization', bearer(key)],
      ['Authorization', bearer(key)],
    ]);
    await denied(() => keyring.authenticate(untyped(map)), 'invalid_request', 'malformed_header');
  });
});
