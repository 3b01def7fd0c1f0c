import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { readAuthority } from '../../src/core/authority.js';
import { type Context, createContext } from '../../src/core/context.js';
import { findOwn, readInfo, requireOwn } from '../../src/core/find.js';
import {
  AUTHORITY,
  catalog,
  delayed,
  denied,
  issue,
  type Method,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  recording,
  rowOf,
  setUp,
  storeError,
  typeError,
  wrap,
} from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';

const own = readAuthority(AUTHORITY);

/** The context of a keyring over a store with {@link RECORD} and a second key of its entity. */
async function prepared(): Promise<{ readonly context: Context; readonly calls: Method[] }> {
  const { store, calls } = recording(delayed(memoryStore()));
  await store.insert(RECORD);
  await store.insert({ ...RECORD, keyId: OTHER, digest: `s1$${'0'.repeat(64)}` });
  calls.length = 0;
  return { context: createContext({ prefix: 'acme', catalog, store, peppers: [PEPPER] }), calls };
}

describe('findOwn', () => {
  it('returns the row of a key of the entity', async () => {
    const { context, calls } = await prepared();
    expect(await findOwn(context, own, RECORD.keyId)).toEqual(RECORD);
    expect(calls).toEqual(['findById']);
  });

  it('returns null for an unknown key id', async () => {
    const { context } = await prepared();
    expect(await findOwn(context, own, NOWHERE)).toBeNull();
  });

  it('returns null for a key of another entity, even one that may be granted', async () => {
    const { context } = await prepared();
    for (const authority of [{ entityUuid: OTHER }, { entityUuid: OTHER, entities: [OWN] }])
      expect(await findOwn(context, readAuthority(authority), RECORD.keyId)).toBeNull();
  });

  it.each([
    '',
    'no id',
    '*',
    '%',
    "' OR 1=1 --",
    RECORD.keyId.toUpperCase(),
    `${RECORD.keyId} `,
    `${RECORD.keyId}\u0000`,
    'x'.repeat(1000),
  ])('returns null for the text %j without asking the store', async (keyId) => {
    const { context, calls } = await prepared();
    expect(await findOwn(context, own, keyId)).toBeNull();
    expect(calls).toEqual([]);
  });

  it.each([undefined, null, 7, {}, [RECORD.keyId]])('refuses %j as a key id', async (keyId) => {
    const { context, calls } = await prepared();
    await typeError(() => findOwn(context, own, keyId), /^keyId: pass a string/);
    expect(calls).toEqual([]);
  });
});

describe('requireOwn', () => {
  it('returns what findOwn returns', async () => {
    const { context } = await prepared();
    expect(await requireOwn(context, own, RECORD.keyId)).toEqual(RECORD);
  });

  it('denies an unknown key, a malformed id and a key of another entity alike', async () => {
    const { context } = await prepared();
    const foreign = readAuthority({ entityUuid: OTHER, entities: [OWN] });
    const calls = [
      () => requireOwn(context, own, NOWHERE),
      () => requireOwn(context, own, 'no id'),
      () => requireOwn(context, foreign, RECORD.keyId),
    ];
    for (const call of calls) {
      const error = await denied(call, 'not_found', 'no_such_key');
      expect([error.keyId, Object.entries(error)]).toEqual([undefined, [['code', 'not_found']]]);
    }
  });
});

describe('readInfo', () => {
  it('shows a sound row without its digest and seal', () => {
    const { digest: _digest, seal: _seal, ...shown } = RECORD;
    expect(readInfo(RECORD)).toEqual({ ...shown, createdAt: new Date(RECORD.createdAt) });
  });

  it.each([undefined, null, 'row', {}, { ...RECORD, scopes: ['*:*'] }, { ...RECORD, name: 7 }])(
    'treats a malformed row as a broken store: case %#',
    async (row) => {
      const { message } = await storeError(async () => readInfo(row));
      expect(message).toBe('the store returned a malformed record');
    },
  );
});

describe('management calls', () => {
  it('treat the record of another id as a broken store', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const mine = await issue(keyring);
    const other = await rowOf(inner, (await issue(keyring)).info.keyId);
    const wrong = wrap(inner, (method, _args, call) => (method === 'findById' ? other : call()));
    const through = setUp({ store: wrong }).keyring;
    const { keyId } = mine.info;
    await storeError(() => through.get(keyId, AUTHORITY));
    await storeError(() => through.revoke(keyId, AUTHORITY));
    await storeError(() => through.rotate(keyId, { overlapMs: 0 }, AUTHORITY));
    await storeError(() => through.advise(keyId, { unusedForMs: 0 }, AUTHORITY));
    await keyring.verify(mine.key);
  });
});
