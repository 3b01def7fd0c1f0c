/**
 * What is served beside the guarded routes, whichever framework serves those: tokens, their keys,
 * and the document.
 */
import type { IncomingMessage } from 'node:http';
import type { Answer } from '../service/problem.ts';
import { failure, problem, reportError } from '../service/problem.ts';
import { readBody } from './body.ts';
import type { Service } from './http.ts';
import { openApi } from './openapi.ts';
import { answerToken } from './token-endpoint.ts';

type Endpoint = readonly [
  method: 'GET' | 'POST',
  answer: (req: IncomingMessage) => Answer | Promise<Answer>,
];

/** Answers a request for one of these paths; `null` for all others. */
export type Open = (req: IncomingMessage) => Promise<Answer> | null;

const document = (body: unknown): Answer => ({
  status: 200,
  headers: { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300' },
  body: JSON.stringify(body),
});

export function createOpen(service: Service, realm: string): Open {
  const { keyring, tokens, publicUrl = '', report = reportError } = service;
  const interfaceDocument = document(openApi(publicUrl, { tokens: tokens !== undefined }));
  const endpoints: Record<string, Endpoint> = {
    '/v1/openapi.json': ['GET', () => interfaceDocument],
  };
  if (tokens) {
    const keys = document(tokens.jwks);
    endpoints['/.well-known/jwks.json'] = ['GET', () => keys];
    const exchange = { keyring, issuers: tokens.issuers, realm, onOutage: report };
    endpoints['/v1/token'] = [
      'POST',
      async (req) =>
        answerToken(exchange, req.headers['content-type'], (await readBody(req)).toString()),
    ];
  }

  async function serve(req: IncomingMessage, [method, answer]: Endpoint): Promise<Answer> {
    const allow = method === 'GET' ? 'GET, HEAD, OPTIONS' : 'OPTIONS, POST';
    const { method: asked = '' } = req;
    if (asked === 'OPTIONS')
      return { status: 204, headers: { Allow: allow, 'Cache-Control': 'no-store' }, body: '' };
    if (!allow.split(', ').includes(asked))
      return problem(405, 'This path does not take this method.', { Allow: allow });
    try {
      return await answer(req);
    } catch (error) {
      return failure(error, report);
    }
  }

  return (req) => {
    const path = req.url?.replace(/\?.*$/, '') ?? '';
    const endpoint = Object.hasOwn(endpoints, path) ? endpoints[path] : undefined;
    return endpoint === undefined ? null : serve(req, endpoint);
  };
}
