import { type CallOptions, generateKey, type KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { type Context, createContext } from '../../src/core/context.js';
import { ANY_ID } from '../../src/core/entity.js';
import { readAuthority } from '../../src/management/authority.js';
import { findRow, readInfo, requireOwn } from '../../src/management/find.js';
import {
  AUTHORITY,
  catalog,
  delayed,
  denied,
  inputError,
  issue,
  type Method,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  type Ring,
  recording,
  rowOf,
  setUp,
  storeError,
  tampering,
  thrown,
  untypedInput,
  wrap,
} from '../support/keyring.ts';
import { CALLS, CALLS_ON_A_KEY, refusedAsInput } from '../support/managing.ts';
import { RECORD } from '../support/records.ts';

const own = readAuthority(ANY_ID, AUTHORITY);

/** The context of a keyring over a store with {@link RECORD} and a second key of its entity. */
async function prepared(): Promise<{ readonly context: Context; readonly calls: Method[] }> {
  const { store, calls } = recording(delayed(memoryStore()));
  await store.insert(RECORD);
  await store.insert({ ...RECORD, keyId: OTHER, digest: `s1$${'0'.repeat(64)}` });
  calls.length = 0;
  return { context: createContext({ prefix: 'acme', catalog, store, peppers: [PEPPER] }), calls };
}

/** A context that is only used to show keys. */
const showing = (peppers: 'none' | readonly (typeof PEPPER)[] = 'none'): Context =>
  createContext({ prefix: 'acme', catalog, store: memoryStore(), peppers });

describe('findRow', () => {
  it('returns the row of any key of the keyring, of any entity', async () => {
    const { context, calls } = await prepared();
    expect(await findRow(context, RECORD.keyId)).toEqual(RECORD);
    expect(calls).toEqual(['findById']);
  });

  it('denies an unknown key id, and a key of another prefix', async () => {
    const { context } = await prepared();
    await denied(() => findRow(context, NOWHERE), 'not_found', 'no_such_key');
    const elsewhere = { ...context, format: { ...context.format, prefix: 'acme_eu' } };
    await denied(() => findRow(elsewhere, RECORD.keyId), 'not_found', 'foreign_key');
  });

  it.each([
    '',
    'not-an-id',
    '*',
    '%',
    "' OR 1=1 --",
    RECORD.keyId.toUpperCase(),
    `${RECORD.keyId} `,
    `${RECORD.keyId}\u0000`,
    'x'.repeat(1000),
  ])('denies the text %j without asking the store', async (keyId) => {
    const { context, calls } = await prepared();
    await denied(() => findRow(context, keyId), 'not_found', 'no_such_key');
    expect(calls).toEqual([]);
  });

  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [7, 'a value of type number'],
    [{}, 'a value of type object'],
    [[RECORD.keyId], 'a list'],
  ])('refuses %j as a key id', async (keyId, quoted) => {
    const { context, calls } = await prepared();
    const { message } = await inputError(() => findRow(context, keyId), 'keyId', /^keyId: /);
    expect(message).toBe(`keyId: pass a string, not ${quoted}`);
    expect(calls).toEqual([]);
  });

  const key = generateKey({ prefix: 'other' });
  const encoded = key.replace('_', '%5f');

  it.each([
    ['a key', key],
    ['a percent-encoded key', encoded],
    ['a key in a sentence', `revoke ${key}, please`],
  ])('refuses %s in place of a key id, and quotes nothing', async (_what, text) => {
    const { context, calls } = await prepared();
    const { message } = await inputError(() => findRow(context, text), 'keyId', /^keyId: /);
    expect(message).toBe("keyId: pass the key's id, not the key");
    expect(calls).toEqual([]);
  });
});

describe('requireOwn', () => {
  it('returns what findRow returns', async () => {
    const { context } = await prepared();
    expect(await requireOwn(context, own, RECORD.keyId)).toEqual(RECORD);
  });

  it('denies an unknown key, a malformed id and another entity’s key in the same way', async () => {
    const { context } = await prepared();
    const foreign = readAuthority(ANY_ID, { entityId: OTHER, entities: [OWN] });
    const calls = [
      ['no_such_key', () => requireOwn(context, own, NOWHERE)],
      ['no_such_key', () => requireOwn(context, own, 'no id')],
      ['foreign_key', () => requireOwn(context, foreign, RECORD.keyId)],
    ] as const;
    for (const [reason, call] of calls) {
      const error = await denied(call, 'not_found', reason);
      expect([error.keyId, Object.entries(error)]).toEqual([undefined, [['code', 'not_found']]]);
    }
  });
});

