/**
 * The recipes of docs/migrating.md with the real packages, and with records in the format of
 * Unkey's documentation and Sanctum's schema: what becomes of an old key, and which keys get in
 * where.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { isKey } from 'keyscope';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installedIn } from '../../support/installed.ts';
import { type Recipes, writeRecipes } from '../../support/recipes.ts';
import {
  type Ask,
  createAcme,
  listening,
  loadShared,
  type Move,
  moved,
  type OldKeys,
  type Shared,
  serving,
  type Table,
} from './recipes.ts';

const { describe, load } = installedIn('outside', 'better-auth');

const TABLE: Table = {
  'threats:read': ['threats:read'],
  'threats.read': ['threats:read'],
  viewer: ['threats:read', 'reports:read'],
};
const END = new Date('2100-06-30T00:00:00.000Z');
const ACME = { prefix: 'acme' };

describe('docs/migrating.md', () => {
  let recipes: Recipes;
  let shared: Shared;

  beforeAll(async () => {
    recipes = writeRecipes('docs/migrating.md', 'test/outside/moving');
    shared = await loadShared(recipes);
  });
  afterAll(() => recipes.remove());

  const recipe = async <T>(name: string): Promise<T> => (await recipes.load(name)) as T;
  const asBearer = (key: string) => ({ authorization: `Bearer ${key}` });

  /** Expects the guard and its answers to be unaffected by old keys. */
  async function expectGuarded(ask: Ask, move: Move, keyring: ReturnType<typeof createAcme>) {
    const { key, info } = await moved(shared, keyring, { ...move, isSuspended: false });
    expect(await ask('/list', asBearer(key))).toBe(`200 ${info.entityId}`);
    expect(await ask('/update', asBearer(key))).toBe('403');
    await keyring.revoke(info.keyId, { entityId: info.entityId });
    expect(await ask('/list', asBearer(key))).toBe('401');
    expect(await ask('/list', {})).toBe('401');
  }

  it('compiles', () => expect(recipes.complaints()).toEqual([]));

  it('grants exactly what the table says', () => {
    const { scopesFor } = shared;
    expect(scopesFor(['threats:read', 'viewer'], TABLE)).toEqual(['threats:read', 'reports:read']);
    expect(scopesFor([], TABLE)).toEqual([]);
    for (const unknown of ['*', 'threats:*', 'constructor', '__proto__', 'threats:write', '']) {
      const attempt = () => scopesFor(['viewer', unknown], TABLE);
      expect(attempt, unknown).toThrow(`The table has no scopes for ${unknown}.`);
    }
  });

  it('turns metadata into texts', () => {
    const old = { team: 'siem', seats: 3, tags: ['a'], nothing: null };
    const kept = { team: 'siem', seats: '3', tags: '["a"]', nothing: 'null' };
    expect(shared.metadataFor(old)).toEqual(kept);
    expect(shared.metadataFor(null)).toEqual({});
  });

  describe('better-auth', () => {
    it('moves its rows, and asks better-auth about its keys', async () => {
      const { fromBetterAuth, betterAuthKeys } = await recipe<BetterAuthRecipe>('betterAuth.ts');
      const { api, rowOf } = await createBetterAuth(load);
      const create = (body: object) => api.createApiKey({ body: { userId: 'user 1', ...body } });
      const permissions = { threats: ['read'] };
      const live = await create({
        name: 'SIEM',
        permissions,
        expiresIn: 86_400 * 30,
        metadata: { team: 'siem', seats: 3 },
      });
      const off = await create({ permissions });
      await api.updateApiKey({ body: { keyId: off.id, userId: 'user 1', enabled: false } });
      const mighty = await create({ permissions: { threats: ['read', 'write'] } });
      const counted = await create({ permissions, remaining: 3 });
      const bare = await create({});

      const keyring = createAcme();
      const move = fromBetterAuth(await rowOf(live.id), TABLE);
      const { key, info } = await moved(shared, keyring, move);
      expect(move.owner).toBe('user 1');
      expect(isKey(key, ACME)).toBe(true);
      expect(info).toMatchObject({ name: 'SIEM', scopes: ['threats:read'], state: 'live' });
      expect(info.metadata).toEqual({ team: 'siem', seats: '3' });
      expect(info.expiresAt).toEqual(live.expiresAt);

      const suspended = await moved(shared, keyring, fromBetterAuth(await rowOf(off.id), TABLE));
      expect(suspended.info).toMatchObject({ state: 'suspended', expiresAt: null });
      const small = await moved(shared, keyring, fromBetterAuth(await rowOf(bare.id), TABLE));
      expect(small.info.scopes).toEqual([]);
      const tooMuch = await rowOf(mighty.id);
      expect(() => fromBetterAuth(tooMuch, TABLE)).toThrow('no scopes for threats:write.');
      const quota = await rowOf(counted.id);
      expect(() => fromBetterAuth(quota, TABLE)).toThrow('has a quota');

      const needs = { listThreats: permissions, updateThreat: { threats: ['write'] } };
      await serving(shared, keyring, betterAuthKeys(api, needs), async (ask) => {
        const of = ({ key: text }: { key: string }) => ({ 'x-api-key': text });
        expect(await ask('/list', of(live))).toBe(`200 ${info.entityId}`);
        expect(await ask('/update', of(live))).toBe('401');
        expect(await ask('/update', of(mighty))).toBe(`200 ${info.entityId}`);
        expect(await ask('/list', of(off))).toBe('401');
        expect(await ask('/list', of(bare))).toBe('401');
        expect(await ask('/list', { 'x-api-key': key })).toBe('401');
        expect(await ask('/list', { 'x-api-key': '' })).toBe('401');
        expect(await ask('/list', asBearer(live.key))).toBe('401');
        await expectGuarded(ask, move, keyring);
      });
    });
  });

  describe('Unkey', () => {
    const found = {
      keyId: 'key_1234567890abcdef',
      start: 'sk_live_abc1',
      enabled: true,
      name: 'Production',
      meta: { plan: 'premium', seats: 3 },
      createdAt: 1_701_425_400_000,
      expires: END.getTime(),
      permissions: ['threats.read'],
      roles: ['readers'],
      identity: { id: 'id_1234567890abcdef', externalId: 'org_123' },
    };

    it('moves what its API returns', async () => {
      const { fromUnkey } = await recipe<UnkeyRecipe>('unkey.ts');
      const unkey = await createUnkey(load, { 'keys.getKey': () => found });
      try {
        const { data } = await unkey.client.keys.getKey({ keyId: found.keyId });
        const move = fromUnkey(data, TABLE);
        expect(move.owner).toBe('org_123');
        const { info } = await moved(shared, createAcme(), move);
        expect(info).toMatchObject({ name: 'Production', scopes: ['threats:read'], state: 'live' });
        expect(info.metadata).toEqual({ plan: 'premium', seats: '3' });
        expect(info.expiresAt).toEqual(END);
        const { name: _, expires: __, ...least } = data;
        const lasting = await moved(shared, createAcme(), fromUnkey(least, TABLE));
        expect(lasting.info).toMatchObject({ name: 'Moved from Unkey', expiresAt: null });
        expect(fromUnkey({ ...data, enabled: false }, TABLE).isSuspended).toBe(true);

        const refused: readonly [object, string][] = [
          [{ permissions: ['threats.read', 'threats.*'] }, 'no scopes for threats.*.'],
          [{ identity: undefined }, 'has no identity'],
          [{ credits: { remaining: 0 } }, 'has credits'],
        ];
        for (const [change, complaint] of refused) {
          expect(() => fromUnkey({ ...data, ...change }, TABLE)).toThrow(complaint);
        }
        const unlimited = { ...data, credits: { remaining: null } };
        expect(fromUnkey(unlimited, TABLE).input.scopes).toEqual(['threats:read']);
      } finally {
        unkey.close();
      }
    });

    it('asks Unkey about its keys, and about no others', async () => {
      const { fromUnkey, unkeyKeys } = await recipe<UnkeyRecipe>('unkey.ts');
      const asked: unknown[] = [];
      const unkey = await createUnkey(load, {
        'keys.verifyKey': (body) => {
          asked.push(body);
          if (body.key === 'sk_live_down') return null;
          const isAble = body.permissions === 'threats.read';
          if (!isAble)
            return { valid: false, code: 'INSUFFICIENT_PERMISSIONS', keyId: found.keyId };
          if (body.key !== 'sk_live_abc1') return { valid: false, code: 'NOT_FOUND' };
          return { valid: true, code: 'VALID', keyId: found.keyId, identity: found.identity };
        },
      });
      try {
        const keyring = createAcme();
        const needs = { listThreats: 'threats.read', updateThreat: 'threats.write' };
        const old = unkeyKeys(unkey.client, 'sk_live_', needs);
        const move = fromUnkey(found, TABLE);
        const { info } = await moved(shared, keyring, move);
        await serving(shared, keyring, old, async (ask) => {
          const its = asBearer('sk_live_abc1');
          expect(await ask('/list', its)).toBe(`200 ${info.entityId}`);
          expect(await ask('/update', its)).toBe('401');
          expect(await ask('/list', asBearer('sk_live_other'))).toBe('401');
          expect(await ask('/list', asBearer('sk_live_down'))).toBe('500');
          expect(asked).toHaveLength(4);
          await expectGuarded(ask, move, keyring);
          expect(await ask('/list', asBearer('acme_mistyped'))).toBe('401');
          expect(asked).toHaveLength(4);
        });
      } finally {
        unkey.close();
      }
    });
  });

  describe('prefixed-api-key', () => {
    it('moves rows, and checks its keys', async () => {
      const { fromPrefixed, prefixedKeys } = await recipe<PrefixedRecipe>('prefixed.ts');
      const { generateAPIKey } = (await load('prefixed-api-key')) as Prefixed;
      const { token, shortToken, longTokenHash } = await generateAPIKey({ keyPrefix: 'acme' });
      const row = {
        shortToken,
        longTokenHash,
        owner: 'tenant 7',
        name: 'SIEM',
        permissions: ['threats:read'],
        expiresAt: END,
        isDisabled: false,
      };
      const keyring = createAcme();
      const move = fromPrefixed(row, TABLE);
      const { info } = await moved(shared, keyring, move);
      expect(info).toMatchObject({ name: 'SIEM', scopes: ['threats:read'], expiresAt: END });
      expect(fromPrefixed({ ...row, expiresAt: null }, TABLE).input.expiresAt).toBe('never');
      expect(fromPrefixed({ ...row, isDisabled: true }, TABLE).isSuspended).toBe(true);
      const unknown = { ...row, permissions: ['admin'] };
      expect(() => fromPrefixed(unknown, TABLE)).toThrow('no scopes for admin.');

      const rows = new Map<string, object>([[shortToken, row]]);
      const needs = { listThreats: 'threats:read', updateThreat: 'threats:write' };
      const old = prefixedKeys('acme', async (short) => rows.get(short), needs);
      await serving(shared, keyring, old, async (ask) => {
        expect(isKey(token, ACME)).toBe(false);
        expect(await ask('/list', asBearer(token))).toBe(`200 ${info.entityId}`);
        expect(await ask('/update', asBearer(token))).toBe('401');
        const forged = `${token.slice(0, -1)}${token.endsWith('1') ? '2' : '1'}`;
        expect(await ask('/list', asBearer(forged))).toBe('401');
        expect(await ask('/list', asBearer('nothing'))).toBe('401');
        for (const change of [{ isDisabled: true }, { expiresAt: new Date(0) }]) {
          rows.set(shortToken, { ...row, ...change });
          expect(await ask('/list', asBearer(token))).toBe('401');
        }
        await expectGuarded(ask, move, keyring);
      });
    });
  });

  describe('Sanctum', () => {
    const secret = `${randomBytes(20).toString('hex')}0badc0de`;
    const row = {
      tokenable_type: 'App\\Models\\User',
      tokenable_id: 42,
      name: 'token-name',
      token: createHash('sha256').update(secret).digest('hex'),
      abilities: '["threats:read"]',
      expires_at: '2100-06-30 00:00:00',
      created_at: '2026-11-24 10:00:00',
    };

    it('moves its rows', async () => {
      const { fromSanctum } = await recipe<SanctumRecipe>('sanctum.ts');
      const move = fromSanctum(row, TABLE, null);
      expect(move.owner).toBe('App\\Models\\User:42');
      const { info } = await moved(shared, createAcme(), move);
      expect(info).toMatchObject({ name: 'token-name', scopes: ['threats:read'], expiresAt: END });

      const endOf = (change: object, minutes: number | null) =>
        fromSanctum({ ...row, ...change }, TABLE, minutes).input.expiresAt;
      const lasting = { expires_at: null };
      const hour = new Date('2026-11-24T11:00:00Z');
      expect(endOf(lasting, null)).toBe('never');
      expect(endOf(lasting, 60)).toEqual(hour);
      expect(endOf({}, 60)).toEqual(hour);
      expect(endOf({ expires_at: '2026-11-24 10:30:00' }, 60)).toEqual(
        new Date('2026-11-24T10:30:00Z'),
      );
      const unreadable = fromSanctum({ ...row, expires_at: 'tomorrow' }, TABLE, null);
      await expect(moved(shared, createAcme(), unreadable)).rejects.toThrow('expiresAt');
    });

    it('never turns `*` into scopes unless the table says which', async () => {
      const { fromSanctum } = await recipe<SanctumRecipe>('sanctum.ts');
      const all = { ...row, abilities: '["*"]' };
      expect(() => fromSanctum(all, TABLE, null)).toThrow('The table has no scopes for *.');
      const told: Table = { '*': ['reports:read'] };
      expect(fromSanctum(all, told, null).input.scopes).toEqual(['reports:read']);
      expect(fromSanctum({ ...row, abilities: null }, TABLE, null).input.scopes).toEqual([]);
    });

    it('checks its tokens', async () => {
      const { fromSanctum, sanctumTokens } = await recipe<SanctumRecipe>('sanctum.ts');
      const rows = new Map<string, object>([['5', row]]);
      const needs = { listThreats: 'threats:read', updateThreat: 'threats:write' };
      const old = sanctumTokens(async (id) => rows.get(id), needs, null);
      const keyring = createAcme();
      const move = fromSanctum(row, TABLE, null);
      const { info } = await moved(shared, keyring, move);
      await serving(shared, keyring, old, async (ask) => {
        const its = asBearer(`5|${secret}`);
        expect(await ask('/list', its)).toBe(`200 ${info.entityId}`);
        expect(await ask('/update', its)).toBe('401');
        expect(await ask('/list', asBearer(`6|${secret}`))).toBe('401');
        expect(await ask('/list', asBearer(`5|${secret}x`))).toBe('401');
        expect(await ask('/list', asBearer(`5|${secret}|`))).toBe('401');
        rows.set('5', { ...row, abilities: '["*"]' });
        expect(await ask('/update', its)).toBe(`200 ${info.entityId}`);
        for (const over of ['2026-01-01 00:00:00', 'yesterday']) {
          rows.set('5', { ...row, expires_at: over });
          expect(await ask('/list', its), over).toBe('401');
        }
        await expectGuarded(ask, move, keyring);
      });
    });
  });
});

