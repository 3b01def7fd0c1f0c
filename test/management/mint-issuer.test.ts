/** Keys that another key issued: they end with it. */
import type { KeyRecord, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER_2,
  PLAIN,
  type Ring,
  rowOf,
  START,
  setUp,
  tampering,
  typeError,
  untyped,
} from '../support/keyring.ts';
import { keysOf, type Moment, meanwhile } from '../support/managing.ts';
import { outcome } from '../support/outcome.ts';

const under = (keyId: string) => ({ ...AUTHORITY, keyId });
const OVERLAP = { overlapMs: HOUR } as const;

async function statesOf(keyring: Ring, keyIds: readonly string[]) {
  return Promise.all(keyIds.map(async (keyId) => (await keyring.get(keyId, AUTHORITY))?.state));
}

describe('issuedUnder', () => {
  it('is the root of the issuing key, under the seal', async () => {
    const { keyring, store } = setUp();
    const first = await issue(keyring);
    const manager = await keyring.rotate(first.info.keyId, OVERLAP, AUTHORITY);
    const child = await keyring.issue(PLAIN, under(manager.info.keyId));
    expect(child.info.issuedUnder).toBe(first.info.keyId);
    expect(first.info.issuedUnder).toBeNull();
    const rotated = await keyring.rotate(child.info.keyId, OVERLAP, AUTHORITY);
    expect(rotated.info.issuedUnder).toBe(first.info.keyId);
    const stranger = await issue(keyring);
    const taken = await keyring.rotate(stranger.info.keyId, OVERLAP, under(manager.info.keyId));
    expect(taken.info).toMatchObject({
      issuedUnder: first.info.keyId,
      rootKeyId: stranger.info.keyId,
    });
    const edited = tampering(store, (row) => ({ ...row, issuedUnder: null }));
    const { keyring: through } = setUp({ store: edited });
    await denied(() => through.verify(child.key), 'invalid_token', 'record_tampered');
  });
});

describe('authority.keyId', () => {
  it.each<readonly [string, string, (keyring: Ring, keyId: string, clock: Clock) => unknown]>([
    ['revoked', 'revoked', (keyring, keyId) => keyring.revoke(keyId, AUTHORITY)],
    ['suspended', 'suspended', (keyring, keyId) => keyring.suspend(keyId, AUTHORITY)],
    ['expired', 'expired', (_keyring, _keyId, clock) => clock.advance(HOUR)],
    ['retired', 'retired', (keyring, keyId) => keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY)],
  ])('is refused if the key is %s', async (_what, reason, end) => {
    const { keyring, store, clock } = setUp();
    const expiresAt = new Date(START + HOUR);
    const { info } = await keyring.issue({ ...PLAIN, expiresAt }, AUTHORITY);
    const stranger = await issue(keyring);
    await end(keyring, info.keyId, clock);
    const count = (await keysOf(store)).length;
    const act = () => keyring.issue(PLAIN, under(info.keyId));
    await denied(act, 'invalid_token', reason as 'revoked');
    const rotate = () => keyring.rotate(stranger.info.keyId, OVERLAP, under(info.keyId));
    await denied(rotate, 'invalid_token', reason as 'revoked');
    expect(await keysOf(store)).toHaveLength(count);
  });

  it.each<readonly [string, string, (row: KeyRecord) => object]>([
    ['edited', 'record_tampered', () => ({ name: 'other' })],
    ['of a later format', 'unknown_format', () => ({ format: 2 })],
    ['of another prefix', 'unknown_key', () => ({ prefix: 'other' })],
  ])('is refused if the row is %s', async (_what, reason, edit) => {
    const inner = memoryStore();
    const { info } = await issue(setUp({ store: inner }).keyring);
    const { keyring } = setUp({ store: tampering(inner, (row) => ({ ...row, ...edit(row) })) });
    const act = () => keyring.issue(PLAIN, under(info.keyId));
    await denied(act, 'invalid_token', reason as 'unknown_key');
  });

  it('is refused if its pepper is gone, or for another entity', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const { info } = await issue(keyring);
    const later = setUp({ store, peppers: [PEPPER_2] }).keyring;
    await denied(() => later.issue(PLAIN, under(info.keyId)), 'invalid_token', 'orphaned');
    await denied(() => keyring.issue(PLAIN, under(NOWHERE)), 'invalid_token', 'unknown_key');
    const theirs = {
      entityUuid: OTHER,
      entities: [OWN],
      scopes: 'all',
      keyId: info.keyId,
    } as const;
    await denied(() => keyring.issue(PLAIN, theirs), 'not_found', 'foreign_key');
    expect(await keysOf(store, OTHER)).toEqual([]);
  });

  it.each([7, '', 'x', OWN.toUpperCase(), {}])('causes a TypeError if it is %j', async (keyId) => {
    const act = () => setUp().keyring.issue(PLAIN, untyped({ ...AUTHORITY, keyId }));
    await typeError(act, /^authority\.keyId: pass the id of a key/);
  });
});

