/** A mark is only a claim: one that was written into the database does not count as the act. */
import type { KeyRecord } from 'keyscope';
import { createLeakHandler } from 'keyscope/leaks';
import { describe, expect, it } from 'vitest';
import { editableMemory } from '../support/editable-stores.ts';
import { AUTHORITY, denied, issue, PEPPER_2, START, setUp, wrap } from '../support/keyring.ts';
import { outcome } from '../support/outcome.ts';

const EVE = { ...AUTHORITY, actor: 'eve', reason: 'leaked' } as const;

async function arrange(peppers?: 'none') {
  const editable = await editableMemory();
  const { store } = editable;
  const ring = setUp(peppers === undefined ? { store } : { store, peppers });
  const { key, info } = await issue(ring.keyring);
  const { keyId } = info;
  const row = async (): Promise<KeyRecord> => {
    const rows = await editable.rows();
    return rows.find((each) => each.keyId === keyId) as KeyRecord;
  };
  const edit = async (fields: object) => editable.edit(await row(), fields);
  const report = async () => {
    const leaks = createLeakHandler({ keyrings: { acme: ring.keyring }, holder: {} });
    const body = new URLSearchParams({ token: key });
    return leaks(new Request('https://acme.example/leaks/revoke', { method: 'POST', body }));
  };
  return { ...ring, key, keyId, row, edit, report };
}

type Arranged = Awaited<ReturnType<typeof arrange>>;

const ENDINGS: Readonly<Record<string, (given: Arranged) => Promise<unknown>>> = {
  revoke: ({ keyring, keyId }) => keyring.revoke(keyId, EVE),
  revokeLineage: ({ keyring, keyId }) => keyring.revokeLineage(keyId, EVE),
  'a leak report': ({ report }) => report(),
};

describe.each(Object.entries(ENDINGS))('%s', (name, end) => {
  // The call wrote nothing and reported success. Clearing the mark made the key live again.
  it('ends a key that an attacker marked as revoked, for good and with one event', async () => {
    const given = await arrange();
    const { keyring, events, keyId, key, row, edit } = given;
    const found = { revokedAt: START - 9, endedBy: 'mallory', endReason: 'a joke' };
    await edit({ ...found, changedAt: START + 9 });
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state: 'damaged', tampered: true });
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
    events.length = 0;
    await end(given);
    await end(given);
    const told = events.filter(({ type }) => type === 'key.revoked');
    expect(told).toMatchObject([{ time: START, keyId, found }]);
    expect(Object.isFrozen((told[0] as { readonly found?: unknown }).found)).toBe(true);
    const ended = await row();
    // The time stays, because a trigger may keep it, and a cursor over changes never goes back.
    expect(ended).toMatchObject({ revokedAt: START - 9, changedAt: START + 9 });
    expect(ended.endedBy).toBe(name === 'a leak report' ? 'the holder of the key' : 'eve');
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({
      state: 'revoked',
      tampered: false,
    });
    await edit({ revokedAt: null, endedBy: null, endReason: null });
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it('reports no field of a mark that is not of its type', async () => {
    const given = await arrange();
    const { events, edit } = given;
    await edit({ revokedAt: 'now', endedBy: 7, endReason: {} });
    await outcome(() => end(given));
    const told = events.filter(({ type }) => type === 'key.revoked');
    expect(told).toMatchObject([{ found: { revokedAt: null, endedBy: null, endReason: null } }]);
  });

  // The state "revoked" was decided before the seal was checked.
  it('does not seal a row that was edited while it had the mark', async () => {
    const given = await arrange();
    const { keyring, key, keyId, row, edit } = given;
    await edit({ revokedAt: START - 9, scopes: ['threats:write'] });
    await outcome(() => end(given));
    expect(await row()).toMatchObject({ seal: null, revokedAt: START - 9, changedAt: START });
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state: 'revoked', tampered: true });
    await edit({ revokedAt: null, scopes: ['threats:read'] });
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it.each<readonly [string, object, boolean]>([
    ['without a pepper', {}, true],
    ['that is damaged', { name: 'other' }, false],
    ['that cannot be read', { scopes: ['*:*'] }, false],
    ['of a later format', { format: 2 }, false],
  ])('is idempotent on a row %s, and emits one event', async (_what, fields, isUnpeppered) => {
    const given = await arrange(isUnpeppered ? 'none' : undefined);
    const { events, row, edit } = given;
    await edit(fields);
    events.length = 0;
    await outcome(() => end(given));
    const ended = await row();
    expect(ended).toMatchObject({ seal: null, revokedAt: START });
    given.clock.advance(5);
    for (const again of Object.values(ENDINGS)) await outcome(() => again(given));
    expect(await row()).toEqual(ended);
    expect(events.filter(({ type }) => type === 'key.revoked')).toHaveLength(1);
  });

  it('is idempotent on an orphaned row, whose end stays unchanged', async () => {
    const given = await arrange();
    const { keyring, store, keyId, row } = given;
    await keyring.revoke(keyId, { ...AUTHORITY, actor: 'ada' });
    const later = setUp({ store, peppers: [PEPPER_2] });
    expect(await later.keyring.get(keyId, AUTHORITY)).toMatchObject({ state: 'orphaned' });
    const before = await row();
    const call = name === 'revokeLineage' ? 'revokeLineage' : 'revoke';
    for (const _time of [1, 2]) await outcome(() => later.keyring[call](keyId, EVE));
    expect(await row()).toEqual({ ...before, seal: null });
    expect(await later.keyring.get(keyId, AUTHORITY)).toMatchObject({
      state: 'revoked',
      endedBy: 'ada',
    });
    expect(later.events.filter(({ type }) => type !== 'management.denied')).toEqual([]);
  });
});

