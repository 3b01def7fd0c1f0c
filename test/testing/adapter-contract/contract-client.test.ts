/** The client of the contract: whom it can ask, how long it waits, and what it looks for. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LET_IN, NONE, runOf, serveWith } from './fetch-adapter.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('the client of the contract of adapters', () => {
  test('says what serve is to answer', async () => {
    for (const odd of [undefined, {}, 'http://localhost', { fetch: 1 }]) {
      const message = 'adapterContract: serve must return { url } or { fetch }';
      await expect(runOf(() => odd as never, NONE)).rejects.toThrow(new TypeError(message));
    }
    const answersNothing = () => ({ fetch: () => undefined as never });
    await expect(runOf(answersNothing, NONE)).rejects.toThrow(
      'fetch must answer GET /whoami with a Response',
    );
  });

  test('needs no node:http for fetch, and says so where a url does', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
    await runOf(serveWith(), NONE);
    const close = vi.fn();
    const serve = () => ({ url: 'http://localhost', close });
    const required = 'a url needs node:http (Node from 20.16 on, Bun, Deno)';
    const message = `adapterContract: ${required}; let serve return { fetch }`;
    await expect(runOf(serve, NONE)).rejects.toThrow(new TypeError(message));
    expect(close).toHaveBeenCalledTimes(1);
  });

  test('waits for an answer for some seconds', async () => {
    vi.useFakeTimers();
    const asked: Request[] = [];
    const never = serveWith((_answer, request) => {
      asked.push(request);
      return new Promise(() => {});
    });
    const failed = expect(runOf(never, NONE)).rejects.toThrow(
      'GET /whoami was not answered within 4000 ms',
    );
    await vi.advanceTimersByTimeAsync(3999);
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    await failed;
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test('leaves no timer behind', async () => {
    vi.useFakeTimers();
    await runOf(serveWith(), NONE);
    expect(vi.getTimerCount()).toBe(0);
  });

  // Of what it finds it says what it is, and not the thing itself.
  test('looks for keys in whatever is answered', async () => {
    const found = 'the answer to GET /reports contains a key';
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