// ── Types of the packages and the recipes ───────────────────────────────────────────────────────

type Needs<T> = Readonly<Record<'listThreats' | 'updateThreat', T>>;
type Load = (name: string) => Promise<unknown>;
type Permissions = Record<string, string[]>;
type RowOf = (id: string) => Promise<object | undefined>;

interface BetterAuthRecipe {
  fromBetterAuth(row: object, table: Table): Move;
  betterAuthKeys(api: BetterAuthApi, needs: Needs<Permissions>): OldKeys;
}
interface UnkeyRecipe {
  fromUnkey(key: object, table: Table): Move;
  unkeyKeys(unkey: UnkeyClient, prefix: string, needs: Needs<string>): OldKeys;
}
interface PrefixedRecipe {
  fromPrefixed(row: object, table: Table): Move;
  prefixedKeys(prefix: string, rowOf: RowOf, needs: Needs<string>): OldKeys;
}
interface SanctumRecipe {
  fromSanctum(row: object, table: Table, minutes: number | null): Move;
  sanctumTokens(rowOf: RowOf, needs: Needs<string>, minutes: number | null): OldKeys;
}

interface Prefixed {
  generateAPIKey(options: {
    keyPrefix: string;
  }): Promise<{
    readonly token: string;
    readonly shortToken: string;
    readonly longTokenHash: string;
  }>;
}

