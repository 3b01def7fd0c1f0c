import {
  AccessError,
  canAddress,
  type DenialReason,
  digestKey,
  generateKey,
  hasScopes,
  type KeyRecord,
  type KeyStore,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readRecord } from '../../src/core/record.js';
import {
  ANSWERING,
  AUTHORITY,
  bearer,
  catalog,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PEPPER_2,
  PLAIN,
  readThrough,
  recording,
  returning,
  rowOf,
  START,
  setUp,
  storeError,
  THIRD,
  tampering,
  thrown,
  untyped,
  wrap,
} from '../support/keyring.ts';

/** Changes a single character of a key. */
const withCharacter = (key: string, at: number): string => {
  const other = key.charAt(at) === 'x' ? 'y' : 'x';
  return key.slice(0, at) + other + key.slice(at + 1);
};

afterEach(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

describe('the steps of verify', () => {
  const garbage: readonly (readonly [
    string,
    (key: string) => unknown,
    'malformed_key' | 'wrong_checksum',
  ])[] = [
    ['nothing', () => undefined, 'malformed_key'],
    ['null', () => null, 'malformed_key'],
    ['a number', () => 42, 'malformed_key'],
    ['a String object', (key) => new String(key), 'malformed_key'],
    ['a list of the key', (key) => [key], 'malformed_key'],
    [
      'an object that turns into the key',
      (key) => ({ toString: () => key, length: key.length }),
      'malformed_key',
    ],
    ['the empty text', () => '', 'malformed_key'],
    ['a megabyte', () => 'x'.repeat(1_000_000), 'malformed_key'],
    ['one character less', (key) => key.slice(0, -1), 'malformed_key'],
    ['one character more', (key) => `${key}0`, 'malformed_key'],
    ['another prefix', () => generateKey({ prefix: 'acmf' }), 'malformed_key'],
    [
      'a character outside the alphabet',
      (key) => `${key.slice(0, 10)}-${key.slice(11)}`,
      'malformed_key',
    ],
    ['a full-width digit', (key) => `${key.slice(0, 10)}\uff11${key.slice(11)}`, 'malformed_key'],
    ['an upper-case prefix', (key) => `ACME${key.slice(4)}`, 'malformed_key'],
    ['an entropy character changed', (key) => withCharacter(key, 12), 'wrong_checksum'],
    ['a checksum character changed', (key) => withCharacter(key, key.length - 1), 'wrong_checksum'],
  ];

  it.each(garbage)('refuse %s before the store is asked', async (_what, make, reason) => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const { key } = await issue(keyring);
    calls.length = 0;
    const error = await denied(() => keyring.verify(make(key)), 'invalid_token', reason);
    expect(calls).toEqual([]);
    expect(error.keyId).toBeUndefined();
  });

  it('hash nothing for garbage, and hash once for a key', async () => {
    const { getBuiltinModule } = process;
    const crypto = getBuiltinModule('node:crypto');
    let hashes = 0;
    const hash = (algorithm: string, data: string, encoding: 'hex') => {
      hashes += 1;
      return crypto.hash(algorithm, data, encoding);
    };
    // The module chooses its hash at load, so a fresh copy of it gets one that counts.
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(untypedModule({ hash }));
    vi.resetModules();
    const fresh = await import('keyscope');
    const { memoryStore: freshStore } = await import('keyscope/stores/memory');
    const keyring = fresh.createKeyring({
      prefix: 'acme',
      catalog,
      store: freshStore(),
      peppers: 'none',
    });
    const { key } = await keyring.issue({ name: 'n', scopes: [], expiresAt: 'never' }, AUTHORITY);
    hashes = 0;
    for (const [, make] of garbage) await thrown(() => keyring.verify(make(key)));
    expect(hashes).toBe(0);
    await keyring.verify(key);
    expect(hashes).toBe(1);
  });

  it('query the store once, with every candidate digest, whatever the outcome', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store, peppers: [PEPPER, PEPPER_2] });
    const { key } = await issue(keyring);
    calls.length = 0;
    await keyring.verify(key);
    await thrown(() => keyring.verify(generateKey({ prefix: 'acme' })));
    expect(calls).toEqual(['findByDigest', 'findByDigest']);
  });

  it('reveal nothing about the state of a wrong row, not even its key id', async () => {
    const edit = { digest: digestKey(generateKey({ prefix: 'acme' }), PEPPER), revokedAt: START };
    const { key, keyring } = await readThrough((store) =>
      tampering(store, (row) => ({ ...row, ...edit })),
    );
    const error = await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
    expect(error.keyId).toBeUndefined();
  });

  it('refuse a row of another prefix, for which no seal vouches without a pepper', async () => {
    for (const peppers of ['none', [PEPPER]] as const) {
      const edit = (row: KeyRecord) => ({ ...row, prefix: 'acmf' });
      const { key, info, keyring } = await readThrough((store) => tampering(store, edit), {
        peppers,
      });
      const error = await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
      expect(error.keyId).toBe(info.keyId);
    }
  });

  it('refuse a revoked key without reading the clock, so that no clock can revive it', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const { key, info } = await issue(keyring);
    await keyring.revoke(info.keyId, AUTHORITY);
    await denied(
      () => setUp({ store, now: () => Number.NaN }).keyring.verify(key),
      'invalid_token',
      'revoked',
    );
    await denied(
      () => setUp({ store, now: () => 0 }).keyring.verify(key),
      'invalid_token',
      'revoked',
    );
  });
});

