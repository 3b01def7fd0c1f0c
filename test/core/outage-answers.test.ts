import type { KeyRecord, KeyStore } from 'keyscope';
import { causeOf } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  denied,
  issue,
  type Method,
  OTHER,
  OWN,
  readThrough,
  returning,
  setUp,
  storeError,
  THIRD,
  tampering,
  wrap,
} from '../support/keyring.ts';
import { behind, OPERATIONS } from '../support/outages.ts';

describe('a store that answers in the wrong shape', () => {
  const nothing: readonly unknown[] = [undefined, 'rows', 7, {}, new Set()];
  const noRow: readonly unknown[] = [[], false, ...nothing];
  const noRows: readonly unknown[] = [null, ...nothing, [null], [undefined], ['row'], [7]];
  const noAnswer: readonly unknown[] = [null, [], 1, 'true', ...nothing];
  const wrong: Readonly<Record<string, readonly (readonly [Method, readonly unknown[]])[]>> = {
    verify: [['findByDigest', noRows]],
    admit: [['findByDigest', noRows]],
    identify: [['findByDigest', noRows]],
    get: [['findById', noRow]],
    revoke: [
      ['findById', noRow],
      ['mark', noAnswer],
    ],
    revokeLineage: [
      ['findById', noRow],
      ['mark', noAnswer],
      ['listLineage', noRows],
    ],
    suspend: [
      ['findById', noRow],
      ['mark', noAnswer],
    ],
    resume: [
      ['findById', noRow],
      ['mark', noAnswer],
    ],
    withdraw: [
      ['findById', noRow],
      ['mark', noAnswer],
    ],
    rotate: [
      ['findById', noRow],
      ['mark', noAnswer],
    ],
    list: [['list', noRows]],
    'list addressing': [['list', noRows]],
  };

  it.each(Object.keys(wrong))('is broken if the shape is wrong: %s', async (name) => {
    for (const [method, answers] of wrong[name] ?? []) {
      for (const answer of answers) {
        for (const give of [() => answer, async () => answer]) {
          const { keyring, known } = await behind((asked, _args, call) =>
            asked === method ? give() : call(),
          );
          const { message } = await storeError(async () => OPERATIONS[name]?.(keyring, known));
          expect(message).toBe(`store.${method} broke its contract; see KeyStore`);
        }
      }
    }
  });

  it.each(['list', 'list addressing'])(
    'is broken if it lists keys outside the query: %s',
    async (name) => {
      const listings: readonly ((rows: readonly KeyRecord[]) => unknown)[] = [
        () => [{}],
        (rows) => rows.map((row) => ({ ...row, prefix: 'acmf' })),
        (rows) => rows.map((row) => ({ ...row, entityId: THIRD, accessibleEntities: [THIRD] })),
        // The entity's own keys instead of those of others, and vice versa.
        (rows) => rows.map((row) => ({ ...row, entityId: row.entityId === OWN ? OTHER : OWN })),
        (rows) => Array.from({ length: 102 }, () => rows[0]),
      ];
      for (const listing of listings.slice(0, name === 'list' ? undefined : 2)) {
        const { keyring, known } = await behind((method, _args, call) => {
          const answer = call();
          return method === 'list' ? listing(answer as readonly KeyRecord[]) : answer;
        });
        const { message } = await storeError(async () => OPERATIONS[name]?.(keyring, known));
        expect(message).toBe('store.list returned more than it was asked for');
      }
    },
  );

  it('leads to a damaged key if a row of another entity was edited to address nobody', async () => {
    const { keyring, known } = await behind((method, _args, call) => {
      const answer = call();
      if (method !== 'list') return answer;
      const rows = answer as readonly KeyRecord[];
      return rows.map((row) => ({ ...row, accessibleEntities: [row.entityId] }));
    });
    const page = await OPERATIONS['list addressing']?.(keyring, known);
    expect(page).toMatchObject({ keys: [{ state: 'damaged' }], next: null });
  });

  it('leads to a damaged key for a malformed row, and that key is refused', async () => {
    const bad = (row: KeyRecord) => ({ ...row, scopes: ['*:*'] });
    const { keyring, known } = await behind((method, _args, call) => {
      if (method === 'findById') return bad(call() as KeyRecord);
      return method === 'list' ? (call() as readonly KeyRecord[]).map(bad) : call();
    });
    const damaged = { state: 'damaged', keyId: known.keyId, entityId: OWN };
    const { get, list, rotate, revoke } = OPERATIONS;
    expect(await get?.(keyring, known)).toEqual(damaged);
    expect(await list?.(keyring, known)).toEqual({ keys: [damaged], next: null });
    await denied(async () => rotate?.(keyring, known), 'conflict', 'record_tampered');
    // Whatever the row says, the key can be revoked.
    await revoke?.(keyring, known);
  });

  it('is broken if a row lacks its key id or its entity', async () => {
    const nameless: readonly object[] = [{ keyId: 7 }, { keyId: 'no uuid' }];
    for (const edit of [...nameless, { entityId: null }]) {
      const through = (store: KeyStore) => tampering(store, (row) => ({ ...row, ...edit }));
      const { key, keyring } = await readThrough(through);
      const { message } = await storeError(() => keyring.identify(key));
      expect(message).toBe('the store returned a row without its key id or entity');
    }
  });

  it('is broken if it reports an unwritten mark and the row does not have it', async () => {
    for (const name of ['revoke', 'revokeLineage', 'suspend', 'withdraw']) {
      const { keyring, known } = await behind((method, _args, call) =>
        method === 'mark' ? false : call(),
      );
      const { message } = await storeError(async () => OPERATIONS[name]?.(keyring, known));
      expect(message).toBe('store.mark broke its contract; see KeyStore');
    }
  });

  it('is broken if a lineage never shows revocations, and is not queried forever', async () => {
    let passes = 0;
    const { keyring, known } = await behind((method, args, call) => {
      const answer = call();
      if (method === 'mark') return true;
      if (method !== 'listLineage') return answer;
      passes += 1;
      return (answer as readonly KeyRecord[]).map((row) => ({ ...row, revokedAt: null, args }));
    });
    const { revokeLineage } = OPERATIONS;
    await storeError(async () => revokeLineage?.(keyring, known));
    expect(passes).toBe(2);
  });

  it('is broken if verify does not get a list of rows', async () => {
    for (const answer of [undefined, null, {}, 'row', 0, new Set()]) {
      const { key, keyring } = await readThrough((store) => returning(store, () => answer));
      await storeError(() => keyring.verify(key));
    }
  });

  it.each([null, undefined, 'row', 7])('is broken if verify gets a list of %j', async (row) => {
    const { key, keyring } = await readThrough((store) => returning(store, () => [row]));
    await storeError(() => keyring.verify(key));
  });

  it('is broken if its answer cannot be read', async () => {
    const unreadable = {
      get keyId(): string {
        throw new Error('h1.p1$00');
      },
    };
    for (const give of [() => unreadable, async () => unreadable]) {
      const store = wrap(memoryStore(), give);
      const error = await storeError(() => setUp({ store }).keyring.get(OWN, AUTHORITY));
      expect(error.message).toBe('store.findById failed: see causeOf');
      expect(causeOf(error)).toEqual(new Error('h1.p1$00'));
    }
  });

  it('is broken if the `then` of its answer cannot be read', async () => {
    const odd = Object.defineProperty({}, 'then', {
      get: () => {
        throw new Error('h1.p1$00');
      },
    });
    const store = wrap(memoryStore(), () => odd);
    await storeError(() => setUp({ store }).keyring.get(OWN, AUTHORITY));
  });

  it('is broken if it reports a failed insert, and no key is returned', async () => {
    const store = wrap(memoryStore(), (method, _args, call) =>
      method === 'insert' ? false : call(),
    );
    await storeError(() => issue(setUp({ store }).keyring));
  });

  it('is broken if a list of rows has a hole, and the key is not called bad', async () => {
    const inner = memoryStore();
    const { key } = await issue(setUp({ store: inner }).keyring);
    const holed = (rows: unknown) =>
      Object.assign(new Array<unknown>(2), { 1: (rows as unknown[])[0] });
    const store = wrap(inner, (method, _args, call) =>
      method === 'findByDigest' ? holed(call()) : call(),
    );
    await storeError(() => setUp({ store }).keyring.verify(key));
  });
});