interface BetterAuthApi {
  createApiKey(call: {
    body: object;
  }): Promise<{ readonly id: string; readonly key: string; readonly expiresAt: Date | null }>;
  updateApiKey(call: { body: object }): Promise<object>;
}
interface BetterAuth {
  readonly api: BetterAuthApi;
  readonly $context: Promise<{
    readonly adapter: { findOne(query: object): Promise<object | null> };
  }>;
}

async function createBetterAuth(from: Load) {
  const main = (await from('better-auth')) as { betterAuth(options: object): BetterAuth };
  const memory = (await from('better-auth/adapters/memory')) as {
    memoryAdapter(tables: object): object;
  };
  const plugin = (await from('@better-auth/api-key')) as { apiKey(options: object): object };
  const tables = { user: [], session: [], account: [], verification: [], apikey: [] };
  const { api, $context } = main.betterAuth({
    baseURL: 'http://localhost',
    secret: 'for these tests alone, and not random at all',
    database: memory.memoryAdapter(tables),
    logger: { disabled: true },
    telemetry: { enabled: false },
    plugins: [plugin.apiKey({ enableMetadata: true, rateLimit: { enabled: false } })],
  });
  const { adapter } = await $context;
  return {
    api,
    async rowOf(id: string): Promise<object> {
      const where = [{ field: 'id', value: id }];
      const row = await adapter.findOne({ model: 'apikey', where });
      if (row === null) throw new Error(`There is no key ${id}.`);
      return row;
    },
  };
}

interface UnkeyClient {
  readonly keys: { getKey(query: object): Promise<{ readonly data: Record<string, unknown> }> };
}
interface Asked {
  readonly key?: unknown;
  readonly permissions?: unknown;
}
type Answers = Readonly<Record<string, (body: Asked) => object | null>>;

/** The Unkey client, and a server that answers like its API. null stands for an error. */
async function createUnkey(from: Load, answers: Answers) {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const answer = answers[request.url?.replace('/v2/', '') ?? ''];
    const data = answer?.(JSON.parse(text) as Asked) ?? null;
    const meta = { requestId: 'req_1234567890abcdef' };
    const error = { title: 'Error', detail: 'Down.', status: 500, type: 'https://unkey.com/docs' };
    response.writeHead(data === null ? 500 : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(data === null ? { meta, error } : { meta, data }));
  });
  const serverURL = await listening(server);
  const { Unkey } = (await from('@unkey/api')) as { Unkey: new (options: object) => UnkeyClient };
  const retryConfig = { strategy: 'none' };
  const client = new Unkey({ rootKey: 'unkey_test', serverURL, retryConfig });
  return { client, close: () => server.close() };
}
