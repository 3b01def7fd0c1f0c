/**
 * better-auth with its API-key plugin, set up for speed. Rate limits are off: they are on by
 * default and refuse the eleventh request of a day. `deferUpdates` is off: it answers before the
 * row is written back and does the same work afterwards, which in a benchmark is another case's
 * time. Each key has a user of its own: in secondary storage every verification reads the list of
 * its user's keys. Hashing stays on, as anywhere. Nothing is logged.
 *
 * The plugin writes the row back on every verification. Keys are in secondary storage, which is
 * the faster place: the memory adapter looks through all rows for one.
 */
import { createHash, randomBytes } from 'node:crypto';
import { HttpError } from '../by-hand.ts';
import type { Contender } from '../contenders.ts';
import { catalog, type Headers, HeaderValues, idOf, SCOPES } from '../keys.ts';
import { load } from './load.ts';

type Permissions = Readonly<Record<string, readonly string[]>>;
type Row = { readonly id: string };

interface Api {
  createApiKey(options: {
    body: { userId: string; name: string; permissions: Permissions; expiresIn: number };
  }): Promise<Row>;
  verifyApiKey(options: {
    body: { key: string; permissions: Permissions };
  }): Promise<{ readonly valid: boolean; readonly key: { readonly id: string } | null }>;
}

interface Auth {
  betterAuth(options: object): { readonly api: Api };
}

interface Memory {
  memoryAdapter(tables: object): object;
}

interface Plugin {
  apiKey(options: object): object;
}

interface Made {
  readonly api: Api;
  readonly storage: Map<string, string>;
}

function permissionsOf(scopes: readonly string[]): Permissions {
  const granted: Record<string, string[]> = {};
  for (const scope of scopes) {
    const [resource = '', action = ''] = scope.split(':');
    granted[resource] = [...(granted[resource] ?? []), action];
  }
  return granted;
}

const BEARER = /^Bearer +(\w+)$/i;

async function create(): Promise<Made> {
  const auth = (await load('better-auth')) as Auth;
  const memory = (await load('better-auth/adapters/memory')) as Memory;
  const plugin = (await load('@better-auth/api-key')) as Plugin;
  const tables = { user: [], session: [], account: [], verification: [], apikey: [] };
  const storage = new Map<string, string>();
  const options = { rateLimit: { enabled: false }, defaultPrefix: 'key_' };
  const { api } = auth.betterAuth({
    baseURL: 'http://localhost',
    secret: 'for the bench alone, and not random at all',
    database: memory.memoryAdapter(tables),
    secondaryStorage: {
      get: (key: string) => storage.get(key) ?? null,
      set: (key: string, value: string) => void storage.set(key, value),
      delete: (key: string) => void storage.delete(key),
    },
    logger: { disabled: true },
    telemetry: { enabled: false },
    plugins: [plugin.apiKey({ ...options, storage: 'secondary-storage' })],
  });
  return { api, storage };
}

/** Copies the one key of the plugin: what it stores, with another id, user and hash each. */
function fillFrom(template: Row, storage: Map<string, string>, count: number): readonly string[] {
  const keys = Array.from({ length: count }, () => `key_${randomBytes(32).toString('hex')}`);
  const stored = JSON.parse(storage.get(`api-key:by-id:${template.id}`) ?? '{}') as Row;
  storage.clear();
  for (const [i, text] of keys.entries()) {
    const key = createHash('sha256').update(text).digest('base64url');
    const own = { id: idOf(i), key, referenceId: `user ${i}` };
    const value = JSON.stringify({ ...stored, ...own });
    storage.set(`api-key:${key}`, value);
    storage.set(`api-key:by-id:${own.id}`, value);
    storage.set(`api-key:by-ref:${own.referenceId}`, JSON.stringify([own.id]));
  }
  return keys;
}

export async function betterAuth(count: number): Promise<Contender> {
  const { api, storage } = await create();
  const permissions = permissionsOf(SCOPES);
  const template = await api.createApiKey({
    body: { userId: 'user', name: 'integration', permissions, expiresIn: 86_400 * 300 },
  });
  const keys = fillFrom(template, storage, count);
  const needed = new Map<string, Permissions>(
    catalog.all.map((scope) => [scope, permissionsOf([scope])]),
  );
  async function enter(list: readonly Headers[], scope: string): Promise<string> {
    let id = '';
    for (const { authorization } of list) {
      const key = BEARER.exec(authorization)?.[1];
      if (key === undefined) throw new HttpError(401, 'Unauthorized');
      const permissions = needed.get(scope) ?? {};
      const { valid, key: row } = await api.verifyApiKey({ body: { key, permissions } });
      if (!valid || row === null) throw new HttpError(401, 'Unauthorized');
      id = row.id;
    }
    return id;
  }
  return { values: new HeaderValues(keys, count), enter, id: idOf };
}
