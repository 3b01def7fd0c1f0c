import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  dump,
  issue,
  PLAIN,
  recording,
  rowOf,
  setUp,
  thrown,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

describe('mint', () => {
  // Some serializers accept only plain objects.
  it('passes plain deep-frozen objects to the store', async () => {
    const rows: object[] = [];
    const store = wrap(memoryStore(), (method, args, call) => {
      if (method === 'insert') rows.push(args[0] as object);
      return call();
    });
    const { keyring } = setUp({ store });
    const { info } = await keyring.issue({ ...PLAIN, metadata: { a: '1' } }, AUTHORITY);
    await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    expect(rows).toHaveLength(2);
    for (const row of rows) {
      expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
      const values: readonly unknown[] = [row, ...Object.values(row as Record<string, unknown>)];
      const parts = values.filter((part) => typeof part === 'object' && part !== null);
      expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
    }
  });

  it('gets version 4 ids from the platform, whatever the source of randomness', async () => {
    const random = (length: number) => new Uint8Array(length).fill(0x5a);
    const made = [issue(setUp({ random }).keyring), issue(setUp({ random }).keyring)];
    const ids = (await Promise.all(made)).map(({ info }) => info.keyId);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('makes keys from the bytes of the configured source', async () => {
    const { keyring } = setUp({
      random: (length) => new Uint8Array(length).fill(0xff).fill(7, length / 2),
    });
    const { key } = await issue(keyring);
    expect(key.slice(5, 31)).toBe('7'.repeat(26));
  });

  it('writes the fields that never change, and no marks', async () => {
    const { keyring, store } = setUp();
    const { key, info } = await keyring.issue(PLAIN, { ...AUTHORITY, actor: 'ada' });
    expect(await rowOf(store, info.keyId)).toMatchObject({
      format: 1,
      prefix: 'acme',
      hint: key.slice(-4),
      createdBy: 'ada',
      rotatedFrom: null,
      rootKeyId: info.keyId,
      issuedUnder: null,
      trust: null,
      revokedAt: null,
      suspendedAt: null,
      retireAt: null,
      withdrawn: [],
      endedBy: null,
      endReason: null,
      changedAt: null,
      lastUsedAt: null,
      scopesUsed: {},
    });
  });

  // Only a key without a text waits for the second reading of its issuer.
  it('writes a key with a text in one step, also under a key', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const { info } = await issue(keyring);
    calls.length = 0;
    await keyring.issue(PLAIN, { ...AUTHORITY, keyId: info.keyId });
    expect(calls).toEqual(['findById', 'insert', 'findById']);
  });

  it('gives every rotation the root of its predecessor', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    let { keyId } = info;
    for (let count = 0; count < 3; count++) {
      const next = await keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY);
      expect(next.info).toMatchObject({ rotatedFrom: keyId, rootKeyId: info.keyId });
      keyId = next.info.keyId;
    }
  });

  // The hint is part of the checksum, so it reveals no more of the entropy than the checksum.
  it('stores only the hint of the plaintext, and never ten characters of it', async () => {
    const { keyring, store } = setUp();
    const scopes = ['threats:read', 'threats:delete'] as const;
    const input = { ...PLAIN, scopes, justification: 'j' };
    const { key, info } = await keyring.issue(input, AUTHORITY);
    const text = `${await dump(store)}${JSON.stringify(await rowOf(store, info.keyId))}`;
    expect(text).toContain(info.keyId);
    const secret = key.slice('acme_'.length);
    for (let index = 0; index + 10 <= secret.length; index++)
      expect(text).not.toContain(secret.slice(index, index + 10));
  });
});

describe('a source of randomness', () => {
  it.each([
    ['too few bytes', (length: number) => new Uint8Array(length - 1)],
    ['a list', (length: number) => Array.from({ length }, () => 1)],
    ['nothing', () => undefined],
    ['a promise', async (length: number) => new Uint8Array(length)],
    // 62 and 63 are not digits of base 62. Without a limit, they would be rejected forever.
    [
      'only bytes that rejection sampling drops',
      (length: number) => new Uint8Array(length).fill(63),
    ],
  ])('is refused if it returns %s, and nothing is stored', async (_what, random) => {
    const store = memoryStore();
    const { keyring } = setUp({ store, random: untyped(random) });
    await typeError(() => issue(keyring), /^random: /);
    expect((await keyring.list({}, AUTHORITY)).keys).toEqual([]);
  });

  it('cannot replace a key by repeating bytes: the store refuses the second key', async () => {
    const { keyring, store } = setUp({ random: (length) => new Uint8Array(length).fill(9) });
    const { key, info } = await issue(keyring);
    expect(String(await thrown(() => issue(keyring)))).toBe(
      'StoreError: store.insert failed: see causeOf',
    );
    expect((await keyring.verify(key)).keyId).toBe(info.keyId);
    expect(await store.findById(info.keyId)).not.toBeNull();
  });
});
