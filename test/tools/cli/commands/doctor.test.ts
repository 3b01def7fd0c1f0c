/** The findings of `doctor`. */
import { createKeyring, defineScopes, type KeyringEvent, type KeyStore } from 'keyscope';
import { type CommandSql, defineConfig } from 'keyscope/cli';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../../../src/stores/schema/migrations.js';
import type { ChosenConfig } from '../../../../src/tools/cli/call.js';
import { CHECKS, type Finding } from '../../../../src/tools/cli/commands/doctor.js';

const catalog = defineScopes({ threats: { read: 'Read.' } });
const P1 = { id: 'p1', secret: 'a pepper of at least thirty-two bytes' };
const P2 = { id: 'p2', secret: 'another pepper of thirty-two bytes' };
const authority = { entityId: '0a0a0a0a-0000-4000-8000-00000000000a', scopes: 'all' } as const;
const KEY = { name: 'CI', scopes: [], expiresAt: 'never' } as const;

function keyringOver(store: KeyStore, peppers = [P1], deployment = '') {
  const storeTimeoutMs = 50;
  return createKeyring({ prefix: 'acme', catalog, store, peppers, deployment, storeTimeoutMs });
}

function configOver(store: KeyStore, more: Partial<ChosenConfig> = {}): ChosenConfig {
  const keyring = more.keyring ?? keyringOver(store);
  return { ...defineConfig({ keyring, store, peppers: ['p1'], ...more }), keyring };
}

type Findings = (check: string) => Finding | undefined;

async function examine(config: ChosenConfig): Promise<Findings> {
  const findings: Finding[] = [];
  for (const check of CHECKS) findings.push(await check({ config, timeoutMs: 100, findings }));
  return (name) => findings.find((finding) => finding.check === name);
}

/** A server with fixed answers, by a word in the query. By default, no column is at fault. */
function answering(answers: Readonly<Record<string, readonly unknown[]>>): CommandSql {
  const all = { attcollation: [], ...answers };
  return {
    dialect: 'postgres',
    async query(sql) {
      const [, found = []] = Object.entries(all).find(([word]) => sql.includes(word)) ?? [];
      return found.map((answer) => ({ answer }));
    },
  };
}

const triggers = MIGRATIONS.postgres.flat().filter((text) => /CREATE (TRIGGER|OR)/.test(text));
const now = (): number => Date.now();
const SOUND = {
  to_regclass: triggers,
  clock_timestamp: [String(now())],
  pg_is_in_recovery: [1],
  'SELECT version': ['1'],
  min_reader: ['1'],
};

describe('doctor with an SQL server', () => {
  it.each([
    ['version', { 'SELECT version': [2], min_reader: [1] }, 'schema', 'ok'],
    ['version', { 'SELECT version': [9], min_reader: [9] }, 'schema', 'to do'],
    ['columns', { attcollation: ['keyscope_keys.entity_id'] }, 'schema', 'to do'],
    ['columns', { attcollation: [] }, 'schema', 'ok'],
    ['replica', { pg_is_in_recovery: [0] }, 'primary', 'to do'],
    ['clock', { clock_timestamp: [String(now() - 60_000)] }, 'clock', 'to do'],
    ['clock', { clock_timestamp: [String(now() + 60_000)] }, 'clock', 'to do'],
    ['clock', { clock_timestamp: [] }, 'clock', 'not known'],
    ['triggers', { to_regclass: triggers.slice(1) }, 'triggers', 'to do'],
    ['triggers', { to_regclass: triggers }, 'triggers', 'ok'],
  ])('judges its answers: %s %j', async (_, answers, check, state) => {
    const sql = answering({
      'IS NOT NULL': [1],
      attcollation: [],
      ...answers,
      ...SOUND,
      ...answers,
    });
    const findings = await examine(configOver(memoryStore(), { sql }));
    expect(findings(check)).toMatchObject({ state });
  });

  it('makes no check that would create missing tables', async () => {
    const called: string[] = [];
    const store = new Proxy(memoryStore(), {
      get(real, name) {
        called.push(String(name));
        return Reflect.get(real, name) as unknown;
      },
    });
    const config = configOver(store, { sql: answering({ 'IS NOT NULL': [0] }) });
    called.length = 0;
    const findings = await examine(config);
    expect(findings('schema')).toMatchObject({ state: 'to do' });
    expect(findings('peppers')).toEqual({
      check: 'peppers',
      state: 'not known',
      what: 'see schema',
    });
    expect(called).toEqual([]);
  });

  it('reports not known, never ok, if the server does not answer in time', async () => {
    const sql: CommandSql = { dialect: 'mysql', query: () => new Promise(() => {}) };
    const findings = await examine(configOver(memoryStore(), { sql }));
    for (const check of ['schema', 'clock', 'primary', 'triggers']) {
      expect(findings(check)).toMatchObject({ state: 'not known' });
    }
    expect(findings('store')).toMatchObject({ state: 'ok' });
  });
});

