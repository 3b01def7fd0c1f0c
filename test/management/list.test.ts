import type { DamagedKey, KeyInfo, KeyRecord, ListInput, ListPage } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { editableMemory } from '../support/editable-stores.ts';
import {
  ANSWERING,
  AUTHORITY,
  delayed,
  HOUR,
  inputError,
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
  tampering,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { bring, LIFE_NAMES, LIVES } from '../support/lives.ts';
import { outcome } from '../support/outcome.ts';

type Shown = KeyInfo | DamagedKey;

const THEIRS = { ...AUTHORITY, entityId: OTHER } as const;

/** Every page from the first to the last. */
async function pages(
  keyring: Ring,
  limit: number,
  between: () => Promise<unknown> = async () => {},
) {
  const all: (readonly Shown[])[] = [];
  let after: string | null = null;
  do {
    const page: ListPage = await keyring.list({ after, limit }, AUTHORITY);
    all.push(page.keys);
    after = page.next;
    await between();
  } while (after !== null);
  return all;
}

const ids = (list: readonly Shown[]) => list.map(({ keyId }) => keyId);

/** Makes this many keys, some in the same millisecond, newest first. */
async function issueMany(keyring: Ring, clock: { advance(by: number): void }, count: number) {
  for (let index = 0; index < count; index++) {
    await issue(keyring);
    if (index % 3 === 0) clock.advance(1);
  }
  return ids((await keyring.list({}, AUTHORITY)).keys);
}

describe('list', () => {
  it.each(ANSWERING)(
    'shows an entity’s keys, newest first, including ended ones, from a store that answers %s',
    async (_how, through) => {
      const { keyring, clock } = setUp({ store: through(memoryStore()) });
      const made: string[] = [];
      for (let count = 0; count < 5; count++) {
        made.unshift((await issue(keyring)).info.keyId);
        clock.advance(1);
      }
      await keyring.issue(PLAIN, THEIRS);
      const [first = '', second = '', third = ''] = made;
      await keyring.revoke(first, AUTHORITY);
      const successor = await keyring.rotate(second, { overlapMs: HOUR }, AUTHORITY);
      await keyring.suspend(third, AUTHORITY);
      const { keys, next } = await keyring.list({}, AUTHORITY);
      expect(ids(keys)).toEqual([successor.info.keyId, ...made]);
      expect(next).toBeNull();
      expect(keys.slice(1)).toMatchObject([
        { state: 'revoked', revokedAt: new Date(START + 5) },
        { state: 'live', retireAt: new Date(START + 5 + HOUR) },
        { state: 'suspended', suspendedAt: new Date(START + 5) },
        { state: 'live' },
        { state: 'live' },
      ]);
      expect((await keyring.list({}, { entityId: OTHER })).keys).toHaveLength(1);
      expect(await keyring.list({}, { entityId: NOWHERE })).toEqual({ keys: [], next: null });
    },
  );

  it('shows neither digest nor seal, and Dates that the caller may change', async () => {
    const { keyring, store } = setUp();
    const { info } = await issue(keyring);
    const { digest, seal } = await rowOf(store, info.keyId);
    const { keys } = await keyring.list({}, AUTHORITY);
    expect(keys).toEqual([info]);
    for (const secret of [digest, digest.slice(6), String(seal)]) {
      expect(JSON.stringify(keys)).not.toContain(secret);
    }
    (keys[0] as KeyInfo).createdAt.setTime(0);
    expect((await keyring.list({}, AUTHORITY)).keys).toEqual([info]);
  });

  it.each([1, 2, 3, 7, 8, 9, 100])(
    'neither repeats nor skips a key in pages of %i, despite equal times',
    async (limit) => {
      const { keyring, clock } = setUp();
      const whole = await issueMany(keyring, clock, 8);
      const all = (await pages(keyring, limit)).map(ids);
      const lengths = all.map((page) => page.length);
      expect(lengths).toEqual(lengths.map((_, index) => Math.min(limit, 8 - index * limit)));
      expect(all.flat()).toEqual(whole);
      expect(new Set(all.flat()).size).toBe(8);
    },
  );

  it('neither repeats nor skips while keys are added, rotated, suspended and revoked', async () => {
    // An offset instead of a position would repeat one key per page here.
    const { keyring, clock } = setUp();
    const before = await issueMany(keyring, clock, 6);
    const oldest = before.at(-1) ?? '';
    const seen = await pages(keyring, 2, async () => {
      clock.advance(1);
      await issue(keyring);
      await keyring.rotate(before[0] ?? '', { overlapMs: HOUR }, AUTHORITY).catch(() => {});
      await keyring.suspend(before[1] ?? '', AUTHORITY);
      await keyring.revoke(oldest, AUTHORITY);
    });
    expect(seen.flatMap(ids)).toEqual(before);
  });

  it('asks the store for one record more than the page', async () => {
    const asked: unknown[] = [];
    const store = wrap(memoryStore(), (method, args, call) => {
      if (method === 'list') asked.push(args[0]);
      return call();
    });
    const { keyring } = setUp({ store });
    await keyring.list({}, AUTHORITY);
    await keyring.list({ after: null, limit: undefined, addressing: undefined }, AUTHORITY);
    await keyring.list(undefined, AUTHORITY);
    await keyring.list({ limit: 100, addressing: false }, AUTHORITY);
    const query = { prefix: 'acme', entityId: OWN, addressing: false, after: null, limit: 101 };
    expect(asked).toEqual(Array(4).fill(query));
  });

  it('accepts a cursor at the position of a key that never existed', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    const after = `${(START + 1).toString(36)}.${NOWHERE}`;
    expect(ids((await keyring.list({ after }, AUTHORITY)).keys)).toEqual([info.keyId]);
    expect((await keyring.list({ after: `0.${NOWHERE}` }, AUTHORITY)).keys).toEqual([]);
    expect((await keyring.list({ after: `-1.${NOWHERE}` }, AUTHORITY)).keys).toEqual([]);
  });

  it('has no next page after a last page that is exactly full', async () => {
    const { keyring } = setUp();
    for (let count = 0; count < 2; count++) await issue(keyring);
    expect((await keyring.list({ limit: 2 }, AUTHORITY)).next).toBeNull();
    expect((await keyring.list({ limit: 1 }, AUTHORITY)).next).not.toBeNull();
  });
});