/** `getBuiltinModule` is overloaded by module name. Here, one object replaces all modules. */
const untypedModule = (module: object): ReturnType<typeof process.getBuiltinModule> =>
  module as ReturnType<typeof process.getBuiltinModule>;

describe('verify', () => {
  it.each(ANSWERING)(
    'returns the frozen principal from a store that answers %s, and writes nothing',
    async (_how, through) => {
      const { store, calls } = recording(memoryStore());
      const { keyring } = setUp({ store: through(store) });
      const { key, info } = await keyring.issue(
        {
          name: 'ci',
          scopes: ['threats:read', 'threats:write'],
          expiresAt: new Date(START + HOUR),
          accessibleEntities: [OTHER],
          metadata: { team: 'a' },
        },
        { ...AUTHORITY, entities: [OTHER] },
      );
      calls.length = 0;
      const principal = await keyring.verify(key);
      expect({ ...principal }).toEqual({
        keyId: info.keyId,
        name: 'ci',
        entityId: OWN,
        accessibleEntities: [OWN, OTHER],
        scopes: ['threats:read', 'threats:write'],
        metadata: { team: 'a' },
        expiresAt: START + HOUR,
        via: 'key',
      });
      expect(calls).toEqual(['findByDigest']);
    },
  );

  it('gives every refusal the same bytes: status, headers and body', async () => {
    const { keyring, clock } = setUp();
    const authority = AUTHORITY;
    const soon = await keyring.issue(
      { name: 'n', scopes: [], expiresAt: new Date(START + 1) },
      authority,
    );
    const revoked = await issue(keyring);
    const suspended = await issue(keyring);
    const retired = await issue(keyring);
    await keyring.revoke(revoked.info.keyId, authority);
    await keyring.suspend(suspended.info.keyId, authority);
    await keyring.rotate(retired.info.keyId, { overlapMs: 0 }, authority);
    const edited = (edit: object) =>
      readThrough((store) => tampering(store, (row) => ({ ...row, ...edit })));
    const tampered = await edited({ name: 'other' });
    const later = await edited({ format: 2 });
    clock.advance(1);
    const unknown = generateKey({ prefix: 'acme' });
    const refused = (ring: typeof keyring, key: unknown, reason: DenialReason) =>
      denied(() => ring.verify(key), 'invalid_token', reason);
    const errors = [
      await refused(keyring, undefined, 'malformed_key'),
      await refused(keyring, withCharacter(unknown, 8), 'wrong_checksum'),
      await refused(keyring, unknown, 'unknown_key'),
      await refused(tampered.keyring, tampered.key, 'record_tampered'),
      await refused(later.keyring, later.key, 'unknown_format'),
      await refused(keyring, revoked.key, 'revoked'),
      await refused(keyring, suspended.key, 'suspended'),
      await refused(keyring, retired.key, 'retired'),
      await refused(keyring, soon.key, 'expired'),
      new AccessError('invalid_token', 'orphaned', { keyId: NOWHERE }),
    ];
    const answers = new Set(
      errors.map((error) => JSON.stringify(toResponse(error, { realm: 'acme' }))),
    );
    expect([...answers]).toHaveLength(1);
    expect([...answers][0]).toContain('"status":401');
    // The enumerable properties of the errors are the same too. Otherwise, a serializer would be an
    // oracle.
    expect(
      new Set(errors.map((error) => JSON.stringify({ ...error, text: error.message }))).size,
    ).toBe(1);
  });

  it('does not accept a digest as a key', async () => {
    const { keyring, store } = setUp();
    const { info } = await issue(keyring);
    const { digest, seal } = await rowOf(store, info.keyId);
    for (const stolen of [digest, seal, digest.slice(6), `acme_${digest.slice(6, 38)}`])
      await thrown(() => keyring.verify(stolen));
  });

  it('treats a clock that returns an invalid time as broken', async () => {
    for (const time of [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      -9e15,
      undefined,
      '1700000000000',
      10n,
    ]) {
      const { key, keyring } = await readThrough((store) => store);
      await keyring.verify(key);
      const odd = await readThrough((store) => store);
      const broken = setUp({ store: odd.store, now: () => time as number });
      await storeError(() => broken.keyring.verify(odd.key));
    }
  });

  it('checks the life cycle on each use, although the record is the same object', async () => {
    // If the answer were remembered with the seal, a key would outlive its deadline.
    const { keyring, clock } = setUp();
    const expiresAt = new Date(START + HOUR);
    const { key } = await keyring.issue({ name: 'n', scopes: [], expiresAt }, AUTHORITY);
    await keyring.verify(key);
    clock.set(START + HOUR);
    await denied(() => keyring.verify(key), 'invalid_token', 'expired');
  });
});