describe('doctor with a store', () => {
  it('reports once that it hangs or fails, and skips the checks that need it', async () => {
    const hanging: KeyStore = { ...memoryStore(), list: () => new Promise(() => {}) };
    const refused = Object.assign(new Error('hunter2'), { code: 'ECONNREFUSED' });
    const failing: KeyStore = { ...memoryStore(), list: () => Promise.reject(refused) };
    for (const store of [hanging, failing]) {
      const findings = await examine(configOver(store));
      expect(findings('store')).toMatchObject({ state: 'to do' });
      expect(findings('peppers')).toMatchObject({ state: 'not known', what: 'see store' });
      expect(findings('store')?.what).not.toContain('hunter2');
    }
    const findings = await examine(configOver(failing));
    expect(findings('store')?.what).toContain('ECONNREFUSED');
  });

  // A look-up of an unknown key once added a denial to the audit log.
  it('causes no event', async () => {
    const events: string[] = [];
    const store = memoryStore();
    const onEvent = ({ type }: KeyringEvent): void => void events.push(type);
    const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: [P1], onEvent });
    const findings = await examine(configOver(store, { keyring }));
    expect(findings('store')).toMatchObject({ state: 'ok' });
    expect(events).toEqual([]);
  });

  // A look-up of each was a denial in the audit log.
  it('leaves out the keys of another prefix, and causes no event about them', async () => {
    const events: string[] = [];
    const store = memoryStore();
    const onEvent = ({ type }: KeyringEvent): void => void events.push(type);
    const own = { catalog, store, peppers: [P1] };
    const other = createKeyring({ ...own, prefix: 'acme_test' });
    const keyring = createKeyring({ ...own, prefix: 'acme', onEvent });
    for (let count = 0; count < 60; count += 1) await other.issue(KEY, authority);
    const alone = await examine(configOver(store, { keyring }));
    expect(alone('deployment')).toMatchObject({ state: 'not known' });
    await keyring.issue(KEY, authority);
    const findings = await examine(configOver(store, { keyring }));
    const what = 'the seals of 1 keys match';
    expect(findings('deployment')).toMatchObject({ state: 'ok', what });
    expect(events).toEqual(['key.issued']);
  });

  it('reports not known if it cannot list or count', async () => {
    const { listAll: _, summarize: __, ...least } = memoryStore();
    const findings = await examine(configOver(least));
    expect(findings('peppers')).toMatchObject({ state: 'not known' });
    expect(findings('deployment')).toMatchObject({ state: 'not known' });
  });

  it.each([
    ['up', 'ok'],
    ['down', 'to do'],
    ['none', 'not known'],
  ])('judges a channel that is %s', async (channel, state) => {
    const store = { ...memoryStore(), channelState: () => channel };
    const config = configOver(store);
    const check = CHECKS[7];
    const finding = await check?.({ config, timeoutMs: 10_000, findings: [] });
    expect(finding).toMatchObject({ check: 'channel', state });
  });
});

