import { describe, expect, it } from 'vitest';
import {
  createFetchHandler,
  Refusal,
  readBasePath,
  requireBody,
  requireRoute,
} from '../../src/http/fetch-handler.js';
import { complaint } from '../support/complaint.ts';
import { untyped } from '../support/keyring.ts';

const BUG = new Error('a bug');
const GONE = { status: 404, detail: 'It is gone.' } as const;

function thrownBy(act: () => unknown): Refusal {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const shown = async ({ response }: Refusal) => ({
  status: response.status,
  allow: response.headers.get('allow'),
  body: (await response.json()) as unknown,
});

describe('createFetchHandler', () => {
  const request = new Request('https://api.example.com/keys');

  it('answers a refusal itself, and passes any other error to answerThrown', async () => {
    const thrown: unknown[] = [];
    const handlerOf = (error: unknown) =>
      createFetchHandler<unknown, Response>(
        'admin',
        () => Promise.reject(error),
        (each) => {
          thrown.push(each);
          return new Response('handed over');
        },
      );
    expect((await handlerOf(new Refusal(GONE))(request)).status).toBe(404);
    expect(thrown).toEqual([]);
    expect(await (await handlerOf(BUG)(request)).text()).toBe('handed over');
    expect(thrown).toEqual([BUG]);
  });

  it('rejects with a rethrown bug', async () => {
    const handler = createFetchHandler<unknown, Response>(
      'gate',
      () => Promise.reject(BUG),
      (error) => {
        throw error;
      },
    );
    await expect(handler(request)).rejects.toBe(BUG);
  });

  it('passes its second argument on, and says what to pass as a request', async () => {
    const handler = createFetchHandler<number, number | undefined>(
      'leaks',
      async (_request, input) => input,
      () => new Response(),
    );
    expect(await handler(request, 7)).toBe(7);
    for (const odd of [undefined, null, {}, { headers: {} }, 'GET /']) {
      await expect(handler(untyped(odd))).rejects.toThrow(/^leaks: pass a fetch Request/);
    }
  });
});

describe('requireRoute', () => {
  const get = { method: 'GET' };
  const post = { method: 'POST' };

  it('finds the route that has the method', () => {
    expect(requireRoute([get, post], 'POST', [])).toBe(post);
  });

  it('refuses an unknown path with 404', async () => {
    const refusal = thrownBy(() => requireRoute([], 'GET', ['GET']));
    expect(await shown(refusal)).toMatchObject({ status: 404, allow: null });
  });

  it.each([
    [['POST'], 'Send the method in the Allow header.'],
    [['POST', 'OPTIONS'], 'Send one of the methods in the Allow header.'],
  ])('refuses another method with 405 and Allow: %j', async (allowed, detail) => {
    const refusal = thrownBy(() => requireRoute([post], 'PUT', allowed));
    expect(await shown(refusal)).toEqual({
      status: 405,
      allow: allowed.join(', '),
      body: { type: 'about:blank', title: 'Method Not Allowed', status: 405, detail },
    });
  });
});

describe('requireBody', () => {
  it('returns a body, including an empty one', () => {
    expect(requireBody('', GONE)).toBe('');
  });

  it('refuses a body that is too long', async () => {
    expect(await shown(thrownBy(() => requireBody(null, GONE)))).toMatchObject({
      status: 413,
      body: { title: 'Content Too Large' },
    });
  });

  it('refuses a body that has been read before with the given answer', async () => {
    expect(await shown(thrownBy(() => requireBody(undefined, GONE)))).toMatchObject({
      status: 404,
      body: { title: 'Not Found', detail: GONE.detail },
    });
  });
});

describe('readBasePath', () => {
  it.each(['/keys', '/v1/api-keys', '/a.b/~c'])('accepts %s', (path) => {
    expect(readBasePath(path, '/keys')).toBe(path);
  });

  it.each([
    ['keys', /^basePath: pass a path such as \/leaks, without a slash at the end/],
    ['/keys/', /^basePath: pass a path/],
    ['/', /^basePath: pass a path/],
    ['', /^basePath: pass a path/],
    [null, /^basePath: pass a path/],
    ['/a?b', /^basePath: pass a path/],
    ['/{org}/keys', /^basePath: pass a path/],
    // Requests have a different path there, so no route was ever found.
    ['/a/../keys', /^basePath: write it as "\/keys"/],
    ['/..', /^basePath: write it as "\/"/],
    ['/a b', /^basePath: write it as "\/a%20b"/],
  ])('refuses %j', (path, message) => {
    expect(complaint(() => readBasePath(path, '/leaks'))).toMatch(message);
  });
});
