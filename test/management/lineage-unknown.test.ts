/** The lineage of a key for whose row nothing vouches: damaged, or without its pepper. */
import { AccessError, type KeyRecord, type KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { endedOf } from '../../src/management/lineage.js';
import { editableMemory } from '../support/editable-stores.ts';
import {
  AUTHORITY,
  denied,
  NOWHERE,
  PEPPER,
  PEPPER_2,
  type Ring,
  rejecting,
  rowOf,
  START,
  setUp,
  thrown,
  wrap,
} from '../support/keyring.ts';
import { EVE, idsOfChain, issueUnder, leftIn, rotated } from '../support/lineages.ts';
import { bring, LIFE_NAMES, LIVES } from '../support/lives.ts';
import { unpeppered, unsealed } from '../support/unsealed.ts';

/** Asserts that the call reports an unknown lineage. Returns the ended keys, sorted. */
async function endedBy(keyring: Ring, keyId: string): Promise<readonly string[]> {
  const error: AccessError = await denied(
    () => keyring.revokeLineage(keyId, EVE),
    'conflict',
    'lineage_unknown',
  );
  expect(error.keyId).toBe(keyId);
  expect(Object.isFrozen(error.ended)).toBe(true);
  expect(error.message).toBe(
    'Revoked, but untrusted: look for keys rotated from it or issued under it.',
  );
  return [...(error.ended ?? [])].sort();
}

/** A chain of three keys, keys that it issued, and another chain, in a store to edit by hand. */
async function family() {
  const editable = await editableMemory();
  const ring = setUp({ store: editable.store });
  const { keyring, store } = ring;
  const [first = '', second = '', third = ''] = await idsOfChain(keyring, 3);
  const child = await issueUnder(keyring, third);
  const renewed = await rotated(keyring, child);
  const [other = ''] = await idsOfChain(keyring, 1);
  const cousin = await issueUnder(keyring, other);
  ring.events.length = 0;
  const edit = async (keyId: string, fields: object) => {
    await editable.edit(await rowOf(store, keyId), fields);
  };
  return { ...ring, edit, ids: { first, second, third, child, renewed, other, cousin } };
}

type Name = keyof Awaited<ReturnType<typeof family>>['ids'];

const CHAIN: readonly Name[] = ['first', 'second', 'third'];
const ISSUED: readonly Name[] = ['child', 'renewed'];

const isUnvouched = (name: (typeof LIFE_NAMES)[number]) =>
  ['damaged', 'unknown_format', 'orphaned'].includes(LIVES[name].state);

describe('revokeLineage', () => {
  it.each(LIFE_NAMES.filter(isUnvouched))(
    'ends the key and its rotations if it is %s',
    async (name) => {
      const { keyring, events, inner, keyId } = await bring(name);
      const before = await leftIn(inner);
      const ended = await endedBy(keyring, keyId);
      expect(ended.filter((id) => before.includes(id))).toEqual(before);
      expect(await leftIn(inner)).toEqual([]);
      events.length = 0;
      expect(await endedBy(keyring, keyId)).toEqual([]);
      expect(events.map(({ type }) => type)).toEqual(['management.denied']);
    },
  );

  it.each([
    ['edited', { name: 'other' }],
    ['malformed', { scopes: ['*:*'] }],
    ['of a later format', { format: 2 }],
    ['without its seal', { seal: null }],
    ['marked and edited', { name: 'other', revokedAt: 5 }],
  ])('ends what was rotated from and issued under a row that is %s', async (_what, fields) => {
    for (const damaged of ['first', 'second'] as const) {
      const { keyring, store, events, ids, edit } = await family();
      await edit(ids[damaged], fields);
      const expected = [...CHAIN, ...ISSUED].map((name) => ids[name]).sort();
      expect(await endedBy(keyring, ids[damaged])).toEqual(expected);
      expect(await leftIn(store)).toEqual([ids.other, ids.cousin].sort());
      const told = events.filter(({ type }) => type === 'key.revoked');
      expect(told.map(({ keyId }) => keyId).sort()).toEqual(expected);
      expect(events.at(-1)).toMatchObject({
        type: 'management.denied',
        action: 'revokeLineage',
        denialReason: 'lineage_unknown',
      });
    }
  });

  it('ends what a damaged key issued that was never rotated', async () => {
    const { keyring, store, ids, edit } = await family();
    await edit(ids.other, { name: 'other' });
    expect(await endedBy(keyring, ids.other)).toEqual([ids.other, ids.cousin].sort());
    expect(await leftIn(store)).toContain(ids.first);
  });

  it('ends only the key if no other row, under its own seal, leads from it', async () => {
    for (const name of ['third', 'renewed'] as const) {
      const { keyring, ids, edit } = await family();
      await edit(ids[name], { name: 'other' });
      expect(await endedBy(keyring, ids[name])).toEqual([ids[name]]);
    }
  });

  // A row that was edited to have another key's root ended that key.
  it.each(['rootKeyId', 'issuedUnder', 'rotatedFrom'] as const)(
    'believes the %s of no row for which nothing vouches',
    async (field) => {
      for (const damaged of ['first', 'second', 'child'] as const) {
        const { keyring, store, ids, edit } = await family();
        await edit(ids[damaged], { [field]: ids.other });
        const ended = await endedBy(keyring, ids[damaged]);
        expect(ended).toContain(ids[damaged]);
        const left = await leftIn(store);
        for (const name of ['other', 'cousin'] as const) expect(left).toContain(ids[name]);
        // Its rotations name their predecessors themselves, under their seals.
        if (damaged !== 'child') expect(ended).toContain(ids.third);
        else expect(ended).toContain(ids.renewed);
      }
    },
  );

  it('follows no row that claims to be a rotation, under no seal', async () => {
    const { keyring, store, ids, edit } = await family();
    await edit(ids.third, { name: 'other' });
    await edit(ids.cousin, { rotatedFrom: ids.third, rootKeyId: ids.other });
    expect(await endedBy(keyring, ids.third)).not.toContain(ids.other);
    expect(await leftIn(store)).toContain(ids.other);
  });

  it.each([NOWHERE, 'none', null, 7, ''])(
    'ends a key whose root is %j, and its rotations',
    async (rootKeyId) => {
      for (const name of ['first', 'second'] as const) {
        const { keyring, store, ids, edit } = await family();
        await edit(ids[name], { rootKeyId });
        await endedBy(keyring, ids[name]);
        expect(await leftIn(store)).toEqual([ids.other, ids.cousin].sort());
      }
    },
  );

  it('ends what was rotated and issued since, if the pepper of the key is gone', async () => {
    const store = memoryStore();
    const [first = ''] = await idsOfChain(setUp({ store }).keyring, 1);
    const both = setUp({ store, peppers: [PEPPER_2, PEPPER] }).keyring;
    const next = await rotated(both, first);
    const child = await issueUnder(both, next);
    const [other = ''] = await idsOfChain(both, 1);
    const { keyring } = setUp({ store, peppers: [PEPPER_2] });
    expect(await endedBy(keyring, first)).toEqual([first, next, child].sort());
    expect(await leftIn(store)).toEqual([other]);
    expect(await keyring.get(next, AUTHORITY)).toMatchObject({ state: 'revoked', tampered: false });
  });

  it.each([
    ['behind 1,100 newer', START - 1],
    ['before 1,100 older', START + 1],
  ])('finds a rotation %s keys of the entity', async (_where, createdAt) => {
    const store = memoryStore();
    const { record: root } = unsealed();
    const { record: start } = unsealed({ rootKeyId: root.keyId, scopes: ['*:*'] });
    const over = { rootKeyId: root.keyId, rotatedFrom: start.keyId, createdAt };
    const { record: next } = unsealed(over);
    const rows: readonly KeyRecord[] = [root, start, next];
    for (const row of rows) store.insert(row);
    for (let index = 0; index < 1_100; index++) {
      store.insert(unsealed({ createdAt: START }).record);
    }
    const ended = await endedBy(unpeppered(store), start.keyId);
    expect(ended).toEqual(rows.map(({ keyId }) => keyId).sort());
  });

  it('ends the lineages of all branches that were rotated from the key', async () => {
    const { store: inner, edit } = await editable();
    const { keyring } = setUp({ store: inner });
    const [first = ''] = await idsOfChain(keyring, 1);
    const breaking = wrap(inner, (method, _args, call) => (method === 'mark' ? null : call()));
    const broken = setUp({ store: breaking }).keyring;
    await broken.rotate(first, { overlapMs: 0 }, AUTHORITY).catch(() => {});
    const next = await rotated(keyring, first);
    const all = await leftIn(inner);
    expect(all).toHaveLength(3);
    await edit(await rowOf(inner, first), { name: 'other' });
    expect(await endedBy(keyring, first)).toEqual(all);
    expect(all).toContain(next);
  });

  async function editable() {
    const { store, edit }: Awaited<ReturnType<typeof editableMemory>> = await editableMemory();
    return { store, edit } satisfies { store: KeyStore; edit: unknown };
  }
});

describe('endedOf', () => {
  const ended = [NOWHERE];

  it('returns the keys that ended, and throws every other error', async () => {
    const unknown = new AccessError('conflict', 'lineage_unknown', { keyId: NOWHERE, ended });
    expect(endedOf(unknown)).toEqual(ended);
    const others = [
      new AccessError('not_found', 'no_such_key'),
      Object.assign(new Error('down'), { ended }),
      undefined,
    ];
    for (const other of others) {
      expect(await thrown(rejecting(() => endedOf(other)))).toBe(other);
    }
  });
});
