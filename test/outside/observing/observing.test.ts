/**
 * The recipes of docs/observing.md with the real packages: what they count and log, and that no
 * credential appears in their output, wherever a client or a broken store puts one.
 */
import { type EventEmitter, once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import type { ErrorListener, EventListener, KeyStore, Policy } from 'keyscope';
import {
  causeOf,
  createKeyring,
  definePolicy,
  defineScopes,
  digestKey,
  generateKey,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { canariesIn, canary, keyCanaries } from '../../support/canary.ts';
import { installedIn } from '../../support/installed.ts';
import { type Recipes, writeRecipes } from '../../support/recipes.ts';
import { describeOn, SERVERS } from '../../support/servers.ts';
import { runToEnd, START_TIMEOUT } from '../../support/service-process.ts';

// ── Types of the packages and the recipes ───────────────────────────────────────────────────────

interface Listeners {
  readonly onEvent: EventListener;
  readonly onError: ErrorListener;
}
interface Api {
  readonly context: { setGlobalContextManager(manager: unknown): boolean };
  readonly metrics: { setGlobalMeterProvider(provider: unknown): boolean };
  readonly trace: {
    setGlobalTracerProvider(provider: unknown): boolean;
    getTracer(name: string): {
      startActiveSpan<T>(name: string, run: (span: { end(): void }) => T): T;
    };
  };
}
interface Exporter<T> {
  readonly getFinishedSpans: () => T;
  readonly getMetrics: () => T;
}
type Make<T> = new (...given: unknown[]) => T;
interface Span {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly unknown[];
  readonly status: unknown;
}
interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
}
interface Exported {
  readonly scopeMetrics: readonly {
    readonly metrics: readonly {
      readonly descriptor: { readonly name: string };
      readonly dataPoints: readonly Point[];
    }[];
  }[];
}
interface Log {
  readonly info: (given: unknown, message?: string) => void;
  readonly error: (given: unknown, message?: string) => void;
  readonly child: (bindings: object) => Log;
}
interface Transport extends EventEmitter {
  write(line: string): void;
  end(): void;
}
interface Transports {
  readonly transport: (options: object) => Transport;
}
interface MakeLog {
  readonly createLog: (destination: {
    write(line: string): void;
  }) => Listeners & { readonly log: Log };
}
interface MakeMetrics {
  readonly createMetrics: (
    policy: Policy,
  ) => Listeners & { readonly registry: { metrics(): Promise<string> } };
}

interface Traced {
  readonly digests: readonly string[];
  readonly withRecipe: readonly Pick<Span, 'name'>[];
  readonly byDefault: readonly Pick<Span, 'name'>[];
}

// ── A service observed by all three ─────────────────────────────────────────────────────────────

const { describe, load } = installedIn('outside', '@opentelemetry/api');
const onRedis = await describeOn('redis');

const ENTITY = '6f1a7c1e-5a0e-4c57-9d5e-2f1f6d3f4a10';
const OTHER = '0192f0c1-7a44-7cc3-9d5e-2b8f6a1c4e70';
const PEPPER = { id: 'p1', secret: 'a pepper of the tests, of 32 bytes and more' };
const catalog = defineScopes({ threats: { read: 'Read.', write: 'Write.' } });
const policy = definePolicy(catalog, {
  listThreats: ['threats:read'],
  updateThreat: ['threats:write'],
});
const authority = { entityId: ENTITY, scopes: 'all' } as const;
/** For this key the store fails, with an error that quotes the query. */
const broken = generateKey({ prefix: 'acme' });

function breakingStore(): KeyStore {
  const store = memoryStore();
  return {
    ...store,
    async findByDigest(digests, call) {
      await Promise.resolve();
      if (!digests.includes(digestKey(broken, PEPPER))) return store.findByDigest(digests, call);
      throw new Error(`no answer for ${digests.join()}`);
    },
  };
}

/** Sets up OpenTelemetry like an instrumentation file, before anything else is loaded. */
async function setUpTelemetry() {
  const { context, metrics, trace } = (await load('@opentelemetry/api')) as Api;
  const sdkTrace = (await load('@opentelemetry/sdk-trace')) as Record<string, Make<never>>;
  const sdkMetrics = (await load('@opentelemetry/sdk-metrics')) as Record<string, Make<never>>;
  const hooks = (await load('@opentelemetry/context-async-hooks')) as Record<string, Make<never>>;
  const make = <T>(from: Record<string, Make<never>>, name: string, ...given: unknown[]): T => {
    const Made = from[name] as unknown as Make<T>;
    return new Made(...given);
  };
  const spans = make<Exporter<readonly Span[]>>(sdkTrace, 'InMemorySpanExporter');
  const spanProcessors = [make(sdkTrace, 'SimpleSpanProcessor', { exporter: spans })];
  const exported = make<Exporter<readonly Exported[]>>(sdkMetrics, 'InMemoryMetricExporter', 1);
  const reader = make<{ forceFlush(): Promise<void>; shutdown(): Promise<void> }>(
    sdkMetrics,
    'PeriodicExportingMetricReader',
    { exporter: exported, exportIntervalMillis: 3_600_000 },
  );
  const manager = make<{ enable(): unknown }>(hooks, 'AsyncLocalStorageContextManager');
  const isSet = [
    context.setGlobalContextManager(manager.enable()),
    trace.setGlobalTracerProvider(make(sdkTrace, 'TracerProvider', { spanProcessors })),
    metrics.setGlobalMeterProvider(make(sdkMetrics, 'MeterProvider', { readers: [reader] })),
  ];
  expect(isSet).toEqual([true, true, true]);
  return { spans, exported, reader, tracer: trace.getTracer('test') };
}

async function setUp(recipes: Recipes) {
  const otel = await setUpTelemetry();
  const telemetry = (await recipes.load('telemetry.ts')) as Listeners;
  const { createMetrics } = (await recipes.load('metrics.ts')) as MakeMetrics;
  const { createLog } = (await recipes.load('log.ts')) as MakeLog;
  const lines: string[] = [];
  const logged = createLog({ write: (line) => void lines.push(line) });
  const counted = createMetrics(policy);
  const listeners: readonly Listeners[] = [telemetry, counted, logged];
  const keyring = createKeyring({
    prefix: 'acme',
    policy,
    store: breakingStore(),
    peppers: [PEPPER],
    onEvent: (event) => {
      for (const { onEvent } of listeners) onEvent(event);
      // A listener whose error quotes what it has at hand.
      if (event.type === 'key.suspended') throw new Error(`no audit of ${broken}`);
    },
    onError: (error, what) => {
      for (const { onError } of listeners) onError(error, what);
    },
  });
  const server = createServer(async (request, response) => {
    await otel.tracer.startActiveSpan('request', async (span) => {
      const { url, headers } = request;
      logged.log.info({ req: { url, headers } }, `${request.method} ${url}`);
      try {
        const operation = url?.startsWith('/update') ? 'updateThreat' : 'listThreats';
        const context = { agent: headers['user-agent'] ?? '' };
        const entityId = new URL(url ?? '', 'http://localhost').searchParams.getAll('entity');
        await keyring.admit(request, { operation, entityId, context });
        response.end();
      } catch (error) {
        logged.log.error({ err: error }, 'refused');
        const answer = toResponse(error, { realm: 'acme' });
        response.writeHead(answer.status, answer.headers).end(answer.body);
      }
      span.end();
    });
  });
  // Keeps idle connections open on a busy machine: see `listen` in the examples' tests.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { otel, counted, logged, lines, keyring, server };
}

type Service = Awaited<ReturnType<typeof setUp>>;

const urlOf = (server: Server): string => {
  const address = server.address();
  return typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : '';
};

describe('the recipes of docs/observing.md', () => {
  let folder = '';
  let recipes: Recipes;
  let service: Service;
  let key = '';
  let keyId = '';
  /** Everything exported or logged after one request of each kind. */
  let text = '';
  let spans: readonly Span[] = [];
  let exported: Exported | undefined;

  async function call(path: string, credential?: string, agent = 'test'): Promise<number> {
    const { status } = await fetch(urlOf(service.server) + path, {
      headers: {
        'User-Agent': agent,
        ...(credential !== undefined && { Authorization: credential }),
      },
    });
    return status;
  }

  const REQUESTS: readonly (readonly [number, string])[] = [
    [200, 'granted'],
    [403, 'insufficient_scope'],
    [403, 'entity_forbidden'],
    [401, 'missing_credentials'],
    [401, 'invalid_token'],
    [400, 'invalid_request'],
    [503, 'store_error'],
  ];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'keyscope-observing-'));
    recipes = writeRecipes('docs/observing.md', 'test/outside/observing');
    service = await setUp(recipes);
    const { keyring } = service;
    const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;
    const issued = await keyring.issue(input, authority);
    ({ key } = issued);
    ({ keyId } = issued.info);
    // The client also puts its key in all the wrong places.
    const statuses = [
      await call(`/list?key=${key}`, `Bearer ${key}`, `curl ${key}`),
      await call('/update', `Bearer ${key}`),
      await call(`/list?entity=${OTHER}`, `Bearer ${key}`),
      await call('/list', `Basic ${key}`),
      await call('/list', `Bearer ${generateKey({ prefix: 'acme' })}`),
      await call('/list', `Bearer ${key} ${key}`),
      await call('/list', `Bearer ${broken}`),
    ];
    expect(statuses).toEqual(REQUESTS.map(([status]) => status));
    await keyring.suspend(keyId, authority);
    await keyring.revoke(keyId, { ...authority, entityId: OTHER }).catch(() => {});
    // `onError` runs after the call has answered.
    await new Promise((resolve) => setImmediate(resolve));
    await service.otel.reader.forceFlush();
    spans = [...service.otel.spans.getFinishedSpans()];
    exported = service.otel.exported.getMetrics().at(-1);
    text = await service.counted.registry.metrics();
  });
  afterAll(async () => {
    service.server.closeAllConnections();
    await new Promise((resolve) => service.server.close(resolve));
    await service.otel.reader.shutdown();
    recipes.remove();
    rmSync(folder, { recursive: true });
  });

  /** A metric's series by name: attributes and value of each. */
  function series(name: string, from = exported): readonly Point[] {
    const found = from?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? [];
    const points = found.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
    return points.map(({ attributes, value }) => ({ attributes, value }));
  }

  it("compile under this project's rules", () => {
    const names = ['telemetry.ts', 'redis.ts', 'metrics.ts', 'log.ts', 'keyring.ts'];
    expect(recipes.names).toEqual(names);
    expect(recipes.complaints()).toEqual([]);
  });

  it('fit into a keyring unchanged', async () => {
    const { keyring } = (await recipes.load('keyring.ts')) as { readonly keyring: object };
    expect(keyring).toHaveProperty('admit');
  });

  it('count each decision only by operation and code: OpenTelemetry', () => {
    const wanted = REQUESTS.map(([, code]) => ({
      attributes: {
        operation: code === 'insufficient_scope' ? 'updateThreat' : 'listThreats',
        code,
      },
      value: 1,
    }));
    expect(series('keyscope.access')).toEqual(wanted);
    expect(series('keyscope.management')).toEqual([
      { attributes: { type: 'key.issued', code: 'done' }, value: 1 },
      { attributes: { type: 'key.suspended', code: 'done' }, value: 1 },
      { attributes: { type: 'management.denied', code: 'not_found' }, value: 1 },
    ]);
    expect(series('keyscope.swallowed')).toEqual([{ attributes: { what: 'event' }, value: 1 }]);
  });

  it('record each decision and its reason on the span of the request', () => {
    const attributes = spans.map((span) => span.attributes);
    expect(attributes.map((noted) => noted['keyscope.code'])).toEqual(
      REQUESTS.map(([, code]) => code),
    );
    expect(attributes[0]).toEqual({
      'keyscope.operation': 'listThreats',
      'keyscope.code': 'granted',
      'keyscope.key_id': keyId,
    });
    expect(attributes.map((noted) => noted['keyscope.reason'])).toContain('unknown_key');
  });

  it('count each decision, and show every series from the start: Prometheus', () => {
    expect(text).toContain('keyscope_access_total{operation="listThreats",code="granted"} 1\n');
    expect(text).toContain('keyscope_access_total{operation="updateThreat",code="granted"} 0\n');
    expect(text).toContain('keyscope_management_total{type="key.suspended",code="done"} 1\n');
    expect(text).toContain('keyscope_swallowed_total{what="event"} 1\n');
    const shown = [...text.matchAll(/^keyscope_access_total\{/gm)];
    expect(shown).toHaveLength(policy.operations.length * REQUESTS.length);
  });

  it('create no further series, whatever strangers send', async () => {
    for (let index = 0; index < 20; index += 1) {
      const entity = OTHER.replace('70', String(10 + index));
      const stranger = generateKey({ prefix: 'acme' });
      await call(`/list?entity=${entity}`, `Bearer ${stranger}`, `agent ${index}`);
    }
    await service.otel.reader.forceFlush();
    const later = await service.counted.registry.metrics();
    expect(later.split('\n')).toHaveLength(text.split('\n').length);
    const points = series('keyscope.access', service.otel.exported.getMetrics().at(-1));
    expect(points).toHaveLength(series('keyscope.access').length);
    const guesses = points.find(({ attributes: { code } }) => code === 'invalid_token');
    expect(guesses?.value).toBeGreaterThan(20);
  });

  it('log events and swallowed errors', () => {
    const { lines } = service;
    const read = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    const messages = read.map(({ msg }) => msg);
    for (const message of ['key.issued', 'access.denied', 'management.denied', 'swallowed']) {
      expect(messages).toContain(message);
    }
    expect(messages).not.toContain('access.granted');
    expect(read.find(({ msg }) => msg === 'swallowed')).toMatchObject({
      err: { type: 'Error', message: 'no audit of acme_[redacted]' },
      what: 'event',
    });
    const [first] = read;
    expect(first).toMatchObject({ level: 30, event: { type: 'key.issued', keyId } });
  });

  it('mask keys in every string at any depth', () => {
    const { log } = service.logged;
    const { lines } = service;
    const from = lines.length;
    const cause = new Error(`cause ${key}`);
    const nested = { list: [{ deep: key }], [key]: 'as a name', url: `/x%3Fkey%3D${key}` };
    log.error({ err: new AggregateError([cause], `many ${key}`, { cause }), nested }, key);
    log.child({ bound: key }).info(`${key}${key} "${key}"\n${key}`);
    log.info({ text: inspect(new Map([[key, key]])), toJSON: undefined });
    const written = lines.slice(from);
    expect(written).toHaveLength(3);
    expect(canariesIn(written, keyCanaries('key', key))).toEqual([]);
    for (const line of written) {
      expect(line).toContain('acme_[redacted]');
      expect(() => JSON.parse(line) as unknown).not.toThrow();
    }
  });

  it('leave out values whose format cannot be recognized', () => {
    const { logged, lines } = service;
    const from = lines.length;
    const headers = { authorization: 'Bearer eyJhbGciOi', cookie: 'session=eyJhbGciOi' };
    logged.log.info({ req: { headers }, answer: { access_token: 'eyJhbGciOi' } });
    const written = lines.slice(from).join();
    expect(written).not.toContain('eyJhbGciOi');
    expect(written.split('[Redacted]')).toHaveLength(4);
  });

  it('mask keys before a transport gets the line', async () => {
    const { transport } = (await load('pino')) as Transports;
    const { createLog } = (await recipes.load('log.ts')) as MakeLog;
    const destination = join(folder, 'log');
    const stream = transport({ target: 'pino/file', options: { destination } });
    createLog(stream).log.info(key);
    const closed = once(stream, 'close');
    stream.end();
    await closed;
    expect(readFileSync(destination, 'utf8')).toContain('"msg":"acme_[redacted]"');
  });

  onRedis('on the spans of Redis clients', () => {
    // By default, they kept the digest of every key that was used.
    it('keep no digest, name or reason of a key', { timeout: START_TIMEOUT }, async () => {
      const folder = new URL('.', import.meta.url).pathname;
      const args = [join(folder, 'blocks/redis.ts'), SERVERS.redis];
      const ended = await runToEnd(join(folder, 'redis-child.ts'), args, process.env);
      expect(ended).toMatchObject({ code: 0 });
      const { digests, withRecipe, byDefault } = JSON.parse(ended.out) as Traced;
      const canaries = [...digests, 'its-name', 'its-reason'].map((text) => canary(text, text));
      expect(canariesIn(withRecipe, canaries)).toEqual([]);
      const names = withRecipe.map(({ name }) => name);
      expect(names).toContain('redis-eval');
      expect(names).toContain('eval');
      // The search does work.
      const found = canariesIn(byDefault, canaries);
      expect(found).toEqual([...digests.slice(2), 'its-name', 'its-reason']);
    });
  });

  it('let no credential out: no key, digest or pepper in any span, metric or line', async () => {
    const { otel, counted, lines } = service;
    const out = [
      // The fields of a span that an exporter sends.
      otel.spans
        .getFinishedSpans()
        .map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
      otel.exported.getMetrics().map(({ scopeMetrics }) => scopeMetrics),
      await counted.registry.metrics(),
      lines,
    ];
    const hexOf = (secret: string): string => digestKey(secret, PEPPER).replace(/^.*\$/, '');
    const canaries = [
      ...keyCanaries('key', key),
      ...keyCanaries('broken', broken),
      canary('digest', hexOf(key)),
      canary('digest of what broke', hexOf(broken)),
      canary('pepper', PEPPER.secret),
    ];
    expect(canariesIn(out, canaries)).toEqual([]);
    // The search does work: a key id is not secret, and it is found.
    expect(canariesIn(out.slice(0, 1), [canary('key id', keyId)])).toEqual(['key id']);
    expect(canariesIn(out.slice(3), [canary('key id', keyId)])).toEqual(['key id']);
    // And the digest was present in the error.
    const error = await service.keyring.verify(broken).catch((reason: unknown) => reason);
    expect(String(causeOf(error))).toContain(hexOf(broken));
  });
});
