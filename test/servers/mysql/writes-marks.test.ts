import type { Mark } from 'keyscope';
import { expect, test } from 'vitest';
import { OTHER, OWN, THIRD } from '../../support/keyring.ts';
import { ignoreChecks } from '../../support/mysql-clients.ts';
import {
  another,
  describeMysql,
  retireAt,
  revokeAt,
  revoked,
  SLOW,
  usageOf,
  usePlace,
} from '../../support/mysql-place.ts';

/** A mark as a caller without types sends it. */
function untyped(mark: object): Mark {
  return mark as Mark;
}

function withdraw(entityId: string): Mark {
  return { kind: 'withdraw', at: 5, entityId };
}

describeMysql('a mark', SLOW, () => {
  const place = usePlace('mysql2 pool');

  test('may omit fields that its kind has no value for', async () => {
    const { store } = place;
    const record = another(1);
    await store.insert(record);
    expect(await store.mark(record.keyId, untyped({ kind: 'suspend', at: 5 }))).toBe(true);
    const suspended = { ...record, suspendedAt: 5, changedAt: 5 };
    expect(await store.findById(record.keyId)).toEqual(suspended);
    expect(await store.mark(record.keyId, { kind: 'resume', at: 6 })).toBe(true);
    expect(await store.mark(record.keyId, untyped({ kind: 'retire', at: 7, retireAt: 7 }))).toBe(
      true,
    );
    const retired = { ...record, retireAt: 7, changedAt: 7 };
    expect(await store.findById(record.keyId)).toEqual(retired);
    expect(await store.mark(record.keyId, untyped({ kind: 'revoke', at: 8 }))).toBe(true);
    expect(await store.findById(record.keyId)).toEqual(revoked(retired, 8));
  });

  test('that revokes again keeps revoked_at, and no mark moves changed_at back', async () => {
    const { store, rows } = place;
    const record = another(5);
    const seal = record.seal ?? '';
    await store.insert(record);
    await rows(`UPDATE keyscope_keys SET revoked_at = 9, changed_at = 9
      WHERE key_id = '${record.keyId}'`);
    const mark = { kind: 'revoke', at: 7, by: 'ada', reason: null, seal: 'ab' } as const;
    for (const replaces of [undefined, null, '', 'ab', seal.toUpperCase(), `${seal} `]) {
      expect(await store.mark(record.keyId, { ...mark, replaces }), replaces ?? '').toBe(false);
    }
    expect(await store.mark(record.keyId, { ...mark, replaces: seal })).toBe(true);
    const again = { ...record, revokedAt: 9, changedAt: 9, endedBy: 'ada', seal: 'ab' };
    expect(await store.findById(record.keyId)).toEqual(again);
    const withoutSeal = { ...mark, at: 11, seal: null, replaces: 'ab' };
    expect(await store.mark(record.keyId, withoutSeal)).toBe(true);
    expect(await store.mark(record.keyId, withoutSeal)).toBe(false);
    expect(await store.mark(record.keyId, withdraw(OTHER))).toBe(true);
    const last = { ...again, changedAt: 11, seal: null, withdrawn: [OTHER] };
    expect(await store.findById(record.keyId)).toEqual(last);
  });

  test('of an unknown kind throws, and writes nothing', async () => {
    const { store } = place;
    const record = another(2);
    await store.insert(record);
    for (const kind of ['delete', 'constructor', '', undefined]) {
      const mark = async () => store.mark(record.keyId, untyped({ kind, at: 5 }));
      await expect(mark, String(kind)).rejects.toThrow('kind: pass revoke, suspend');
    }
    expect(await store.findById(record.keyId)).toEqual(record);
  });

  test('retires only if the same entities withdrew, in the same order', async () => {
    const { store, rows } = place;
    const record = { ...another(3), accessibleEntities: [OWN, OTHER, THIRD] };
    await store.insert(record);
    for (const guest of [OTHER, THIRD]) await store.mark(record.keyId, withdraw(guest));
    for (const withdrawn of [[], [OTHER], [THIRD, OTHER], [OTHER, THIRD, THIRD]]) {
      const mark = { ...retireAt(6), withdrawn };
      expect(await store.mark(record.keyId, mark), withdrawn.join()).toBe(false);
    }
    // Whatever the spaces in the list.
    await rows(`UPDATE keyscope_keys SET withdrawn = REPLACE(withdrawn, ',', ' ,  ')`);
    const mark = { ...retireAt(6), withdrawn: [OTHER, THIRD] };
    expect(await store.mark(record.keyId, mark)).toBe(true);
  });

  test('adds the last of a thousand entities', async () => {
    const { store } = place;
    const guests = Array.from({ length: 999 }, (_, index) => another(index).keyId);
    const withdrawn = guests.slice(0, -1);
    const record = { ...another(4), accessibleEntities: [OWN, ...guests], withdrawn };
    await store.insert(record);
    const last = guests.at(-1) ?? '';
    expect(await store.mark(record.keyId, withdraw(last))).toBe(true);
    expect(await store.mark(record.keyId, withdraw(last))).toBe(false);
    const marked = { ...record, withdrawn: guests, changedAt: 5 };
    expect(await store.findById(record.keyId)).toEqual(marked);
  });
});

describeMysql('a mark of a row that breaks a CHECK', SLOW, () => {
  const place = usePlace('mariadb pool');

  // MariaDB checks every constraint of a row in every update, so such a key could not be revoked,
  // and no key in the same batch got its usage.
  test.each([
    'created_at = 1 << 60',
    'last_used_at = 1 << 60',
    "scopes = 'none'",
    "withdrawn = '5'",
    "withdrawn = 'none'",
  ])('revokes the key, and other keys get their usage: %s', async (damage) => {
    const { store, rows } = place;
    const damaged = another(1);
    const sound = another(2);
    await store.insert(damaged);
    await store.insert(sound);
    await rows('DROP TRIGGER IF EXISTS keyscope_keys_update');
    await rows('DROP TRIGGER IF EXISTS keyscope_keys_marks');
    await rows('DROP TRIGGER IF EXISTS keyscope_keys_delete');
    await ignoreChecks(place);
    await rows(`UPDATE keyscope_keys SET ${damage} WHERE key_id = '${damaged.keyId}'`);
    await store.touch([usageOf(damaged, 5, { 'a:b': 5 }), usageOf(sound, 5, { 'a:b': 5 })]);
    const used = { ...sound, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } };
    expect(await store.findById(sound.keyId)).toEqual(used);
    if (damage.startsWith('withdrawn')) {
      expect(await store.mark(damaged.keyId, withdraw(OTHER))).toBe(false);
    }
    expect(await store.mark(damaged.keyId, revokeAt(6))).toBe(true);
    expect(await store.mark(damaged.keyId, revokeAt(7))).toBe(false);
    expect(await store.findById(damaged.keyId)).toMatchObject({ revokedAt: 6 });
    await rows('DELETE FROM keyscope_keys');
  });
});
