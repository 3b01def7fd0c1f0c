/** Calls of a key that ends, or whose chain ends, while the call runs. */
import type { KeyringEvent, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  denied,
  HOUR,
  OTHER,
  PEPPER,
  PEPPER_2,
  PLAIN,
  type Ring,
  type RingOptions,
  rowOf,
  START,
  setUp,
  storeError,
  wrap,
} from '../support/keyring.ts';
import { GRANT, leftIn, OVERLAP, rotated, under } from '../support/lineages.ts';
import { type Moment, meanwhile } from '../support/managing.ts';

const EXPIRY = START + 9 * HOUR;
const WIDE = {
  name: 'ci',
  scopes: ['threats:read'],
  expiresAt: new Date(EXPIRY),
  accessibleEntities: [OTHER],
} as const;
const ADA = { ...AUTHORITY, actor: 'ada', reason: 'doubt' } as const;

type Setting = Awaited<ReturnType<typeof arrange>>;
type Id = 'manager' | 'next' | 'child' | 'renewed' | 'suspended';

/** A manager and its rotation, a key that it issued and its rotation, and a suspended one. */
async function arrange(options: RingOptions = {}) {
  const inner = memoryStore();
  const ring = setUp({ ...options, store: inner });
  const { keyring } = ring;
  const manager = (await keyring.issue(WIDE, GRANT)).info.keyId;
  const child = (await keyring.issue(WIDE, under(manager))).info.keyId;
  const suspended = (await keyring.issue(WIDE, under(manager))).info.keyId;
  await keyring.suspend(suspended, ADA);
  const rotate = async (keyId: string) => {
    return (await keyring.rotate(keyId, OVERLAP, GRANT)).info.keyId;
  };
  const next = await rotate(manager);
  const renewed = await rotate(child);
  const ids: Readonly<Record<Id, string>> = { manager, next, child, renewed, suspended };
  /** Edits of rows by hand; null deletes the row. */
  const edits = new Map<string, object | null>();
  const edited = wrap(inner, (method, [keyId], call) => {
    const answer = call();
    const edit = method === 'findById' ? edits.get(String(keyId)) : undefined;
    return edit === undefined || answer === null ? answer : edit && { ...answer, ...edit };
  });
  return { ...ring, inner, edited, edits, ids, options };
}

/** A call under a key: who makes it, the first rows on which it depends, and its write. */
interface UnderKey {
  readonly acting: Id;
  readonly firsts: readonly Id[];
  readonly write: 'insert' | 'mark';
  readonly call: (keyring: Ring, ids: Readonly<Record<Id, string>>) => Promise<unknown>;
}

const CALLS = {
  issue: {
    acting: 'next',
    firsts: ['manager'],
    write: 'insert',
    call: (keyring, { next }) => keyring.issue(WIDE, under(next)),
  },
  rotate: {
    acting: 'renewed',
    firsts: ['child', 'manager'],
    write: 'insert',
    call: (keyring, { renewed }) => keyring.rotate(renewed, OVERLAP, under(renewed)),
  },
  resume: {
    acting: 'next',
    firsts: ['manager'],
    write: 'mark',
    call: (keyring, { next, suspended }) => keyring.resume(suspended, under(next)),
  },
} as const satisfies Readonly<Record<string, UnderKey>>;

type Name = keyof typeof CALLS;

/** Something that happens to a key between the two reads. */
type Happening = (given: Setting, keyId: string) => unknown;

const clear = { revokedAt: null, endedBy: null, endReason: null };

const REVOKED: Happening = ({ keyring }, keyId) => keyring.revoke(keyId, AUTHORITY);
const DELETED: Happening = ({ edits }, keyId) => edits.set(keyId, null);
const EDITED: Happening = ({ edits }, keyId) => edits.set(keyId, { name: 'other' });