describe('the input of list', () => {
  const cursor = `${START.toString(36)}.${NOWHERE}`;
  it.each<readonly [string, ListInput | null | object, RegExp]>([
    ['input', null, /^list: pass an object with after, limit, addressing$/],
    ['input', [], /^list: pass an object/],
    ['input', { offset: 0 }, /^list: unknown field "offset"/],
    ['input', { entityId: OTHER }, /^list: unknown field "entityId"/],
    ['input', { prefix: 'acme_eu' }, /^list: unknown field "prefix"/],
    ['input', Object.create({ limit: 1 }) as object, /^list: write limit as an own field/],
    ['limit', { limit: 0 }, /^limit: pass a whole number from 1 to 1000$/],
    ['limit', { limit: null }, /^limit/],
    ['limit', { limit: -1 }, /^limit/],
    ['limit', { limit: 1001 }, /^limit/],
    ['limit', { limit: 1.5 }, /^limit/],
    ['limit', { limit: '10' }, /^limit/],
    ['limit', { limit: Number.NaN }, /^limit/],
    ['limit', { limit: Number.POSITIVE_INFINITY }, /^limit/],
    ['addressing', { addressing: null }, /^addressing: pass true or false, not null$/],
    ['addressing', { addressing: 'true' }, /^addressing: pass true or false/],
    ['addressing', { addressing: 1 }, /^addressing: pass true or false/],
    ['after', { after: '' }, /^after: pass `next` of the previous page/],
    ['after', { after: 7 }, /^after/],
    ['after', { after: true }, /^after/],
    ['after', { after: {} }, /^after/],
    ['after', { after: Object.create(null) as unknown }, /./],
    ['after', { after: [cursor] }, /^after/],
    ['after', { after: NOWHERE }, /^after/],
    ['after', { after: `.${NOWHERE}` }, /^after/],
    ['after', { after: `${cursor}.x` }, /^after/],
    ['after', { after: `${cursor} ` }, /^after/],
    ['after', { after: ` ${cursor}` }, /^after/],
    ['after', { after: cursor.toUpperCase() }, /^after/],
    ['after', { after: `0${cursor}` }, /^after/],
    ['after', { after: `NaN.${NOWHERE}` }, /^after/],
    ['after', { after: `Infinity.${NOWHERE}` }, /^after/],
    ['after', { after: `${'z'.repeat(12)}.${NOWHERE}` }, /^after/],
    ['after', { after: `1e9!.${NOWHERE}` }, /^after/],
    ['after', { after: `${START.toString(36)}.' OR 1=1` }, /^after/],
    ['after', { after: 'x'.repeat(1_000_000) }, /^after/],
  ])('is refused with a malformed %s before any query: case %#', async (field, input, message) => {
    const { store, calls } = recording(memoryStore());
    const { keyring, events } = setUp({ store });
    await inputError(() => keyring.list(untyped(input), AUTHORITY), field, message);
    expect({ calls, events }).toEqual({ calls: [], events: [] });
  });
});

