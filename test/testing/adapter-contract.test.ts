/**
 * What the contract of adapters does with what is no adapter, with one that never answers, and on
 * other runtimes.
 */
import { isAccessError, isStoreError, toResponse } from 'keyscope';
import type { AdapterSetup, ServeAdapter } from 'keyscope/testing';
import { adapterContract } from 'keyscope/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { complaint } from '../support/complaint.ts';

/** A right adapter for fetch; `change` has the last word on its answers. */
const serveWith =
  (
    change: (answer: Response, request: Request) => Response | Promise<Response> = (answer) =>
      answer,
  ): ServeAdapter =>
  ({ keyring, policy, handle, ...challenge }) => {
    if (!keyring?.admit) throw new TypeError('pass a keyring');
    toResponse(undefined, challenge);
    for (const operation of ['whoami', 'readReports'] as const) policy.requires(operation);
    const answer = async (request: Request): Promise<Response> => {
      const { pathname, searchParams } = new URL(request.url);
      const [operation, entityUuid] =
        pathname === '/whoami'
          ? (['whoami', undefined] as const)
          : (['readReports', searchParams.getAll('entity')] as const);
      let admission: Awaited<ReturnType<AdapterSetup['keyring']['admit']>>;
      try {
        admission = await keyring.admit(request, { policy, operation, entityUuid });
      } catch (error) {
        if (!isAccessError(error) && !isStoreError(error))
          return new Response(null, { status: 500 });
        const { status, headers, body } = toResponse(error, challenge);
        return new Response(request.method === 'HEAD' ? null : body, { status, headers });
      }
      try {
        return new Response(handle(admission.principal, admission.entityUuid), {
          headers: { 'Cache-Control': 'no-store' },
        });
      } catch {
        return new Response(null, { status: 500 });
      }
    };
    return { fetch: async (request) => change(await answer(request), request) };
  };

/** The tests of the contract by name. */
function testsOf(serve: ServeAdapter): ReadonlyMap<string, () => Promise<void>> {
  const tests = new Map<string, () => Promise<void>>();
  adapterContract((name, run) => tests.set(name, run), serve);
  return tests;
}

const runOf = (serve: ServeAdapter, name: string) =>
  testsOf(serve).get(name)?.() ?? Promise.reject(new Error('no such test'));

const NONE = 'no credential is denied, byte for byte as toResponse says';
const LET_IN = 'a key that holds the scope is let in, with its principal and its entity';
const LONG = 'a credential of more than 16 KiB is denied';
const BUGS = 'a bug lets nobody in, and is no denial';
const HEAD = 'HEAD is denied as GET is, without a body';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('a right adapter for fetch', () => {
  adapterContract(test, serveWith());
});

