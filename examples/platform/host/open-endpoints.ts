/**
 * The endpoints without a guard, the same for all frameworks: the exchange of a key for a token,
 * the public keys of tokens, the OpenAPI document, and the readiness of the service.
 */
import type { IncomingMessage } from 'node:http';
import type { Answer } from '../service/problem.ts';
import { failure, reportError } from '../service/problem.ts';
import { readBody } from './body.ts';
import type { Service } from './http.ts';
import { unserved } from './http.ts';
import { openApi } from './openapi.ts';
import { answerToken } from './token-endpoint.ts';

interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly answer: (req: IncomingMessage) => Answer | Promise<Answer>;
}

/** Answers a request for one of these paths; `null` for all others. */
export type OpenEndpoints = (req: IncomingMessage) => Promise<Answer> | null;

const ALLOWED: Readonly<Record<Endpoint['method'], readonly string[]>> = {
  GET: ['GET', 'HEAD', 'OPTIONS'],
  POST: ['OPTIONS', 'POST'],
};

/** Returns an endpoint with a fixed answer. */
function documentAt(body: unknown): Endpoint {
  const document = {
    status: 200,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300' },
    body: JSON.stringify(body),
  };
  return { method: 'GET', answer: () => document };
}

function endpointsOf(service: Service, realm: string): ReadonlyMap<string, Endpoint> {
  const { keyring, tokens, readiness, publicUrl = '', report = reportError } = service;
  const endpoints = new Map<string, Endpoint>();
  const api = openApi(publicUrl, { tokens: tokens !== undefined });
  endpoints.set('/v1/openapi.json', documentAt(api));
  if (readiness !== undefined) {
    endpoints.set('/readyz', { method: 'GET', answer: () => readiness.answer() });
  }
  if (tokens === undefined) return endpoints;
  endpoints.set('/.well-known/jwks.json', documentAt(tokens.jwks));
  const exchange = { keyring, issuers: tokens.issuers, realm, onError: report };
  endpoints.set('/v1/token', {
    method: 'POST',
    async answer(req) {
      const body = await readBody(req);
      return answerToken(exchange, req.headers['content-type'], body.toString());
    },
  });
  return endpoints;
}

export function createOpenEndpoints(service: Service, realm: string): OpenEndpoints {
  const { report = reportError } = service;
  const endpoints = endpointsOf(service, realm);

  async function serve(req: IncomingMessage, endpoint: Endpoint): Promise<Answer> {
    const { method = '' } = req;
    const allowed = ALLOWED[endpoint.method];
    const isAllowed = allowed.includes(method) && method !== 'OPTIONS';
    if (!isAllowed) return unserved(method, allowed.join(', '));
    try {
      return await endpoint.answer(req);
    } catch (error) {
      return failure(error, report);
    }
  }

  return (req) => {
    const path = req.url?.replace(/\?.*$/, '') ?? '';
    const endpoint = endpoints.get(path);
    if (endpoint === undefined) return null;
    return serve(req, endpoint);
  };
}