describe('a store that lists rows outside the query', () => {
  it('is broken if there are extra rows, rows of others, or values that are not rows', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    for (let index = 0; index < 4; index++) await issue(keyring);
    const { info } = await keyring.issue(PLAIN, THEIRS);
    const foreign = await rowOf(inner, info.keyId);
    const answers = (rows: (found: readonly KeyRecord[]) => unknown) =>
      setUp({
        store: wrap(inner, (method, _args, call) =>
          method === 'list' ? rows(call() as KeyRecord[]) : call(),
        ),
      }).keyring;
    await storeError(() => answers((found) => [...found, foreign]).list({}, AUTHORITY));
    await storeError(() => answers((found) => [...found, ...found]).list({ limit: 1 }, AUTHORITY));
    await storeError(() => answers((found) => [...found, {}]).list({}, AUTHORITY));
    await storeError(() => answers(() => null).list({}, AUTHORITY));
    for (const edit of [
      { prefix: 'acme_eu' },
      { prefix: undefined },
      { entityId: null },
      { keyId: 'none' },
      { keyId: null, name: 7 },
    ]) {
      const edited = answers(([first, ...others]) => [{ ...first, ...edit }, ...others]);
      await storeError(() => edited.list({}, AUTHORITY)).catch((error: unknown) => {
        throw new Error(JSON.stringify(edit), { cause: error });
      });
    }
  });

  // The engine's own error was thrown, which looked like a bug instead of an outage.
  it.each([undefined, null, 'yesterday', 1.5, Number.NaN, {}])(
    'is broken if a page ends with a row whose time is %j',
    async (createdAt) => {
      const inner = memoryStore();
      const { keyring, clock } = setUp({ store: inner });
      const whole = await issueMany(keyring, clock, 3);
      const edited = tampering(inner, (row) =>
        row.keyId === whole[0] ? { ...row, createdAt: untyped(createdAt) } : row,
      );
      const through = setUp({ store: edited }).keyring;
      await storeError(() => through.list({ limit: 1 }, AUTHORITY));
      // Elsewhere on a page, one bad row damages only that row.
      const { keys } = await through.list({ limit: 2 }, AUTHORITY);
      expect(keys).toMatchObject([{ state: 'damaged' }, { state: 'live' }]);
    },
  );
});

/** Edits that make a row unreadable, and the state that it then shows. */
const DAMAGES: readonly (readonly [string, object, DamagedKey['state']])[] = [
  ['a wildcard among its scopes', { scopes: ['*:*'] }, 'damaged'],
  ['a number as the name', { name: 7 }, 'damaged'],
  ['no digest', { digest: undefined }, 'damaged'],
  ['half a pair in its metadata', { metadata: { a: '\ud800' } }, 'damaged'],
  ['a time beyond the range of a Date', { expiresAt: 9e15 }, 'damaged'],
  ['a text as a mark', { suspendedAt: 'now' }, 'damaged'],
  ['entities without its own', { accessibleEntities: [OTHER] }, 'damaged'],
  ['its own entity withdrawn', { withdrawn: [OWN] }, 'damaged'],
  ['an earlier format than the first', { format: 0 }, 'damaged'],
  ['a format that is a text', { format: '2' }, 'damaged'],
  ['a later format', { format: 2 }, 'unknown_format'],
  ['a later format with other types', { format: 3, scopes: 'all', name: {} }, 'unknown_format'],
  ['a mark by hand', { scopes: ['*:*'], revokedAt: START }, 'damaged'],
  ['a mark by hand, in a later format', { format: 2, revokedAt: START }, 'unknown_format'],
  ['a revocation', { scopes: ['*:*'], revokedAt: START, seal: null }, 'revoked'],
  ['a revocation, in a later format', { format: 2, revokedAt: 5, seal: null }, 'revoked'],
  ['a mark that is not a time', { scopes: ['*:*'], revokedAt: 'soon' }, 'damaged'],
];

