/**
 * The promises of an adapter to the project that copies it, in addition to the contract: which
 * errors go to the framework, what it leaves to handlers, and what it refuses at start-up.
 */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import type { StoreError } from 'keyscope';
import { causeOf, createKeyring, definePolicy, defineScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { describeInstalled, FRAMEWORKS } from './installed.ts';
import type { Setup } from './served.ts';

type HttpException = import('@nestjs/common').HttpException;

const OWN = 'aaaaaaaa-0000-4000-8000-00000000000a';
const catalog = defineScopes({ reports: { read: 'Read reports.' } });
const policy = definePolicy(catalog, { whoami: [], readReports: ['reports:read'] });

async function makeKey() {
  const store = memoryStore();
  const keyring = createKeyring({ prefix: 'acme', policy, store, peppers: 'none' });
  const authority = { entityId: OWN, scopes: 'all' } as const;
  const { key } = await keyring.issue({ name: 'n', scopes: [], expiresAt: 'never' }, authority);
  return { keyring, key };
}

const BOOM = new Error('the handler failed');
const throwing = (): never => {
  throw BOOM;
};

type Name = keyof typeof FRAMEWORKS;
const NAMES = Object.keys(FRAMEWORKS) as readonly Name[];

/** In tRPC, `onError` also receives denials, and handlers set no headers. */
const OTHERS = NAMES.filter((name) => name !== 'tRPC');

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function start(name: Name, given: Partial<Setup>, cache?: string) {
  const errors: unknown[] = [];
  const calls: unknown[] = [];
  const handle = (): string => {
    calls.push(null);
    return 'done';
  };
  const challenge = { realm: 'test', resourceMetadata: 'https://acme.example/metadata' };
  const { keyring } = await makeKey();
  const setup = { keyring, handle, ...challenge, ...given };
  const { serve } = await FRAMEWORKS[name]();
  const served = await serve(setup, { errors, cache });
  closers.push(() => served.close?.());
  const ask = async (path: string, key?: string) => {
    const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
    const request = new Request(`http://app.example${path}`, { headers });
    const response =
      'url' in served
        ? await fetch(new URL(path, served.url), { headers })
        : ((await served.fetch(request as never)) as Response);
    const body = await response.text();
    return { status: response.status, body, cache: response.headers.get('Cache-Control') };
  };
  return { ask, errors, calls };
}

describeInstalled.each(NAMES)('the adapter for %s', (name) => {
  // Otherwise a broken store answers every request with 503, and no log says why.
  test('calls onError for an outage only, and answers the same if that throws', async () => {
    const away = new Error('away');
    const store = { ...memoryStore(), findByDigest: () => Promise.reject(away) };
    const options = { prefix: 'acme', policy, store, peppers: 'none' } as const;
    const broken = createKeyring(options);
    const { keyring, key } = await makeKey();
    const told: StoreError[] = [];
    const listeners: ((error: StoreError) => void)[] = [
      (error) => told.push(error),
      (error) => {
        told.push(error);
        throw BOOM;
      },
      async (error) => {
        told.push(error);
        throw BOOM;
      },
    ];
    for (const onError of listeners) {
      const { ask, calls } = await start(name, { keyring: broken, onError });
      expect((await ask('/whoami', key)).status).toBe(503);
      expect((await ask('/whoami')).status).toBe(401);
      expect(calls).toEqual([]);
    }
    expect(told.map(causeOf)).toEqual(listeners.map(() => away));
    const { ask } = await start(name, { keyring, onError: (error) => told.push(error) });
    expect((await ask('/reports', key)).status).toBe(403);
    expect(told).toHaveLength(listeners.length);
  });

  test("hands a bug to the framework's error handling, and lets nobody in", async () => {
    const bug = new TypeError('a bug in a store adapter');
    const { keyring } = await makeKey();
    const admit = () => Promise.reject(bug);
    const { ask, errors, calls } = await start(name, { keyring: { ...keyring, admit } });
    expect((await ask('/whoami', 'x')).status).toBe(500);
    expect(errors.map((error) => (error === bug ? bug : causeIn(error)))).toEqual([bug]);
    expect(calls).toEqual([]);
  });

  test('throws on an unknown operation when the route is declared', async () => {
    const { createGuard } = await FRAMEWORKS[name]();
    const { keyring } = await makeKey();
    const guard = createGuard({ keyring, realm: 'test' });
    for (const operation of ['readReport', '', 'constructor', '__proto__', undefined]) {
      expect(() => guard(operation), String(operation)).toThrow(TypeError);
    }
  });

  test('throws on an unknown option of a guard when the route is declared', async () => {
    const { createGuard } = await FRAMEWORKS[name]();
    const { keyring } = await makeKey();
    const guard = createGuard({ keyring, realm: 'test' });
    const read = () => OWN;
    for (const options of [undefined, {}, { entity: read }]) {
      expect(() => guard('whoami', options)).not.toThrow();
    }
    const wrong = [{ entityId: read }, { entity: read, realm: 'x' }, { [Symbol()]: read }, read];
    for (const options of [...wrong, null]) {
      expect(() => guard('whoami', options), inspect(options)).toThrow(TypeError);
    }
  });

  test('throws at once on a missing or unknown option of createGuard', async () => {
    const { createGuard } = await FRAMEWORKS[name]();
    const { keyring } = await makeKey();
    const usage = new TypeError('createGuard: pass { keyring }, made with a policy');
    for (const options of [
      {},
      { policy },
      { keyring: Promise.resolve(keyring) },
      { keyring: { ...keyring, policy: undefined } },
    ]) {
      expect(() => createGuard({ realm: 'test', ...options })).toThrow(usage);
    }
    const wrong = [{ realm: 'é' }, { resourceMetadata: 'é' }, { relam: 'x' }, { policy }];
    for (const options of [...wrong, { onOutage() {} }]) {
      const make = () => createGuard({ keyring, realm: 'test', ...options });
      expect(make, inspect(options)).toThrow(TypeError);
    }
  });
});

function causeIn(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

describeInstalled.each(OTHERS)('the adapter for %s, with a handler that answers', (name) => {
  test('keeps the Cache-Control of a handler', async () => {
    const { keyring } = await makeKey();
    const authority = { entityId: OWN, scopes: 'all' } as const;
    const input = { name: 'n', scopes: ['reports:read'], expiresAt: 'never' } as const;
    const { key } = await keyring.issue(input, authority);
    const { ask } = await start(name, { keyring }, 'private');
    for (const path of ['/whoami', '/reports']) {
      expect(await ask(path, key)).toEqual({ status: 200, body: 'done', cache: 'private' });
    }
  });

  // A guard of Nest throws its denials, and the filter of the app answers them.
  test("does not hand a denial to the framework's error handling, except Nest's", async () => {
    const { keyring, key } = await makeKey();
    const { ask, errors, calls } = await start(name, { keyring });
    for (const sent of [undefined, '', `${key}x`, key]) {
      expect((await ask('/reports', sent)).body).toContain('about:blank');
    }
    expect(calls).toEqual([]);
    const statuses = errors.map((error) => (error as HttpException).getStatus());
    expect(statuses).toEqual(name.startsWith('Nest') ? [401, 400, 401, 403] : []);
  });
});

// With plain fetch handlers, the runtime answers a failure.
const FAILING = NAMES.filter((name) => name !== 'fetch');

describeInstalled.each(FAILING)('the adapter for %s, with a handler that fails', (name) => {
  test('sets no-store on the answer to the failure, too', async () => {
    const { keyring, key } = await makeKey();
    const { ask } = await start(name, { keyring, handle: throwing });
    const { status, cache } = await ask('/whoami', key);
    expect({ status, cache }).toEqual({ status: 500, cache: 'no-store' });
  });

  test('sets no-store on the answer to a bug, too', async () => {
    const { keyring } = await makeKey();
    const admit = () => Promise.reject(new TypeError('a bug'));
    const { ask } = await start(name, { keyring: { ...keyring, admit } });
    const { status, cache } = await ask('/whoami', 'x');
    expect({ status, cache }).toEqual({ status: 500, cache: 'no-store' });
  });
});

describeInstalled('the guard for Nest', () => {
  test('lets nobody in over anything except HTTP', async () => {
    const { createGuard } = await FRAMEWORKS['Nest on Express']();
    const { keyring, key } = await makeKey();
    const guard = createGuard({ keyring, realm: 'test' })('whoami') as {
      canActivate(context: object): Promise<boolean>;
    };
    const request = { rawHeaders: ['Authorization', `Bearer ${key}`] };
    const response = { header() {} };
    const http = { getRequest: () => request, getResponse: () => response };
    const through = (type: string) =>
      guard.canActivate({ getType: () => type, switchToHttp: () => http });
    await expect(through('http')).resolves.toBe(true);
    for (const type of ['ws', 'rpc', 'graphql']) {
      await expect(through(type)).rejects.toThrow(TypeError);
    }
  });
});

describe('each adapter', () => {
  test.each(['elysia', 'fetch', 'koa', 'nest', 'trpc'])('fits on a page: %s', (framework) => {
    const path = new URL(`../../examples/more/${framework}/adapter.ts`, import.meta.url);
    const source = readFileSync(path, 'utf8');
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
    const code = source.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '');
    expect(code, 'never reads the header itself').not.toMatch(/authorization/i);
  });
});
