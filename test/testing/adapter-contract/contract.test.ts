/** How `adapterContract` treats its arguments, correct adapters and wrong ones. */
import { adapterContract } from 'keyscope/testing';
import { describe, expect, test, vi } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { BUGS, HEAD, LONG, NONE, runOf, serveIn, serveWith, testsOf } from './fetch-adapter.ts';

describe('a correct adapter for fetch', () => {
  adapterContract(test, serveWith());
});

describe('adapterContract', () => {
  test('rejects arguments that are not functions', () => {
    const call = adapterContract as (...args: readonly unknown[]) => unknown;
    const noTest = complaint(() => call(undefined, serveWith()));
    expect(noTest).toMatch('test is not a function');
    const noServe = complaint(() => call(test, { url: 'http://localhost' }));
    expect(noServe).toMatch('serve is not a function');
  });

  test('closes the served app once per test, even if the test failed', async () => {
    const close = vi.fn(async () => {});
    for (const serve of [serveWith(), serveWith(() => new Response('odd'))]) {
      close.mockClear();
      const tests = testsOf(async (setup) => ({ ...(await serve(setup)), close }));
      for (const run of tests.values()) {
        await run().catch(() => {});
      }
      // Three tests never start the app.
      expect(close).toHaveBeenCalledTimes(tests.size - 3);
    }
    const lax = testsOf(() => ({ fetch: () => new Response(), close }));
    close.mockClear();
    for (const run of lax.values()) {
      await run().catch(() => {});
    }
    expect(close).toHaveBeenCalledTimes(lax.size);
  });

  test('reports the expected and the actual answer', async () => {
    const odd = serveWith(async (answer) => new Response('{}', answer));
    await expect(runOf(odd, NONE)).rejects.toThrow(
      /^GET \/whoami: the denial\n {2}expected .*"body":"\{.*\n {2}but got {2}.*"body":"\{\}"/,
    );
    const unserved = serveWith(() => new Response(null, { status: 404 }));
    await expect(runOf(unserved, NONE)).rejects.toThrow(/^GET \/whoami: the denial\n/);
  });

  // Koa 3 never answers when a handler throws `undefined`; h3 1 and Elysia 1 leave the rejection
  // unhandled. The contract used to throw it, so correct adapters failed after four seconds.
  test('never throws undefined, which frameworks do not answer', async () => {
    const koa = serveIn((thrown) =>
      thrown === undefined || thrown === null ? new Promise(() => {}) : Promise.reject(thrown),
    );
    await runOf(koa, BUGS);
  });

  test('notices a framework that ignores falsy errors', async () => {
    const lax = serveIn((thrown) =>
      thrown ? Promise.reject(thrown) : Promise.resolve({} as never),
    );
    await expect(runOf(lax, BUGS)).rejects.toThrow('an admit that rejects with an empty text');
  });

  test('rejects 431 from an adapter without a server', async () => {
    const refuses = serveWith(() => new Response(null, { status: 431 }));
    await expect(runOf(refuses, LONG)).rejects.toThrow('a credential of more than 16 KiB');
  });

  test('rejects a body in an answer to HEAD, and accepts routes without HEAD', async () => {
    const withBody = serveWith((answer, { method }) =>
      method === 'HEAD' ? new Response('denied', answer) : answer,
    );
    await expect(runOf(withBody, HEAD)).rejects.toThrow(
      'HEAD with no credential: the answer must have no body',
    );
    for (const status of [404, 405]) {
      const withoutHead = serveWith((answer, { method }) =>
        method === 'HEAD' ? new Response(null, { status }) : answer,
      );
      await runOf(withoutHead, HEAD);
    }
  });
});
