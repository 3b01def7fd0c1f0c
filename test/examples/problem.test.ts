/** The service's own errors, which it reports with their reason and answers without it. */
import { expect, test, vi } from 'vitest';
import { createApp } from '../../examples/hono/server.ts';
import { explain } from '../../examples/platform/service/problem.ts';
import { StoreError } from '../../src/index.js';
import { createPlatform, exchange, named, startAll } from './http-harness.ts';

function request(key: string): string {
  const lines = ['GET /v1/users HTTP/1.1', 'Host: a', 'Connection: close'];
  return [...lines, `Authorization: Bearer ${key}`, '', ''].join('\r\n');
}

test('an error of the service is reported and answered with 500 without detail', async () => {
  const fleet = await startAll();
  try {
    for (const { db } of fleet.all) db.close();
    const answers = await Promise.all(
      fleet.all.map((one) => exchange(one.port, request(named(one, 'full')))),
    );
    for (const { status, headers, body } of answers) {
      expect(status).toBe(500);
      expect(headers).toMatchObject({
        'content-type': 'application/problem+json',
        'cache-control': 'no-store',
      });
      expect(JSON.parse(body)).toEqual({
        type: 'about:blank',
        title: 'Internal Server Error',
        status: 500,
        detail: 'Something went wrong.',
      });
    }
    for (const { errors } of fleet.all)
      expect(errors).toMatchObject([{ message: 'database is not open' }]);
  } finally {
    await fleet.stop();
  }
});

// A broken key store once caused only 503 answers, and nothing was logged.
test('an outage of the key store is reported with its reason, once per request', async () => {
  const fleet = await startAll();
  try {
    for (const one of fleet.all) {
      expect((await exchange(one.port, request(named(one, 'outage')))).status).toBe(503);
      expect((await exchange(one.port, request(named(one, 'unknown')))).status).toBe(401);
      expect(one.errors.map(explain)).toEqual([
        'store.findByDigest failed: see causeOf: the database is away',
      ]);
    }
  } finally {
    await fleet.stop();
  }
});

test('errors go to the console by default, an outage with its reason', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {});
  try {
    const platform = await createPlatform();
    const app = createApp({ keyring: platform.keyring, domain: platform.domain });
    const headers = { Authorization: `Bearer ${named(platform, 'outage')}` };
    expect((await app.request('/v1/me', { headers })).status).toBe(503);
    expect(said.mock.calls).toEqual([
      ['store.findByDigest failed: see causeOf: the database is away'],
    ]);
  } finally {
    said.mockRestore();
  }
});

test.each([
  // A store that is only slow has no driver's error, and explaining that once crashed.
  [
    'a store that took too long',
    new StoreError('store.list did not answer within 2000 ms'),
    /^store\.list .+ 2000 ms$/,
  ],
  [
    'a driver with a message',
    new StoreError('store.list failed', new Error('away')),
    /^store\.list failed: away$/,
  ],
  [
    'a driver with only a code',
    new StoreError('store.list failed', Object.assign(new Error(''), { code: 'ECONNREFUSED' })),
    /^store\.list failed: ECONNREFUSED$/,
  ],
  [
    'a driver that quotes a line break, in one line',
    new StoreError('store.list failed', new Error('x\r\n\u001b[2K\u009b\u2028y')),
    /^store\.list failed: x\\u000d\\u000a\\u001b\[2K\\u009b\\u2028y$/,
  ],
  ['a driver that throws null', new StoreError('store.list failed', null), /^store\.list failed$/],
  [
    'any other error, without its cause',
    new Error('full', { cause: new Error('secret') }),
    /^full$/,
  ],
])('explains %s', (_, error, wanted) => {
  expect(explain(error)).toMatch(wanted);
});