/** Happenings to the key that makes the call. */
const ENDS: Readonly<Record<string, Happening>> = {
  'is revoked': REVOKED,
  'is suspended': ({ keyring }, keyId) => keyring.suspend(keyId, AUTHORITY),
  expires: ({ clock }) => clock.set(EXPIRY),
  'is deleted': DELETED,
  'is edited': EDITED,
};

/** Happenings after which it can grant less. They do not matter to `resume`. */
const LOSSES: Readonly<Record<string, Happening>> = {
  'is rotated, so that it ends earlier': ({ keyring }, keyId) => rotated(keyring, keyId),
  'loses an entity': ({ keyring }, keyId) => keyring.withdraw(keyId, { entityId: OTHER }),
};

/** Happenings to the first row of a chain. */
const SWITCHED_OFF: Readonly<Record<string, Happening>> = {
  'is revoked': REVOKED,
  'is marked as revoked by hand': ({ edits }, keyId) => edits.set(keyId, { revokedAt: START }),
  'is deleted': DELETED,
  'is edited': EDITED,
  'is revoked and has its mark cleared': async (given, keyId) => {
    await REVOKED(given, keyId);
    given.edits.set(keyId, clear);
  },
};

/** Runs a call in which something happens before or after its write. Returns what it wrote. */
function race(given: Setting, { write, call }: UnderKey, when: Moment['when'], act: () => unknown) {
  const inserted: string[] = [];
  const noting = wrap(given.edited, (method, [row], run) => {
    if (method === 'insert') inserted.push((row as { readonly keyId: string }).keyId);
    return run();
  });
  const store = meanwhile(noting, { when, method: write }, async () => act());
  const { keyring, events } = setUp({ ...given.options, store, now: given.clock.now });
  return { events, inserted, run: () => call(keyring, given.ids) };
}

const GRANTED: readonly KeyringEvent['type'][] = ['key.issued', 'key.rotated', 'key.resumed'];

/** Asserts that a call was undone: what it made has ended, what it resumed is suspended again. */
async function expectUndone(
  { keyring, inner, ids }: Setting,
  { events, inserted }: Pick<ReturnType<typeof race>, 'events' | 'inserted'>,
  write: UnderKey['write'],
): Promise<void> {
  expect(events.filter(({ type }) => GRANTED.includes(type))).toEqual([]);
  expect(inserted).toHaveLength(write === 'insert' ? 1 : 0);
  for (const keyId of inserted) {
    const info = await keyring.get(keyId, AUTHORITY);
    expect(info).toMatchObject({ state: 'revoked', tampered: false });
  }
  const row = await rowOf(inner, ids.suspended);
  if (row.revokedAt !== null) return;
  expect(row).toMatchObject({ endedBy: 'ada', endReason: 'doubt' });
  expect(row.suspendedAt).not.toBeNull();
}

async function expectRefused(name: Name, of: Id, happening: Happening, options = {}) {
  const given: UnderKey = CALLS[name];
  for (const when of ['before', 'after'] as const) {
    const setting = await arrange(options);
    const { ids, inner } = setting;
    const raced = race(setting, given, when, () => happening(setting, ids[of]));
    const error = await denied(raced.run, 'conflict', 'issuer_ended');
    expect(error.keyId).toBe(ids[given.acting]);
    await expectUndone(setting, raced, given.write);
    // Nor has `rotate` retired the key that stays.
    const made = (await leftIn(inner)).filter((keyId) => raced.inserted.includes(keyId));
    expect(made).toEqual([]);
    const { retireAt } = await rowOf(inner, ids.renewed);
    if (happening !== LOSSES['is rotated, so that it ends earlier']) expect(retireAt).toBeNull();
  }
}

const each = (table: Readonly<Record<string, Happening>>) => Object.entries(table);