// Roles that anybody can take may be able to suspend and resume keys.
describe('doctor on the rights on the tables', () => {
  it.each([
    [[], 'ok', 'only the owner'],
    [['reporting'], 'not known', 'reporting. REVOKE any right that you did not intend'],
    [['anon', 'reporting'], 'to do', 'REVOKE ALL on them FROM anon'],
    [['anon', 'public', 'reporting'], 'to do', 'public, which is everybody'],
  ])('judges %j as %s', async (roles, state, what) => {
    const sql = answering({ has_any_column_privilege: roles, 'IS NOT NULL': [1], ...SOUND });
    const findings = await examine(configOver(memoryStore(), { sql }));
    expect(findings('rights')).toMatchObject({ state });
    expect(findings('rights')?.what).toContain(what);
  });

  it('is ok for a file, whose permissions decide', async () => {
    const query = async (text: string): Promise<readonly object[]> => {
      if (text.includes('min_reader') || text.includes('version')) return [{ answer: 1 }];
      return text.includes('count(*)') ? [{ answer: 1 }] : [];
    };
    const findings = await examine(
      configOver(memoryStore(), { sql: { dialect: 'sqlite', query } }),
    );
    expect(findings('rights')).toMatchObject({ state: 'ok' });
  });

  it('reports an invisible version as not known, not as missing', async () => {
    const sql = answering({ 'IS NOT NULL': [1], ...SOUND, 'SELECT version': [] });
    const findings = await examine(configOver(memoryStore(), { sql }));
    expect(findings('schema')).toMatchObject({ state: 'not known' });
  });
});

describe('doctor on records', () => {
  it.each([
    [true, 'to do'],
    [false, 'ok'],
    [undefined, 'ok'],
  ])('judges a store with isInProcess: %j', async (isInProcess, state) => {
    const findings = await examine(configOver({ ...memoryStore(), isInProcess }));
    expect(findings('records')).toMatchObject({ state });
  });
});

describe('doctor on a pool', () => {
  it.each([
    [4, 'to do'],
    [5, 'ok'],
    [undefined, 'not known'],
  ])('judges %j connections', async (connections, state) => {
    const findings = await examine(configOver(memoryStore(), { connections }));
    expect(findings('pool')).toMatchObject({ state });
  });
});

describe('doctor on peppers and the deployment', () => {
  it('is ok if the seals match', async () => {
    const store = memoryStore();
    await keyringOver(store).issue(KEY, authority);
    const findings = await examine(configOver(store));
    const what = 'p1: 1 live key, no use recorded';
    expect(findings('peppers')).toMatchObject({ state: 'ok', what });
    expect(findings('deployment')).toMatchObject({ state: 'ok' });
  });

  it('is ok before the first key', async () => {
    const findings = await examine(configOver(memoryStore()));
    expect(findings('deployment')).toMatchObject({ state: 'ok', what: 'no keys yet' });
  });

  it('reports to do if no seal matches because of another name or secret', async () => {
    const store = memoryStore();
    await keyringOver(store).issue(KEY, authority);
    const another = [{ ...P1, secret: P2.secret }];
    for (const keyring of [keyringOver(store, [P1], 'live'), keyringOver(store, another)]) {
      const findings = await examine(configOver(store, { keyring }));
      expect(findings('deployment')).toMatchObject({ state: 'to do' });
      expect(findings('deployment')?.what).toContain('`deployment`');
    }
  });

  it('names a row that was edited, until its key is revoked', async () => {
    const store = memoryStore();
    const { info } = await keyringOver(store).issue(KEY, authority);
    await keyringOver(store).issue(KEY, authority);
    const edited: KeyStore = {
      ...store,
      async findById(keyId) {
        const row = (await store.findById(keyId)) ?? null;
        return row?.keyId === info.keyId ? { ...row, name: 'x' } : row;
      },
    };
    const findings = await examine(configOver(edited));
    expect(findings('deployment')).toMatchObject({ state: 'to do' });
    expect(findings('deployment')?.what).toContain(info.keyId);
    await keyringOver(edited).revoke(info.keyId, authority);
    const revoked = await examine(configOver(edited));
    expect(revoked('deployment')).toMatchObject({ state: 'ok' });
  });

  it('reports keys under a pepper that is not configured', async () => {
    const store = memoryStore();
    await keyringOver(store, [P2]).issue(KEY, authority);
    const findings = await examine(configOver(store));
    expect(findings('peppers')).toMatchObject({ state: 'to do' });
    // Without the pepper, the seals of such keys cannot be checked.
    expect(findings('deployment')).toMatchObject({ state: 'not known' });
    const unnamed = await examine(configOver(store, { peppers: undefined }));
    expect(unnamed('peppers')).toMatchObject({ state: 'not known' });
  });
});