describe('revokeLineage', () => {
  it('does not say that it ended an orphaned key that had ended before', async () => {
    const { keyring, store, keyId } = await arrange();
    await keyring.revoke(keyId, AUTHORITY);
    const later = setUp({ store, peppers: [PEPPER_2] }).keyring;
    const act = () => later.revokeLineage(keyId, EVE);
    for (const _time of [1, 2]) {
      const { ended } = await denied(act, 'conflict', 'lineage_unknown');
      expect(ended).toEqual([]);
    }
  });
});

describe('revoke', () => {
  it('ends a key that an attacker marks during the call, for good', async () => {
    const { keyring, store, keyId, row, edit } = await arrange();
    let marks = 0;
    const slow = wrap(store, async (method, _args, call) => {
      if (method === 'mark' && ++marks === 1) await edit({ revokedAt: START - 9 });
      return call();
    });
    await setUp({ store: slow }).keyring.revoke(keyId, EVE);
    expect(marks).toBe(2);
    expect(await row()).toMatchObject({ revokedAt: START - 9, endedBy: 'eve' });
    const shown = await keyring.get(keyId, AUTHORITY);
    expect(shown).toMatchObject({ state: 'revoked', tampered: false });
  });
});

// A text that no store can compare prevented the revocation of a key and its whole lineage.
it.each([
  ['x\0', 0],
  ['é', 0],
  ['\ufffd', 0],
  ['\ud800', 0],
  ['', 1],
  ['a foreign seal', 1],
])('treats a mark under the seal %j as ended, with %i events', async (seal, count) => {
  const { keyring, events, keyId, key, row, edit } = await arrange();
  await edit({ revokedAt: START - 9, seal });
  const marked = await row();
  for (const call of ['revoke', 'revokeLineage', 'revoke'] as const) {
    await outcome(() => keyring[call](keyId, EVE));
  }
  expect(events.filter(({ type }) => type === 'key.revoked')).toHaveLength(count);
  if (count === 0) expect(await row()).toEqual(marked);
  expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state: 'revoked' });
  await edit({ revokedAt: null });
  await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
});

describe('a rotation that loses', () => {
  it('ends its successor even if another process marks it in the meantime', async () => {
    const { keyring, store, keyId, edit } = await arrange();
    const made: string[] = [];
    const racing = setUp({
      store: {
        ...store,
        insert: async (record) => {
          await store.insert(record);
          made.push(record.keyId);
        },
        mark: async (id, mark) => {
          if (mark.kind === 'retire') await keyring.revoke(keyId, AUTHORITY);
          return store.mark(id, mark);
        },
      },
    });
    const act = () => racing.keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY);
    await denied(act, 'conflict', 'already_ended');
    expect(await keyring.get(made[0] ?? '', AUTHORITY)).toMatchObject({
      state: 'revoked',
      tampered: false,
    });
    await edit({});
  });
});
