/** What the contract of adapters does with its arguments, and with what is no right adapter. */
import { adapterContract } from 'keyscope/testing';
import { describe, expect, test, vi } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { BUGS, HEAD, LONG, NONE, runOf, serveIn, serveWith, testsOf } from './fetch-adapter.ts';

describe('a right adapter for fetch', () => {
  adapterContract(test, serveWith());
});

describe('the contract of adapters', () => {
  test('takes two functions', () => {
    const call = adapterContract as (...args: readonly unknown[]) => unknown;
    const noTest = complaint(() => call(undefined, serveWith()));
    expect(noTest).toMatch('pass the function that registers a test');
    const noServe = complaint(() => call(test, { url: 'http://localhost' }));
    expect(noServe).toMatch('pass a function that serves the adapter');
  });

  test('closes what was served, once a test, whatever came of it', async () => {
    const close = vi.fn(async () => {});
    for (const serve of [serveWith(), serveWith(() => new Response('odd'))]) {
      close.mockClear();
      const tests = testsOf(async (setup) => ({ ...(await serve(setup)), close }));
      for (const run of tests.values()) {
        await run().catch(() => {});
      }
      // Three were never served.
      expect(close).toHaveBeenCalledTimes(tests.size - 3);
    }
    const lax = testsOf(() => ({ fetch: () => new Response(), close }));
    close.mockClear();
    for (const run of lax.values()) {
      await run().catch(() => {});
    }
    expect(close).toHaveBeenCalledTimes(lax.size);
  });

  test('says what was expected', async () => {
    const odd = serveWith(async (answer) => new Response('{}', answer));
    await expect(runOf(odd, NONE)).rejects.toThrow(
      /^GET \/whoami\n {2}expected .*"body":"\{.*\n {2}but got {2}.*"body":"\{\}"/,
    );
    const unserved = serveWith(() => new Response(null, { status: 404 }));
    await expect(runOf(unserved, NONE)).rejects.toThrow(/^GET \/whoami\n/);
  });

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
    for (const status of [404, 405]) {
      const withoutHead = serveWith((answer, { method }) =>
        method === 'HEAD' ? new Response(null, { status }) : answer,
      );
      await runOf(withoutHead, HEAD);
    }
  });
});