describe('a row that cannot be read', () => {
  it.each(DAMAGES)('hides no other row on any page: %s', async (_what, edit, state) => {
    const inner = memoryStore();
    const { keyring, clock } = setUp({ store: inner });
    const whole = await issueMany(keyring, clock, 5);
    const sound = (await keyring.list({}, AUTHORITY)).keys;
    for (const [position, keyId] of whole.entries()) {
      const edited = tampering(inner, (row) => (row.keyId === keyId ? { ...row, ...edit } : row));
      const through = setUp({ store: edited }).keyring;
      const expected = sound.with(position, untyped({ state, keyId, entityId: OWN }));
      for (const limit of [1, 2, 3, 4, 5, 6]) {
        expect((await pages(through, limit)).flat()).toEqual(expected);
      }
      expect(await through.get(keyId, AUTHORITY)).toStrictEqual({ state, keyId, entityId: OWN });
    }
  });

  it.each(DAMAGES)('can be revoked: %s', async (_what, edit) => {
    const { store, rows, edit: write } = await editableMemory();
    const { keyring } = setUp({ store });
    const { key, info } = await issue(keyring);
    await write(await rowOf(store, info.keyId), edit);
    await keyring.revoke(info.keyId, AUTHORITY);
    const found: { readonly revokedAt?: unknown } = edit;
    const [ended] = await rows();
    expect(ended).toMatchObject({ seal: null, revokedAt: found.revokedAt ?? START });
    const shown = { state: 'revoked', keyId: info.keyId, entityId: OWN };
    expect(await keyring.get(info.keyId, AUTHORITY)).toStrictEqual(shown);
    expect(await outcome(() => keyring.verify(key))).toMatch(/^invalid_token/);
  });

  it('still fills a page if all of its rows are damaged', async () => {
    const inner = memoryStore();
    const { keyring, clock } = setUp({ store: inner });
    const whole = await issueMany(keyring, clock, 4);
    const edited = tampering(inner, (row) => ({ ...row, scopes: ['*:*'] }));
    const all = (await pages(setUp({ store: edited }).keyring, 2)).flat();
    expect(all).toEqual(whole.map((keyId) => ({ state: 'damaged', keyId, entityId: OWN })));
  });
});

describe('get', () => {
  it('returns a key of the entity, and null for any other id', async () => {
    const { keyring } = setUp({ store: delayed(memoryStore()) });
    const { info } = await issue(keyring);
    expect(await keyring.get(info.keyId, AUTHORITY)).toEqual(info);
    expect(await keyring.get(info.keyId, { entityId: OTHER, entities: [OWN] })).toBeNull();
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

  it.each(LIFE_NAMES)('returns the same as list for a key that is %s', async (name) => {
    const { keyring, keyId } = await bring(name);
    const info = await keyring.get(keyId, AUTHORITY);
    expect(info?.state).toBe(LIVES[name].state);
    const { keys } = await keyring.list({}, AUTHORITY);
    expect(keys.find((each) => each.keyId === keyId)).toEqual(info);
  });

  it.each([undefined, null, 7, {}])('refuses %j as a key id', async (keyId) => {
    const act = () => setUp().keyring.get(untyped(keyId), AUTHORITY);
    await inputError(act, 'keyId', /^keyId: pass a string, not /);
  });

  it('rejects if the store is broken, and does not return null', async () => {
    const store = wrap(memoryStore(), () => {
      throw new Error('down');
    });
    await storeError(() => setUp({ store }).keyring.get(NOWHERE, AUTHORITY));
  });
});