type Clock = ReturnType<typeof setUp>['clock'];

describe('a key that ends while it issues another one', () => {
  const moments: readonly Moment[] = [
    { when: 'after', method: 'findById' },
    { when: 'before', method: 'insert' },
    { when: 'after', method: 'insert' },
    { when: 'before', method: 'findById', nth: 2 },
  ];
  const ends = { revoke: 'revoke', revokeLineage: 'revokeLineage' } as const;

  it.each(Object.values(ends).flatMap((name) => moments.map((moment) => [name, moment] as const)))(
    'leaves no live key behind: %s at %j',
    async (name, moment) => {
      const inner = memoryStore();
      const { keyring } = setUp({ store: inner });
      const { info } = await issue(keyring);
      const store = meanwhile(inner, moment, () => keyring[name](info.keyId, AUTHORITY));
      const racing = setUp({ store });
      const act = () => racing.keyring.issue(PLAIN, under(info.keyId));
      await denied(act, 'conflict', 'issuer_ended');
      expect(racing.events.map(({ type }) => type)).not.toContain('key.issued');
      expect(await leftIn(inner)).toEqual([]);
    },
  );

  it('leaves no live key behind, whichever of the two calls is faster', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const { info } = await issue(keyring);
    const moment = { when: 'after', method: 'findById', nth: 2 } as const;
    const store = meanwhile(inner, moment, () => keyring.revokeLineage(info.keyId, AUTHORITY));
    // The issuer was live when it was read, so the key was issued, and the revocation saw it.
    expect(await outcome(() => setUp({ store }).keyring.issue(PLAIN, under(info.keyId)))).toBe(
      'passed',
    );
    expect(await leftIn(inner)).toEqual([]);
  });

  it('causes an outage and no key if the store fails then', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const { info } = await issue(keyring);
    const moment = { when: 'before', method: 'findById', nth: 2 } as const;
    const fail = async (): Promise<never> => {
      throw new Error('connection lost');
    };
    const racing = setUp({ store: meanwhile(inner, moment, fail) });
    expect(await outcome(() => racing.keyring.issue(PLAIN, under(info.keyId)))).toMatch(
      /^StoreError/,
    );
    expect(racing.events.map(({ type }) => type)).not.toContain('key.issued');
  });
});

async function leftIn(store: KeyStore): Promise<readonly string[]> {
  const rows = await keysOf(store);
  return rows.filter(({ revokedAt }) => revokedAt === null).map(({ keyId }) => keyId);
}

