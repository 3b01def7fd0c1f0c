import type { KeyInfo, ListInput } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  ANSWERING,
  AUTHORITY,
  delayed,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PLAIN,
  type Ring,
  recording,
  rowOf,
  START,
  setUp,
  storeError,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

/** Every page from the first to the last. */
async function pages(
  keyring: Ring,
  limit: number,
  between: () => Promise<unknown> = async () => {},
) {
  const all: (readonly KeyInfo[])[] = [];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<Ring['list']>> = await keyring.list({ after, limit }, AUTHORITY);
    all.push(page.keys);
    after = page.next;
    await between();
  } while (after !== null);
  return all;
}

const ids = (list: readonly KeyInfo[]) => list.map(({ keyId }) => keyId);

describe('list', () => {
  it.each(ANSWERING)(
    'shows an entity’s keys, newest first, ended ones too, from a store that answers %s',
    async (_how, through) => {
      const { keyring, clock } = setUp({ store: through(memoryStore()) });
      const made: string[] = [];
      for (let count = 0; count < 5; count++) {
        made.unshift((await issue(keyring)).info.keyId);
        clock.advance(1);
      }
      await keyring.issue(PLAIN, { entityUuid: OTHER });
      const [first = '', second = ''] = made;
      await keyring.revoke(first, AUTHORITY);
      const successor = await keyring.rotate(second, { overlapMs: HOUR }, AUTHORITY);
      const { keys, next } = await keyring.list({}, AUTHORITY);
      expect(ids(keys)).toEqual([successor.info.keyId, ...made]);
      expect(next).toBeNull();
      expect(keys[1]?.revokedAt).toEqual(new Date(START + 5));
      expect(keys[2]?.retireAt).toEqual(new Date(START + 5 + HOUR));
      expect((await keyring.list({}, { entityUuid: OTHER })).keys).toHaveLength(1);
      expect(await keyring.list({}, { entityUuid: NOWHERE })).toEqual({ keys: [], next: null });
    },
  );

  it('shows neither digest nor seal, and Dates that are the caller’s own', async () => {
    const { keyring, store } = setUp();
    const { info } = await issue(keyring);
    const { digest, seal } = await rowOf(store, info.keyId);
    const { keys } = await keyring.list({}, AUTHORITY);
    expect(keys).toEqual([info]);
    for (const secret of [digest, digest.slice(6), String(seal)])
      expect(JSON.stringify(keys)).not.toContain(secret);
    keys[0]?.createdAt.setTime(0);
    expect((await keyring.list({}, AUTHORITY)).keys).toEqual([info]);
  });

  it.each([1, 2, 3, 7, 8, 9, 100])(
    'neither repeats nor skips a key in pages of %i, among equal times',
    async (limit) => {
      const { keyring, clock } = setUp();
      for (let index = 0; index < 8; index++) {
        await issue(keyring);
        if (index % 3 === 0) clock.advance(1);
      }
      const all = (await pages(keyring, limit)).map(ids);
      const lengths = all.map((page) => page.length);
      expect(lengths).toEqual(lengths.map((_, index) => Math.min(limit, 8 - index * limit)));
      expect(all.flat()).toEqual(ids((await keyring.list({}, AUTHORITY)).keys));
      expect(new Set(all.flat()).size).toBe(8);
    },
  );

  it('neither repeats nor skips while keys are added, rotated and revoked', async () => {
    // An offset instead of a position would repeat one key a page here.
    const { keyring, clock } = setUp();
    for (let index = 0; index < 6; index++) {
      await issue(keyring);
      clock.advance(1);
    }
    const before = ids((await keyring.list({}, AUTHORITY)).keys);
    const oldest = before.at(-1) ?? '';
    const seen = await pages(keyring, 2, async () => {
      clock.advance(1);
      await issue(keyring);
      await keyring.rotate(before[0] ?? '', { overlapMs: HOUR }, AUTHORITY).catch(() => {});
      await keyring.revoke(oldest, AUTHORITY);
    });
    expect(seen.flatMap(ids)).toEqual(before);
  });

  it('asks the store for one record more than the page', async () => {
    const { keyring } = setUp({
      store: wrap(memoryStore(), (method, args, call) => {
        if (method === 'list') expect(args).toEqual([{ entityUuid: OWN, after: null, limit: 101 }]);
        return call();
      }),
    });
    await keyring.list({}, AUTHORITY);
    await keyring.list({ after: null, limit: undefined }, AUTHORITY);
    await keyring.list(undefined, AUTHORITY);
    await keyring.list({ limit: 100 }, AUTHORITY);
  });

  const cursor = `${START.toString(36)}.${NOWHERE}`;
  it.each<readonly [ListInput | undefined | null | object, RegExp]>([
    [null, /list: pass an object/],
    [{ limit: 0 }, /limit: pass a whole number from 1 to 1000/],
    [{ limit: -1 }, /limit/],
    [{ limit: 1001 }, /limit/],
    [{ limit: 1.5 }, /limit/],
    [{ limit: '10' }, /limit/],
    [{ limit: Number.NaN }, /limit/],
    [{ limit: Number.POSITIVE_INFINITY }, /limit/],
    [{ offset: 0 }, /unknown field "offset"/],
    [{ entityUuid: OTHER }, /unknown field "entityUuid"/],
    [{ after: '' }, /after: pass `next`/],
    [{ after: 7 }, /after/],
    [{ after: {} }, /after/],
    [{ after: NOWHERE }, /after/],
    [{ after: `.${NOWHERE}` }, /after/],
    [{ after: `${cursor}.x` }, /after/],
    [{ after: `${cursor} ` }, /after/],
    [{ after: ` ${cursor}` }, /after/],
    [{ after: cursor.toUpperCase() }, /after/],
    [{ after: `0${cursor}` }, /after/],
    [{ after: `NaN.${NOWHERE}` }, /after/],
    [{ after: `Infinity.${NOWHERE}` }, /after/],
    [{ after: `${'z'.repeat(12)}.${NOWHERE}` }, /after/],
    [{ after: `1e9!.${NOWHERE}` }, /after/],
    [{ after: `${START.toString(36)}.' OR 1=1` }, /after/],
    [{ after: 'x'.repeat(1_000_000) }, /after/],
  ])('refuses odd input before the store is asked: case %#', async (input, message) => {
    const { store, calls } = recording(memoryStore());
    await typeError(() => setUp({ store }).keyring.list(untyped(input), AUTHORITY), message);
    expect(calls).toEqual([]);
  });

  it('accepts a cursor at the position of a key that never was', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    expect(
      ids(
        (await keyring.list({ after: `${(START + 1).toString(36)}.${NOWHERE}` }, AUTHORITY)).keys,
      ),
    ).toEqual([info.keyId]);
    expect((await keyring.list({ after: `0.${NOWHERE}` }, AUTHORITY)).keys).toEqual([]);
  });

  it('treats extra rows, or those of another entity, as a broken store', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    for (let index = 0; index < 4; index++) await issue(keyring);
    const { info } = await keyring.issue(PLAIN, { entityUuid: OTHER });
    const foreign = await rowOf(inner, info.keyId);
    const answers = (rows: (found: readonly unknown[]) => unknown) =>
      setUp({
        store: wrap(inner, (method, _args, call) =>
          method === 'list' ? rows(call() as unknown[]) : call(),
        ),
      }).keyring;
    await storeError(() => answers((found) => [...found, foreign]).list({}, AUTHORITY));
    await storeError(() => answers((found) => [...found, ...found]).list({ limit: 1 }, AUTHORITY));
    await storeError(() => answers((found) => [...found, {}]).list({}, AUTHORITY));
    await storeError(() => answers(() => null).list({}, AUTHORITY));
  });

  it('has no next page after one that is exactly full', async () => {
    const { keyring } = setUp();
    for (let count = 0; count < 2; count++) await issue(keyring);
    expect((await keyring.list({ limit: 2 }, AUTHORITY)).next).toBeNull();
    expect((await keyring.list({ limit: 1 }, AUTHORITY)).next).not.toBeNull();
  });
});

describe('get', () => {
  it('shows one key of the entity, and null for any other id', async () => {
    const { keyring } = setUp({ store: delayed(memoryStore()) });
    const { info } = await issue(keyring);
    expect(await keyring.get(info.keyId, AUTHORITY)).toEqual(info);
    expect(await keyring.get(info.keyId, { entityUuid: OTHER, entities: [OWN] })).toBeNull();
    for (const keyId of [
      NOWHERE,
      '',
      'no id',
      '*',
      info.keyId.toUpperCase(),
      `${info.keyId}\u0000`,
    ]) {
      expect(await keyring.get(keyId, AUTHORITY)).toBeNull();
    }
  });

  it('shows ended keys', async () => {
    const { keyring, clock } = setUp();
    const { info } = await issue(keyring);
    clock.advance(5);
    await keyring.revoke(info.keyId, AUTHORITY);
    expect(await keyring.get(info.keyId, AUTHORITY)).toEqual({
      ...info,
      revokedAt: new Date(START + 5),
    });
  });

  it.each([undefined, null, 7, {}])('refuses %j as a key id', async (keyId) => {
    await typeError(() => setUp().keyring.get(untyped(keyId), AUTHORITY), /keyId: pass a string/);
  });
});
