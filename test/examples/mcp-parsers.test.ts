/** The gate behind the parsers of Express and Fastify, with a server and clients of the SDK. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import Fastify from 'fastify';
import type { McpGate, McpGateInput } from 'keyscope/mcp';
import { afterEach, describe, expect, test } from 'vitest';
import { issue } from '../support/keyring.ts';
import { call, setUpGate } from '../support/mcp.ts';
import { connect1, connect2Legacy, failureOf, post } from '../support/mcp-clients.ts';
import { listenWith, type Serve, serveStateless } from '../support/mcp-mounted.ts';
import { stopAll } from '../support/mcp-servers.ts';

afterEach(stopAll);

/** Answers a Node request whose body a parser may have read. */
type Answer = (req: IncomingMessage, res: ServerResponse, body: unknown) => Promise<void>;

function answerWith(gate: McpGate, serve: Serve, isHandedOver: boolean): Answer {
  return (req, res, body) => {
    const input: McpGateInput | undefined = isHandedOver ? { parsedBody: body } : undefined;
    const listener = getRequestListener(async (request) => {
      const entry = await gate(request, input);
      return entry instanceof Response ? entry : serve(request, entry);
    });
    return listener(req, res);
  };
}

async function createFastify(answer: Answer): Promise<RequestListener> {
  const app = Fastify();
  app.all('/mcp', async (request, reply) => {
    reply.hijack();
    await answer(request.raw, reply.raw, request.body);
  });
  await app.ready();
  return app.routing;
}

const FRAMEWORKS: Readonly<Record<string, (answer: Answer) => Promise<RequestListener>>> = {
  async express(answer) {
    const app = express();
    app.use(express.json());
    app.all('/mcp', (req, res) => answer(req, res, req.body));
    return app;
  },
  fastify: createFastify,
};

interface Mounted {
  readonly url: string;
  readonly key: string;
  readonly called: string[];
}

async function mountBehind(framework: string, isHandedOver: boolean): Promise<Mounted> {
  const { gate, keyring } = setUpGate();
  const { key } = await issue(keyring);
  const called: string[] = [];
  const names = ['listThreats', 'listUsers', 'forgotten'];
  const serve = serveStateless('1.x', { names, onCall: (name) => void called.push(name) });
  const create = FRAMEWORKS[framework];
  if (create === undefined) throw new Error('no such framework');
  const url = await listenWith(await create(answerWith(gate, serve, isHandedOver)));
  return { url, key, called };
}

describe.each(Object.keys(FRAMEWORKS))('the gate behind the parser of %s', (framework) => {
  test('checks the parsed body, and the SDK serves it', async () => {
    const { url, key, called } = await mountBehind(framework, true);
    for (const connect of [connect1, connect2Legacy]) {
      const client = await connect(url, key);
      await client.call('listThreats');
      expect(await failureOf(client.call('listUsers'))).toContain('users:read');
      expect(await failureOf(client.call('forgotten'))).toContain('-32602');
    }
    expect(called).toEqual(['listThreats', 'listThreats']);
    expect((await post(url, null, call('listThreats'))).status).toBe(401);
  });

  // The answer was once an empty 500, without cause or remedy.
  test('causes an error that says so if the body is not passed on', async () => {
    const { url, key, called } = await mountBehind(framework, false);
    const announced = await post(url, key, call('listThreats'));
    expect(announced.status).toBe(500);
    expect(announced.body).toContain('gate(request, { parsedBody: req.body })');
    const chunked = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: new Blob([JSON.stringify(call('listThreats'))]).stream(),
      duplex: 'half',
    });
    expect(chunked.status).toBe(500);
    expect(await chunked.text()).toContain('{ parsedBody: req.body }');
    expect(called).toEqual([]);
  });
});
