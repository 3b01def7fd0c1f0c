/**
 * What a guard costs in JavaScript alone: `node bench/guards.ts`. A whole guarded request, on
 * `node:http`, Hono, Fastify and Express, without a socket: each gets a request and a response of
 * Node's own, and is done when it has ended the response. Beside it the same route behind the plain
 * check, which sets the same header.
 */
import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { measureApart, type Pairs } from './apart.ts';
import { type Case, drawer } from './harness.ts';
import { OURS, PATH, PLAIN, type Serve, type Served } from './http/route.ts';
import { SERVERS } from './http/servers.ts';
import { aim, publish, quick, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 100;
const CALLS = 40;
const LIST = 8;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly ended: Promise<void>;
}

/** As the parser of `node:http` leaves it; nothing is sent. */
function exchangeOf(token: string): Exchange {
  const lines = ['Host', '127.0.0.1', 'Accept', '*/*', 'Authorization', `Bearer ${token}`];
  const request = new IncomingMessage(new Socket());
  request.method = 'GET';
  request.url = PATH;
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.httpVersion = '1.1';
  request.rawHeaders = lines;
  // What fills `headers`, once they are read.
  const { _addHeaderLines: add } = request as unknown as {
    readonly _addHeaderLines: (lines: readonly string[], count: number) => void;
  };
  add.call(request, lines, lines.length);
  request.push(null);
  const response = new ServerResponse(request);
  let resolve = (): void => {};
  const ended = new Promise<void>((done) => {
    resolve = done;
  });
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.end = (...args: unknown[]) => {
    end(...args);
    resolve();
    return response;
  };
  return { request, response, ended };
}

/** All that is sent before the body. */
function sentHeaderOf(response: ServerResponse): string {
  return String((response as unknown as { readonly _header: unknown })._header);
}

async function answer(served: Served, { request, response, ended }: Exchange): Promise<void> {
  served.listener(request, response as ServerResponse & { req: IncomingMessage });
  await ended;
}

async function caseOf(name: string, serve: Serve | undefined): Promise<Case<readonly Exchange[]>> {
  const served = await (serve as Serve)();
  const { tokens, underScoped = '' } = served;
  const draw = drawer(5);
  // A string of its own for each request, as a socket gives.
  const fresh = (token: string): string => Buffer.from(token, 'latin1').toString('latin1');
  const make = () => exchangeOf(fresh(tokens[draw(tokens.length)] as string));
  async function answerAll(exchanges: readonly Exchange[]): Promise<void> {
    for (const exchange of exchanges) await answer(served, exchange);
  }
  return {
    name,
    over: PLAIN,
    calls: CALLS,
    batch: LIST,
    async check() {
      const good = make();
      await answer(served, good);
      assert.equal(good.response.statusCode, 200);
      assert.match(sentHeaderOf(good.response), /^cache-control: no-store\r$/im);
      const bad = exchangeOf(underScoped);
      await answer(served, bad);
      assert.equal(bad.response.statusCode, 403);
    },
    prepare: () => Array.from({ length: LIST }, make),
    run: answerAll,
  };
}

const pairs: Pairs = Object.fromEntries(
  Object.entries(SERVERS).map(([framework, servers]) => [
    framework,
    async () => [await caseOf(PLAIN, servers[PLAIN]), await caseOf(OURS, servers[OURS])],
  ]),
);

const figures = await measureApart(import.meta.url, pairs, ROUNDS);
if (figures !== null) {
  const addedTo = (framework: string): number => {
    const [plain, ours] = figures.get(framework) ?? [];
    return ((ours?.ns ?? Number.NaN) - (plain?.ns ?? Number.NaN)) / 1000;
  };
  publish({
    name: 'guards',
    title: 'A guarded request, JavaScript alone',
    about:
      'A request and its response through a framework, without a socket, behind the guard of ' +
      '`examples/` and behind the plain check, which sets the same header. Nanoseconds of a ' +
      'request; less is better.',
    unit: 'ns',
    base: PLAIN,
    rows: Array.from(figures, ([group, pair]) =>
      pair.map((figure) =>
        rowOf(figure, 'ns', { name: figure.name, group, ours: figure.name === OURS }),
      ),
    ).flat(),
    aims: Object.keys(SERVERS).map((framework) => {
      const most = framework === 'Express' ? 2.5 : 1;
      return aim(`${framework}, over the plain check`, addedTo(framework), '≤', most, 'µs');
    }),
  });
}