describe('readInfo', () => {
  it('shows a sound row without its digest and seal', () => {
    const { digest: _digest, seal: _seal, ...shown } = { ...RECORD, seal: null };
    expect(readInfo(showing(), { ...RECORD, seal: null })).toEqual({
      ...shown,
      state: 'live',
      tampered: false,
      createdAt: new Date(RECORD.createdAt),
      issuedUnder: null,
      trust: null,
    });
  });

  it.each([
    { ...RECORD, scopes: ['*:*'] },
    { ...RECORD, name: 7 },
    { keyId: RECORD.keyId, entityId: OWN },
  ])('shows only the ids of a malformed row: case %#', (row) => {
    const { keyId } = RECORD;
    expect(readInfo(showing(), row)).toStrictEqual({ state: 'damaged', keyId, entityId: OWN });
  });

  it.each([
    {},
    { keyId: RECORD.keyId },
    { entityId: OWN },
    { ...RECORD, keyId: 'x' },
    { ...RECORD, keyId: RECORD.keyId.toUpperCase() },
    { ...RECORD, entityId: null },
  ])('treats a row without key id or entity as a broken store: case %#', async (row) => {
    const { message } = await storeError(async () => readInfo(showing(), row));
    expect(message).toBe('the store returned a row without its key id or entity');
  });
});

describe('management calls', () => {
  it('refuse a key in place of its id before anything else happens', async () => {
    const { key } = await issue(setUp().keyring);
    const { issue: _issue, list: _list, ...onAKey } = CALLS;
    for (const call of Object.values(onAKey)) {
      const act = (keyring: Ring) => call(keyring, AUTHORITY, key);
      await refusedAsInput(act, 'keyId', /^keyId: pass the key's id, not the key$/);
    }
  });

  it('treat the record of another id as a broken store', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const mine = await issue(keyring);
    const other = await rowOf(inner, (await issue(keyring)).info.keyId);
    const wrong = wrap(inner, (method, _args, call) => (method === 'findById' ? other : call()));
    const through = setUp({ store: wrong }).keyring;
    const { keyId } = mine.info;
    for (const name of CALLS_ON_A_KEY) await storeError(() => through[name](keyId, AUTHORITY));
    await storeError(() => through.rotate(keyId, { overlapMs: 0 }, AUTHORITY));
    await keyring.verify(mine.key);
  });

  // A cache would show an earlier state to management.
  it('bypass the cache in every read', async () => {
    const inner = memoryStore();
    const reads: [string, boolean | undefined][] = [];
    const noting =
      <A, T>(name: string, method: (argument: A, options?: CallOptions) => T) =>
      (argument: A, options?: CallOptions): T => {
        reads.push([name, options?.fresh]);
        return method(argument, options);
      };
    const store: KeyStore = {
      ...inner,
      findById: noting('findById', inner.findById),
      list: noting('list', inner.list),
      listLineage: noting('listLineage', inner.listLineage),
    };
    const { keyring } = setUp({ store });
    const entities = [OTHER];
    const input = untypedInput({ accessibleEntities: entities });
    const { info } = await keyring.issue(input, { ...AUTHORITY, entities });
    const { keyId } = info;
    await keyring.list({}, AUTHORITY);
    await keyring.get(keyId, AUTHORITY);
    for (const entityId of [OTHER, OTHER]) await keyring.withdraw(keyId, { entityId });
    for (const name of ['suspend', 'suspend', 'resume', 'resume'] as const) {
      await keyring[name](keyId, AUTHORITY);
    }
    const next = await keyring.rotate(keyId, { overlapMs: 1 }, AUTHORITY);
    await keyring.revoke(keyId, AUTHORITY);
    await keyring.revoke(keyId, AUTHORITY);
    await keyring.revokeLineage(next.info.keyId, AUTHORITY);
    const edited = tampering(store, (row) => ({ ...row, name: 'edited' }));
    await thrown(() => setUp({ store: edited }).keyring.revokeLineage(keyId, AUTHORITY));
    expect(new Set(reads.map(([name]) => name))).toEqual(
      new Set(['findById', 'list', 'listLineage']),
    );
    expect(reads.filter(([, fresh]) => fresh !== true)).toEqual([]);
    expect(reads.length).toBeGreaterThan(18);
    expect(reads.filter(([name]) => name === 'list')).toHaveLength(2);
  });
});