describe('revokeLineage, downward', () => {
  /** A manager and its rotation, a child of each, a grandchild, and a sibling of the manager. */
  async function family() {
    const ring = setUp();
    const { keyring } = ring;
    const owner = await issue(keyring);
    const manager = await keyring.issue(PLAIN, under(owner.info.keyId));
    const sibling = await keyring.issue(PLAIN, under(owner.info.keyId));
    const next = await keyring.rotate(manager.info.keyId, OVERLAP, under(manager.info.keyId));
    const child = await keyring.issue(PLAIN, under(manager.info.keyId));
    const late = await keyring.issue(PLAIN, under(next.info.keyId));
    const grandchild = await keyring.issue(PLAIN, under(child.info.keyId));
    const stranger = await issue(keyring);
    const ids = { owner, manager, sibling, next, child, late, grandchild, stranger };
    const idOf = (name: keyof typeof ids): string => ids[name].info.keyId;
    return { ...ring, keys: ids, idOf };
  }

  it('ends everything issued under the key or its rotations, and nothing above', async () => {
    const { keyring, idOf, events, keys } = await family();
    events.length = 0;
    const ended = await keyring.revokeLineage(idOf('next'), AUTHORITY);
    const below = ['manager', 'next', 'child', 'late', 'grandchild'] as const;
    expect([...ended].sort()).toEqual(below.map(idOf).sort());
    expect(events.map(({ keyId }) => keyId).sort()).toEqual(below.map(idOf).sort());
    for (const name of ['owner', 'sibling', 'stranger'] as const) {
      expect((await keyring.verify(keys[name].key)).keyId).toBe(idOf(name));
    }
    events.length = 0;
    expect(await keyring.revokeLineage(idOf('manager'), AUTHORITY)).toEqual([]);
    expect(events).toEqual([]);
  });

  // A reported leaf used to end the key that issued it, and so everybody else's keys.
  it('ends only a leaf', async () => {
    const { keyring, idOf } = await family();
    expect(await keyring.revokeLineage(idOf('grandchild'), AUTHORITY)).toEqual([
      idOf('grandchild'),
    ]);
    const names = ['owner', 'manager', 'child', 'late', 'sibling', 'stranger'] as const;
    expect(new Set(await statesOf(keyring, names.map(idOf)))).toEqual(new Set(['live']));
  });

  it('ends the keys that a management key rotated and so got access to', async () => {
    const { keyring, idOf } = await family();
    const taken = await keyring.rotate(idOf('stranger'), OVERLAP, under(idOf('manager')));
    const ended = await keyring.revokeLineage(idOf('manager'), AUTHORITY);
    expect(ended).toContain(taken.info.keyId);
  });

  // The call used to end the key that issued this one, and everything that key had issued.
  it('ends everything after a takeover by rotation, not what was before', async () => {
    const { keyring, idOf, clock } = await family();
    clock.advance(1);
    const taken = await keyring.rotate(idOf('owner'), OVERLAP, under(idOf('child')));
    const byTaken = await keyring.issue(PLAIN, under(taken.info.keyId));
    clock.advance(1);
    const again = await keyring.rotate(taken.info.keyId, OVERLAP, AUTHORITY);
    const ended = await keyring.revokeLineage(idOf('child'), AUTHORITY);
    const expected = [idOf('child'), idOf('grandchild'), taken, byTaken, again];
    const ids = expected.map((each) => (typeof each === 'string' ? each : each.info.keyId));
    expect([...ended].sort()).toEqual(ids.sort());
    const names = ['owner', 'manager', 'sibling', 'late', 'stranger'] as const;
    expect(new Set(await statesOf(keyring, names.map(idOf)))).toEqual(new Set(['live']));
  });

  it('is the only call that descends: suspend affects one key', async () => {
    const { keyring, idOf } = await family();
    await keyring.suspend(idOf('manager'), AUTHORITY);
    expect(await statesOf(keyring, [idOf('child'), idOf('grandchild')])).toEqual(['live', 'live']);
  });

  // A row that was edited to have another key's root ended that key. A row that was edited on an
  // ended predecessor hid the successor. Both were reported as success.
  it.each(['rootKeyId', 'issuedUnder'] as const)(
    'ignores the %s of an edited row',
    async (field) => {
      for (const victim of ['manager', 'child', 'sibling'] as const) {
        const { store, idOf, clock } = await family();
        const edited = tampering(store, (row) =>
          row.keyId === idOf(victim) ? { ...row, [field]: idOf('stranger') } : row,
        );
        const { keyring } = setUp({ store: edited, now: clock.now });
        const ended = await outcome(() => keyring.revokeLineage(idOf(victim), AUTHORITY));
        expect(ended).toMatch(/^StoreError/);
        expect((await rowOf(store, idOf('stranger'))).revokedAt).toBeNull();
        expect((await rowOf(store, idOf(victim))).revokedAt).not.toBeNull();
        // Its rotations name their predecessors themselves, under their seals.
        if (victim !== 'manager') continue;
        expect((await rowOf(store, idOf('next'))).revokedAt).not.toBeNull();
        expect((await rowOf(store, idOf('grandchild'))).revokedAt).not.toBeNull();
      }
    },
  );

  it('ignores a row that was edited to be in the lineage', async () => {
    const { store, idOf, clock } = await family();
    const victim = idOf('sibling');
    const edited = tampering(store, (row) =>
      row.keyId === victim
        ? { ...row, issuedUnder: idOf('manager'), rootKeyId: idOf('owner') }
        : row,
    );
    const listing: KeyStore = {
      ...edited,
      listLineage: async (root, options) => {
        const rows = await edited.listLineage(root, options);
        const row = await edited.findById(victim);
        return root === idOf('manager') && row !== null ? [...rows, row] : rows;
      },
    };
    const { keyring } = setUp({ store: listing, now: clock.now });
    await keyring.revokeLineage(idOf('manager'), AUTHORITY);
    // Its fields lead nowhere: the other keys of the owner stay live.
    expect((await rowOf(store, idOf('owner'))).revokedAt).toBeNull();
  });

  it('ends the predecessor of a damaged row only if a rotation has retired it', async () => {
    const { store, idOf, clock } = await family();
    const through = (edit: object) =>
      setUp({
        store: tampering(store, (row) => (row.keyId === idOf('next') ? { ...row, ...edit } : row)),
        now: clock.now,
      }).keyring;
    const pointing = through({ rotatedFrom: idOf('stranger') });
    expect(await outcome(() => pointing.revokeLineage(idOf('next'), AUTHORITY))).toMatch(/^Store/);
    expect((await rowOf(store, idOf('stranger'))).revokedAt).toBeNull();
    expect((await rowOf(store, idOf('manager'))).revokedAt).toBeNull();
    const renamed = through({ name: 'other' });
    expect(await outcome(() => renamed.revokeLineage(idOf('next'), AUTHORITY))).toMatch(/^Store/);
    expect((await rowOf(store, idOf('manager'))).revokedAt).not.toBeNull();
  });
});
