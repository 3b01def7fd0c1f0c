import type { KeyRecord, Slice, SliceQuery } from 'keyscope';
import { expect, test } from 'vitest';
import { ignoreChecks } from '../../support/mysql-clients.ts';
import { another, describeMysql, revokeAt, SLOW, usePlace } from '../../support/mysql-place.ts';

type ListPart = (query: SliceQuery) => PromiseLike<Slice<KeyRecord>> | Slice<KeyRecord>;

/** The ids of a listing, part by part. */
async function idsInParts(list: ListPart, limit: number): Promise<string[][]> {
  const parts: string[][] = [];
  let after: string | null = null;
  do {
    const part: Slice<KeyRecord> = await list({ after, limit });
    parts.push(part.items.map(({ keyId }) => keyId));
    after = part.next;
  } while (after !== null && parts.length < 50);
  return parts;
}

describeMysql.each(['mysql2 pool', 'mariadb pool'])('listings over a %s', SLOW, (kind) => {
  const place = usePlace(kind);

  test.each([
    '',
    'all',
    'expiring.5',
    'expiring.x.y',
    `all.${'x'.repeat(37)}`,
    '0e0e0e0e-0000-4000-8000-00000000000e',
    5,
    {},
  ])('reject the cursor %j', async (after) => {
    const all = async () => place.store.listAll({ after: after as string, limit: 5 });
    await expect(all).rejects.toThrow(TypeError);
    await expect(all).rejects.toThrow('listAll: after: pass `next` of the previous part');
    const query = { before: 9, after: after as string, limit: 5 };
    const expiring = async () => place.store.listExpiring(query);
    await expect(expiring).rejects.toThrow('listExpiring: after: pass `next`');
  });

  test('reject the cursor of the other listing', async () => {
    for (const n of [0, 1]) await place.store.insert({ ...another(n), expiresAt: 50 });
    const { next: all } = await place.store.listAll({ after: null, limit: 1 });
    const { next: expiring } = await place.store.listExpiring({
      before: 999,
      after: null,
      limit: 1,
    });
    const one = async () => place.store.listAll({ after: expiring, limit: 5 });
    const other = async () => place.store.listExpiring({ before: 999, after: all, limit: 5 });
    await expect(one).rejects.toThrow('listAll: after');
    await expect(other).rejects.toThrow('listExpiring: after');
  });
});

describeMysql('listings with damaged rows', SLOW, () => {
  // The driver, configured to throw on a number that JavaScript cannot hold, lost the whole page.
  const place = usePlace('mariadb pool', { bigIntAsNumber: true, checkNumberRange: true });

  test.each([
    ["key_id = 'ABC'", 'ABC'],
    ["key_id = ''", ''],
    ["entity_id = ''", another(1).keyId],
    ['created_at = 1 << 60', another(1).keyId],
    ['changed_at = -(1 << 60)', another(1).keyId],
    ['last_used_at = 1 << 60', another(1).keyId],
    ["digest = X'FF00'", another(1).keyId],
    ["scopes_used = 'none'", another(1).keyId],
  ])('contain the other rows: %s', async (damage, keyId) => {
    const { store, rows } = place;
    const records = [0, 1, 2].map((index) => ({ ...another(index), expiresAt: 50 }));
    for (const record of records) await store.insert(record);
    for (const trigger of ['update', 'marks', 'delete']) {
      await rows(`DROP TRIGGER IF EXISTS keyscope_keys_${trigger}`);
    }
    await ignoreChecks(place);
    await rows(`UPDATE keyscope_keys SET ${damage} WHERE key_id = '${another(1).keyId}'`);
    const ids = [another(0).keyId, another(2).keyId, keyId].sort();
    const all = await idsInParts((query) => store.listAll(query), 1);
    expect(all.flat().sort()).toEqual(ids);
    const expiring = (query: SliceQuery) => store.listExpiring({ before: 60, ...query });
    expect((await idsInParts(expiring, 1)).flat().sort()).toEqual(ids);
    await store.summarize(5);
    await store.mark(another(2).keyId, revokeAt(7));
    const changed = await store.listChanged({ since: 7, limit: 9 });
    expect(changed).toContainEqual({ keyId: another(2).keyId, changedAt: 7 });
    await rows('DELETE FROM keyscope_keys');
  });
});