describe.each(Object.keys(CALLS) as Name[])('%s under a key', (name) => {
  const { acting, firsts }: UnderKey = CALLS[name];

  it.each(each(ENDS))('is undone if the key %s meanwhile', async (_what, happening) => {
    await expectRefused(name, acting, happening);
  });

  describe.each(firsts)('and a chain that begins with the %s', (first) => {
    // A thief who had rotated the leaked key kept a live one that nobody had listed.
    it.each(each(SWITCHED_OFF))('is undone if that key %s meanwhile', async (_what, happening) => {
      await expectRefused(name, first, happening);
    });

    it('is undone without peppers too if that key is of another entity', async () => {
      const foreign: Happening = ({ edits }, keyId) => edits.set(keyId, { entityId: OTHER });
      await expectRefused(name, first, foreign, { peppers: 'none' });
    });
  });

  it('is undone, with the error of the store, if the store fails in the second read', async () => {
    const given: UnderKey = CALLS[name];
    const setting = await arrange();
    let isFailing = false;
    const failing: KeyStore = {
      ...setting.edited,
      findById: (...args) => {
        if (!isFailing) return setting.edited.findById(...args);
        isFailing = false;
        throw new Error('connection lost');
      },
    };
    const through = { ...setting, edited: failing };
    const raced = race(through, given, 'after', () => {
      isFailing = true;
    });
    await storeError(raced.run);
    await expectUndone(setting, raced, given.write);
  });

  it('passes if the first key of the chain retires or loses its pepper meanwhile', async () => {
    const both = [PEPPER_2, PEPPER];
    const setting = await arrange();
    const { store, clock, ids } = setting;
    const later = setUp({ store, now: clock.now, peppers: both }).keyring;
    const next = (await later.rotate(ids.next, OVERLAP, GRANT)).info.keyId;
    const renewed = (await later.rotate(ids.renewed, OVERLAP, GRANT)).info.keyId;
    clock.advance(2 * HOUR);
    const last = setUp({ store, now: clock.now, peppers: [PEPPER_2] });
    expect(await last.keyring.get(ids.manager, AUTHORITY)).toMatchObject({ state: 'orphaned' });
    if (name === 'resume') {
      const issued = await last.keyring.issue(WIDE, under(next));
      await last.keyring.suspend(issued.info.keyId, AUTHORITY);
      await last.keyring.resume(issued.info.keyId, under(next));
    } else await CALLS[name].call(last.keyring, { ...ids, next, renewed });
    expect(last.events.filter(({ type }) => GRANTED.includes(type))).not.toEqual([]);
  });

  it('is refused if the first key of the chain lost its pepper and is marked', async () => {
    const orphaned: Happening = ({ edits }, keyId) =>
      edits.set(keyId, { digest: `h1.gone$${'ab'.repeat(32)}`, revokedAt: START });
    for (const first of firsts) await expectRefused(name, first, orphaned);
  });
});

describe.each(['issue', 'rotate'] as const)('%s under a key', (name) => {
  it('is undone if the key ends with its lineage meanwhile', async () => {
    const revokeLineage: Happening = ({ keyring }, keyId) =>
      keyring.revokeLineage(keyId, AUTHORITY);
    await expectRefused(name, CALLS[name].acting, revokeLineage);
  });

  it.each(each(LOSSES))('is undone if the key %s meanwhile', async (_what, happening) => {
    await expectRefused(name, CALLS[name].acting, happening);
  });
});

describe('resume under a key', () => {
  it.each(each(LOSSES))('passes if the key %s meanwhile', async (_what, happening) => {
    const setting = await arrange();
    const { keyring, ids } = setting;
    const given = CALLS.resume;
    await race(setting, given, 'before', () => happening(setting, ids.next)).run();
    expect(await keyring.get(ids.suspended, AUTHORITY)).toMatchObject({ state: 'live' });
  });
});

describe('a call without a key', () => {
  it('does not depend on the first row of the chain', async () => {
    const { keyring, ids } = await arrange();
    await keyring.revoke(ids.manager, AUTHORITY);
    await keyring.issue(PLAIN, AUTHORITY);
    await keyring.rotate(ids.renewed, OVERLAP, GRANT);
    await keyring.resume(ids.suspended, AUTHORITY);
  });
});