describe('verify on the very next request', () => {
  // Only the check of its seal and its principal are remembered with a record, never a decision.
  it.each(ANSWERING)('sees each mark, over a store that answers %s', async (_how, through) => {
    const { keyring, clock } = setUp({ store: through(memoryStore()) });
    const { key, info } = await keyring.issue(
      { ...PLAIN, accessibleEntities: [OTHER, THIRD] },
      { ...AUTHORITY, entities: [OTHER, THIRD] },
    );
    const { keyId } = info;
    const before = await keyring.verify(key);
    expect(before.accessibleEntities).toEqual([OWN, OTHER, THIRD]);
    await keyring.suspend(keyId, AUTHORITY);
    await denied(() => keyring.verify(key), 'invalid_token', 'suspended');
    await keyring.resume(keyId, AUTHORITY);
    await keyring.verify(key);
    await keyring.withdraw(keyId, { entityId: OTHER });
    const narrowed = await keyring.verify(key);
    expect(narrowed.accessibleEntities).toEqual([OWN, THIRD]);
    expect(canAddress(narrowed, OTHER)).toBe(false);
    const elsewhere = { operation: 'list', entityId: OTHER } as const;
    const act = () => keyring.admit(bearer(key), elsewhere);
    await denied(act, 'entity_forbidden', 'entity_not_accessible');
    await keyring.rotate(keyId, { overlapMs: HOUR }, { ...AUTHORITY, entities: [THIRD] });
    expect((await keyring.verify(key)).expiresAt).toBe(START + HOUR);
    clock.set(START + HOUR);
    await denied(() => keyring.verify(key), 'invalid_token', 'retired');
    clock.set(START);
    await keyring.revoke(keyId, AUTHORITY);
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
    // A principal does not change while a handler uses it.
    expect(before.accessibleEntities).toEqual([OWN, OTHER, THIRD]);
  });

  it('sees the mark of another process', async () => {
    const store = memoryStore();
    const here = setUp({ store }).keyring;
    const { key, info } = await issue(here);
    const there = setUp({ store }).keyring;
    await there.verify(key);
    await here.suspend(info.keyId, AUTHORITY);
    await denied(() => there.verify(key), 'invalid_token', 'suspended');
    await here.resume(info.keyId, AUTHORITY);
    await there.verify(key);
    await here.revoke(info.keyId, AUTHORITY);
    await denied(() => there.verify(key), 'invalid_token', 'revoked');
  });

  it('is answered by two keyrings independently, even if they share the row object', async () => {
    const inner = memoryStore();
    const { key, info } = await issue(setUp({ store: inner, peppers: 'none' }).keyring);
    // A row that the core froze itself is used unchanged, and shared.
    const shared = readRecord(await rowOf(inner, info.keyId)) as KeyRecord;
    const store = returning(inner, () => [shared]);
    const open = setUp({ store, peppers: 'none' }).keyring;
    const closed = setUp({ store }).keyring;
    const few = setUp({ store, peppers: 'none', catalog: untyped({ all: [], expand: () => [] }) });
    for (let round = 0; round < 2; round++) {
      expect(hasScopes(await open.verify(key), 'threats:read')).toBe(true);
      const unknown = await few.keyring.verify(key);
      expect(() => hasScopes(unknown, 'threats:read')).toThrow(TypeError);
      await denied(() => closed.verify(key), 'invalid_token', 'unknown_key');
    }
  });
});

