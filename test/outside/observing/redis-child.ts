/**
 * A service whose Redis clients are traced. Issues, uses and revokes a key over each client, and
 * prints what the spans keep: with the recipe at the given path, and with the defaults.
 */
import { createRequire } from 'node:module';
import { createKeyring, defineScopes, digestKey } from 'keyscope';
import { type RedisClient, redisStore } from 'keyscope/stores/redis';

interface Traced {
  setConfig(config: object): void;
}
interface Recipe {
  readonly redisInstrumentations: readonly Traced[];
}
type Make = new (options?: object) => never;
interface Api {
  readonly context: { setGlobalContextManager(manager: unknown): boolean };
  readonly trace: {
    setGlobalTracerProvider(provider: unknown): boolean;
    getTracer(name: string): { startActiveSpan<T>(name: string, run: () => T): T };
  };
}
interface Spans {
  getFinishedSpans(): readonly { name: string; attributes: object; events: readonly object[] }[];
}

const [, , recipe = '', url = ''] = process.argv;
const load = createRequire(import.meta.url);
const { context, trace } = load('@opentelemetry/api') as Api;
const sdk = load('@opentelemetry/sdk-trace') as Readonly<Record<string, Make>>;
const hooks = load('@opentelemetry/context-async-hooks') as Readonly<Record<string, Make>>;

function make<T>(from: Readonly<Record<string, Make>>, name: string, options?: object): T {
  return new (from[name] as Make)(options);
}

const manager: { enable(): unknown } = make(hooks, 'AsyncLocalStorageContextManager');
context.setGlobalContextManager(manager.enable());
const exporter: Spans = make(sdk, 'InMemorySpanExporter');
const spanProcessors = [make(sdk, 'SimpleSpanProcessor', { exporter })];
trace.setGlobalTracerProvider(make(sdk, 'TracerProvider', { spanProcessors }));
const { redisInstrumentations } = (await import(recipe)) as Recipe;

// The drivers come after that, and by `require`, whose hook needs no loader.
const { createClient } = load('redis') as typeof import('redis');
const { Redis } = load('ioredis') as typeof import('ioredis');
const prefix = `keyscope-observing-${crypto.randomUUID()}:`;

async function use(client: RedisClient): Promise<void> {
  const catalog = defineScopes({ threats: { read: 'Read.' } });
  const store = redisStore(client, { prefix });
  const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
  const input = { name: 'its-name', scopes: ['threats:read'], expiresAt: 'never' } as const;
  const authority = { entityId: crypto.randomUUID(), scopes: 'all' } as const;
  const { key, info } = await keyring.issue(input, authority);
  await keyring.verify(key);
  await keyring.revoke(info.keyId, { ...authority, reason: 'its-reason' });
  digests.push(digestKey(key).replace(/^.*\$/, ''));
}

const digests: string[] = [];
const nodeRedis = await createClient({ url }).connect();
const ioRedis = new Redis(url);
async function useBoth(): Promise<unknown> {
  const before = exporter.getFinishedSpans().length;
  await trace.getTracer('test').startActiveSpan('request', async () => {
    await use(nodeRedis);
    await use(ioRedis);
  });
  const spans = exporter.getFinishedSpans().slice(before);
  return spans.map(({ name, attributes, events }) => ({ name, attributes, events }));
}

const withRecipe = await useBoth();
for (const instrumentation of redisInstrumentations) instrumentation.setConfig({});
const byDefault = await useBoth();
await ioRedis.del(...(await ioRedis.keys(`${prefix}*`)));
nodeRedis.destroy();
ioRedis.disconnect();
console.log(JSON.stringify({ digests, withRecipe, byDefault }));