describe('the contract of adapters', () => {
  test('takes two functions', () => {
    const call = adapterContract as (...args: readonly unknown[]) => unknown;
    expect(complaint(() => call(undefined, serveWith()))).toMatch(
      'pass the function that registers a test',
    );
    expect(complaint(() => call(test, { url: 'http://localhost' }))).toMatch(
      'pass a function that serves the adapter',
    );
  });

  test('says what serve is to answer', async () => {
    for (const odd of [undefined, {}, 'http://localhost', { fetch: 1 }]) {
      const message = 'adapterContract: let serve answer { url }, or { fetch }';
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
    const message =
      'adapterContract: a url takes node:http (Node from 20.16 on, Bun, Deno); let serve answer { fetch }';
    await expect(runOf(() => ({ url: 'http://localhost', close }), NONE)).rejects.toThrow(
      new TypeError(message),
    );
    expect(close).toHaveBeenCalledTimes(1);
  });

  test('closes what was served, once a test, whatever came of it', async () => {
    const close = vi.fn(async () => {});
    for (const serve of [serveWith(), serveWith(() => new Response('odd'))]) {
      close.mockClear();
      const tests = testsOf(async (setup) => ({ ...(await serve(setup)), close }));
      for (const run of tests.values()) await run().catch(() => {});
      // Three were never served.
      expect(close).toHaveBeenCalledTimes(tests.size - 3);
    }
    const lax = testsOf(() => ({ fetch: () => new Response(), close }));
    close.mockClear();
    for (const run of lax.values()) await run().catch(() => {});
    expect(close).toHaveBeenCalledTimes(lax.size);
  });

  test('waits for an answer for some seconds', async () => {
    vi.useFakeTimers();
    const asked: Request[] = [];
    const never = serveWith((_answer, request) => {
      asked.push(request);
      return new Promise(() => {});
    });
    const said = expect(runOf(never, NONE)).rejects.toThrow(
      'GET /whoami was not answered within 4000 ms',
    );
    await vi.advanceTimersByTimeAsync(3999);
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    await said;
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test('leaves no timer behind', async () => {
    vi.useFakeTimers();
    await runOf(serveWith(), NONE);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('says what was expected', async () => {
    const odd = serveWith(async (answer) => new Response('{}', answer));
    await expect(runOf(odd, NONE)).rejects.toThrow(
      /^GET \/whoami\n {2}expected .*"body":"\{.*\n {2}but got {2}.*"body":"\{\}"/,
    );
    const unserved = serveWith(() => new Response(null, { status: 404 }));
    await expect(runOf(unserved, NONE)).rejects.toThrow(/^GET \/whoami\n/);
  });

  // Of what it finds it says what it is, and not the thing itself.
  test('looks for keys in whatever is answered', async () => {
    const leaks = {
      'a header': (answer: Response, key: string) => answer.headers.set('X-Seen', `<${key}>`),
      'the part behind the prefix': (answer: Response, key: string) =>
        answer.headers.set('X-Seen', key.slice(5)),
    };
    for (const leak of Object.values(leaks)) {
      let key = '';
      const serve = serveWith((answer, { headers }) => {
        key = headers.get('authorization')?.slice(7) ?? '';
        leak(answer, key);
        return answer;
      });
      const failed = await runOf(serve, LET_IN).catch((error: Error) => error.message);
      expect(failed).toBe('the answer to GET /reports holds a key');
    }
    const body = serveWith((_answer, { headers }) => new Response(headers.get('authorization')));
    await expect(runOf(body, LET_IN)).rejects.toThrow('the answer to GET /reports holds a key');
  });

  /** A right adapter in a framework that looks at what was thrown before the adapter does. */
  const serveIn =
    (framework: (thrown: unknown) => Promise<never>): ServeAdapter =>
    (setup) => {
      const admit: typeof setup.keyring.admit = (...given) =>
        setup.keyring.admit(...given).catch(framework);
      return serveWith()({ ...setup, keyring: { ...setup.keyring, admit } });
    };

  // As Koa 3 does; h3 1 and Elysia 1 reject where nobody listens. The contract threw `undefined`,
  // and failed for good adapters after four seconds.
  test('throws nothing that a framework does not answer', async () => {
    const koa = serveIn((thrown) =>
      thrown === undefined || thrown === null ? new Promise(() => {}) : Promise.reject(thrown),
    );
    await runOf(koa, BUGS);
  });

  test('notices a bug that is taken for none because it is falsy', async () => {
    const lax = serveIn((thrown) =>
      thrown ? Promise.reject(thrown) : Promise.resolve({} as never),
    );
    await expect(runOf(lax, BUGS)).rejects.toThrow('an admit that rejects with an empty text');
  });

  test('takes 431 of no adapter that has no server', async () => {
    const refuses = serveWith(() => new Response(null, { status: 431 }));
    await expect(runOf(refuses, LONG)).rejects.toThrow('a credential of more than 16 KiB');
  });

  test('wants no body with HEAD, and takes routes that have no HEAD', async () => {
    const withBody = serveWith((answer, { method }) =>
      method === 'HEAD' ? new Response('denied', answer) : answer,
    );
    await expect(runOf(withBody, HEAD)).rejects.toThrow(
      'HEAD with no credential: the answer must have no body',
    );
    for (const status of [404, 405])
      await runOf(
        serveWith((answer, { method }) =>
          method === 'HEAD' ? new Response(null, { status }) : answer,
        ),
        HEAD,
      );
  });
});
