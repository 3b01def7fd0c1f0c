/** Keys that another key issued: they end with its chain. */
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  denied,
  issue,
  PEPPER,
  PEPPER_2,
  rowOf,
  setUp,
  tampering,
} from '../support/keyring.ts';
import {
  EVE,
  GRANT,
  idsOfChain,
  injected,
  issueUnder,
  leftIn,
  OVERLAP,
  rotated,
  under,
} from '../support/lineages.ts';

/** A manager and its rotation, keys that they issued, a rotation of one, and another chain. */
async function family() {
  const ring = setUp();
  const { keyring } = ring;
  const [manager = ''] = await idsOfChain(keyring, 1);
  const child = await issueUnder(keyring, manager);
  const next = await rotated(keyring, manager);
  const late = await issueUnder(keyring, next);
  const renewed = await rotated(keyring, child);
  const [other = '', stranger = ''] = await idsOfChain(keyring, 2);
  const cousin = await issueUnder(keyring, stranger);
  return { ...ring, ids: { manager, next, child, renewed, late, other, stranger, cousin } };
}

type Name = keyof Awaited<ReturnType<typeof family>>['ids'];

const MANAGERS: readonly Name[] = ['manager', 'next'];
const CHILD: readonly Name[] = ['child', 'renewed'];
const OTHERS: readonly Name[] = ['other', 'stranger', 'cousin'];

describe('issuedUnder', () => {
  it('is the first key of the chain of the key that issued this one, or null', async () => {
    const { keyring, store, ids } = await family();
    for (const name of [...CHILD, 'late'] as const) {
      expect((await rowOf(store, ids[name])).issuedUnder).toBe(ids.manager);
      expect(await keyring.get(ids[name], AUTHORITY)).toMatchObject({ issuedUnder: ids.manager });
    }
    expect((await rowOf(store, ids.cousin)).issuedUnder).toBe(ids.other);
    for (const name of MANAGERS) expect((await rowOf(store, ids[name])).issuedUnder).toBeNull();
  });

  it('is copied by every rotation, a person’s too', async () => {
    const { keyring, ids } = await family();
    const byItself = await keyring.rotate(ids.late, OVERLAP, under(ids.late));
    const byPerson = await keyring.rotate(byItself.info.keyId, OVERLAP, GRANT);
    for (const { info } of [byItself, byPerson]) {
      expect(info).toMatchObject({ issuedUnder: ids.manager, rootKeyId: ids.late });
    }
  });

  it('is under the seal', async () => {
    const { keyring, store } = setUp();
    const manager = await issue(keyring);
    const { key } = await keyring.issue(
      { name: 'ci', scopes: [], expiresAt: 'never' },
      under(manager.info.keyId),
    );
    await keyring.verify(key);
    for (const issuedUnder of [null, crypto.randomUUID()]) {
      const edited = tampering(store, (row) => ({ ...row, issuedUnder }));
      const { keyring: through } = setUp({ store: edited });
      await denied(() => through.verify(key), 'invalid_token', 'record_tampered');
    }
  });
});

describe('revokeLineage', () => {
  async function expectEnded(from: Name, expected: readonly Name[]): Promise<void> {
    const { keyring, store, events, ids } = await family();
    events.length = 0;
    const ended = await keyring.revokeLineage(ids[from], EVE);
    const all = Object.keys(ids) as Name[];
    const nameOf = (keyId: string | null) => all.find((name) => ids[name] === keyId);
    expect(ended.map(nameOf).sort()).toEqual([...expected].sort());
    expect(events.map(({ keyId }) => nameOf(keyId))).toEqual(ended.map(nameOf));
    const left = (await leftIn(store)).map(nameOf);
    expect(left.sort()).toEqual(all.filter((name) => !expected.includes(name)).sort());
    events.length = 0;
    expect(await keyring.revokeLineage(ids[from], EVE)).toEqual([]);
    expect(events).toEqual([]);
  }

  it.each(MANAGERS)('ends everything that the chain of the %s issued', async (from) => {
    await expectEnded(from, [...MANAGERS, ...CHILD, 'late']);
  });

  // A reported leaf used to end the key that issued it, and so everybody else's keys.
  it.each(CHILD)(
    'ends neither the key that issued the %s nor the others that it issued',
    async (from) => {
      await expectEnded(from, CHILD);
    },
  );

  it('ends a key that was issued and never rotated, alone', async () => {
    await expectEnded('late', ['late']);
    await expectEnded('cousin', ['cousin']);
    await expectEnded('other', OTHERS);
  });

  it('ends the first key of the chain before what the chain issued', async () => {
    const { keyring, ids } = await family();
    const [first] = await keyring.revokeLineage(ids.next, EVE);
    expect(first).toBe(ids.manager);
  });

  it('ends what a key issued that has ended itself', async () => {
    const { keyring, store, ids } = await family();
    await keyring.revoke(ids.manager, AUTHORITY);
    await keyring.revoke(ids.next, AUTHORITY);
    const ended = await keyring.revokeLineage(ids.next, EVE);
    expect([...ended].sort()).toEqual([ids.child, ids.renewed, ids.late].sort());
    expect(await leftIn(store)).toEqual(OTHERS.map((name) => ids[name]).sort());
  });

  it('ends suspended keys too, so that nobody can resume them', async () => {
    const { keyring, store, ids } = await family();
    await keyring.suspend(ids.late, AUTHORITY);
    await keyring.suspend(ids.next, AUTHORITY);
    await keyring.revokeLineage(ids.manager, EVE);
    for (const name of ['late', 'next'] as const) {
      const act = () => keyring.resume(ids[name], AUTHORITY);
      await denied(act, 'conflict', 'already_ended');
      expect((await rowOf(store, ids[name])).endedBy).toBe('eve');
    }
  });

  it('ends keys whose issuer was made under a pepper that is gone', async () => {
    const { keyring, store, clock } = setUp();
    const [manager = ''] = await idsOfChain(keyring, 1);
    const child = await issueUnder(keyring, manager);
    const both = setUp({ store, now: clock.now, peppers: [PEPPER_2, PEPPER] }).keyring;
    const next = await rotated(both, manager);
    const late = await issueUnder(both, next);
    const later = setUp({ store, now: clock.now, peppers: [PEPPER_2] });
    const ended = await later.keyring.revokeLineage(next, EVE);
    expect([...ended].sort()).toEqual([manager, child, next, late].sort());
    expect(ended[0]).toBe(manager);
    expect(await leftIn(store)).toEqual([]);
  });

  // A row that was edited to be in the lineage led the call to the other keys of its true issuer.
  it('follows no field of a row that was edited to be in the lineage', async () => {
    const { keyring, store, ids } = await family();
    const edited = injected({ issuedUnder: ids.manager, rootKeyId: ids.other });
    await store.insert(edited);
    const ended = await keyring.revokeLineage(ids.manager, EVE);
    expect(ended).toContain(edited.keyId);
    expect(await leftIn(store)).toEqual(OTHERS.map((name) => ids[name]).sort());
  });

  it.each(['revoke', 'suspend'] as const)(
    'is the only call that descends: %s does not',
    async (call) => {
      const { keyring, ids } = await family();
      await keyring[call](ids.manager, AUTHORITY);
      for (const name of [...CHILD, 'next', 'late'] as const) {
        expect(await keyring.get(ids[name], AUTHORITY)).toMatchObject({ state: 'live' });
      }
    },
  );
});