describe('the look-up of verify', () => {
  const otherDigit = (first: string): string => (first === '$0' ? '$1' : '$0');

  it('refuses the row of another key', async () => {
    // Without the comparison, a store with a case-insensitive collation would admit another key.
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const mine = await issue(keyring);
    const other = await issue(keyring);
    const row = await rowOf(store, other.info.keyId);
    for (const rows of [[row], [{ ...row }], [{ ...row, digest: row.digest.toUpperCase() }]]) {
      const wrong = setUp({ store: returning(store, () => rows) });
      await denied(() => wrong.keyring.verify(mine.key), 'invalid_token', 'unknown_key');
    }
  });

  // The key was admitted, and the extra row was ignored.
  it('treats an extra row as a broken store, whichever row comes first', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const mine = await issue(keyring);
    const own = await rowOf(store, mine.info.keyId);
    const foreign = await rowOf(store, (await issue(keyring)).info.keyId);
    for (const rows of [
      [own, foreign],
      [foreign, own],
      [own, own],
      [own, {}],
      [foreign, foreign],
    ]) {
      const wrong = setUp({ store: returning(store, () => rows) });
      await storeError(() => wrong.keyring.verify(mine.key));
    }
  });

  it.each([
    ['at the end', (text: string) => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`],
    ['in the first digit', (text: string) => text.replace(/\$./, otherDigit)],
    ['by a character less', (text: string) => text.slice(0, -1)],
    ['by a space more', (text: string) => `${text} `],
    ['in the pepper id', (text: string) => text.replace('p1', 'p2')],
  ])('refuses a digest that differs %s', async (_where, edit) => {
    const through = (store: KeyStore) =>
      tampering(store, (row) => ({ ...row, digest: edit(row.digest) }));
    const { key, keyring } = await readThrough(through);
    await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
  });

  it('treats two matches as a broken store', async () => {
    const twice = (rows: readonly KeyRecord[]) =>
      rows.flatMap((row) => [row, { ...row, keyId: NOWHERE }]);
    const { key, keyring } = await readThrough((store) => returning(store, twice));
    await storeError(() => keyring.verify(key));
    const same = await readThrough((store) => returning(store, (rows) => [...rows, ...rows]));
    await storeError(() => same.keyring.verify(same.key));
  });

  it('reads a list of rows as a list, even if it could pass for a promise', async () => {
    const inner = memoryStore();
    const { key, info } = await issue(setUp({ store: inner }).keyring);
    let forging = false;
    const spoof = (rows: unknown) => {
      const list = [...(rows as unknown[])];
      if (!forging) return Object.defineProperty(list, 'then', { value: 5 });
      // The first read is not a function; later reads are a forger.
      let asked = 0;
      const forge = (answer: (rows: unknown) => void): void => answer({ keyId: 'forged' });
      const get = (): unknown => {
        asked += 1;
        return asked === 1 ? undefined : forge;
      };
      return Object.defineProperty(list, 'then', { get });
    };
    const store = wrap(inner, (method, _args, call) =>
      method === 'findByDigest' ? spoof(call()) : call(),
    );
    const { keyring } = setUp({ store });
    expect((await keyring.verify(key)).keyId).toBe(info.keyId);
    forging = true;
    await denied(
      () => keyring.verify(generateKey({ prefix: 'acme' })),
      'invalid_token',
      'unknown_key',
    );
  });
});
