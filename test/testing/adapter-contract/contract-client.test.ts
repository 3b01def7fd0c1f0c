/** The client of the contract: its transports, its timeout, and its search for secrets. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LET_IN, NONE, runOf, serveWith } from './fetch-adapter.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('adapterContract', () => {
  test('says what serve and fetch must return', async () => {
    for (const odd of [undefined, {}, 'http://localhost', { fetch: 1 }]) {
      const message =
        'adapterContract: serve returned no url and no fetch. Return { url } or { fetch }';
      await expect(runOf(() => odd as never, NONE)).rejects.toThrow(new TypeError(message));
    }
    const answersNothing = () => ({ fetch: () => undefined as never });
    await expect(runOf(answersNothing, NONE)).rejects.toThrow(
      'GET /whoami: fetch must return a Response',
    );
  });

  test('needs node:http only for a url, and says so', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
    await runOf(serveWith(), NONE);
    const close = vi.fn();
    const serve = () => ({ url: 'http://localhost', close });
    const message =
      'adapterContract: this runtime lacks node:http, which { url } needs (Node 20.16 or later, ' +
      'Bun, Deno). Return { fetch } from serve';
    await expect(runOf(serve, NONE)).rejects.toThrow(new TypeError(message));
    expect(close).toHaveBeenCalledTimes(1);
  });

  test('aborts a request that gets no answer within four seconds', async () => {
    vi.useFakeTimers();
    const asked: Request[] = [];
    const never = serveWith((_answer, request) => {
      asked.push(request);
      return new Promise(() => {});
    });
    const failed = expect(runOf(never, NONE)).rejects.toThrow(
      'GET /whoami: no answer within 4000 ms',
    );
    await vi.advanceTimersByTimeAsync(3999);
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    await failed;
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test('clears its timers', async () => {
    vi.useFakeTimers();
    await runOf(serveWith(), NONE);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('finds a key in any header or body, and does not print it', async () => {
    const found = 'GET /reports: the answer contains a key';
    const keyOf = ({ headers }: Request) => headers.get('authorization')?.slice(7) ?? '';
    const inHeader = serveWith((answer, request) => {
      answer.headers.set('X-Seen', `<${keyOf(request)}>`);
      return answer;
    });
    const behindPrefix = serveWith((answer, request) => {
      answer.headers.set('X-Seen', keyOf(request).slice(5));
      return answer;
    });
    const inBody = serveWith((_answer, request) => new Response(keyOf(request)));
    for (const serve of [inHeader, behindPrefix, inBody]) {
      await expect(runOf(serve, LET_IN)).rejects.toThrow(new Error(found));
    }
  });
});
