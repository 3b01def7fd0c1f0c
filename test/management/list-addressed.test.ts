/** The keys of others that address an entity, with only the fields that it needs. */
import type { AddressedKey, DamagedKey, KeyRecord, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PLAIN,
  type Ring,
  START,
  setUp,
  storeError,
  THIRD,
  tampering,
  untypedInput,
  wrap,
} from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';

const BROAD = { ...AUTHORITY, entities: [OTHER, THIRD] } as const;
const THEIRS = { entityId: OTHER } as const;

const issueBroad = (keyring: Ring) =>
  keyring.issue(untypedInput({ accessibleEntities: [OTHER, THIRD] }), BROAD);

const addressed = async (keyring: Ring, entityId: string = OTHER) =>
  (await keyring.list({ addressing: true }, { entityId })).keys;

/** A keyring over a store that returns the rows of the test. */
function listing(rows: readonly object[], inner: KeyStore = memoryStore()) {
  const store = wrap(inner, (method, _args, call) => (method === 'list' ? rows : call()));
  return setUp({ store, peppers: 'none' }).keyring;
}

/** A record in which every field says that others must not see it. */
const SECRETIVE: KeyRecord = {
  ...RECORD,
  prefix: 'acme',
  hint: 'KrPP',
  name: 'a name that they may see',
  digest: `s1$${'ca'.repeat(32)}`,
  accessibleEntities: [OWN, THIRD, OTHER, NOWHERE],
  scopes: ['threats:read', 'decoys:read'],
  justification: 'CANARY justification',
  metadata: { CANARY_name: 'CANARY metadata' },
  createdAt: START,
  createdBy: 'CANARY creator',
  expiresAt: START + HOUR,
  rotatedFrom: '0ca0ca0c-0000-4000-8000-0000000000f1',
  rootKeyId: '0ca0ca0c-0000-4000-8000-0000000000f2',
  issuedUnder: '0ca0ca0c-0000-4000-8000-0000000000f3',
  seal: null,
  revokedAt: null,
  suspendedAt: START - 1_111,
  retireAt: START + 2_222,
  withdrawn: [THIRD],
  endedBy: 'CANARY ender',
  endReason: 'CANARY reason',
  changedAt: START + 3_333,
  lastUsedAt: START + 4_444,
  scopesUsed: { 'threats:read': START + 5_555 },
};

describe('AddressedKey', () => {
  it('has exactly its fields, whatever else the record contains', async () => {
    const [shown] = await addressed(listing([SECRETIVE]));
    expect(shown).toStrictEqual({
      keyId: SECRETIVE.keyId,
      prefix: 'acme',
      hint: 'KrPP',
      name: 'a name that they may see',
      entityId: OWN,
      accessibleEntities: [OTHER],
      withdrawn: [],
      scopes: ['threats:read', 'decoys:read'],
      state: 'suspended',
      createdAt: new Date(START),
      expiresAt: new Date(START + HOUR),
    });
    const text = JSON.stringify(shown);
    for (const canary of ['CANARY', 'ca'.repeat(32), THIRD, NOWHERE, '0ca0ca0c']) {
      expect(text).not.toContain(canary);
    }
  });

  it('shows only the asking entity among those that withdrew', async () => {
    const withdrawn = [THIRD, OTHER, NOWHERE];
    const [shown] = await addressed(listing([{ ...SECRETIVE, withdrawn }]));
    expect(shown).toMatchObject({ accessibleEntities: [OTHER], withdrawn: [OTHER] });
    const [own] = await addressed(listing([{ ...SECRETIVE, withdrawn: [THIRD] }]), NOWHERE);
    expect(own).toMatchObject({ accessibleEntities: [NOWHERE], withdrawn: [] });
  });

  it('has null for a key that does not expire, and Dates that the caller may change', async () => {
    const { keyring } = setUp();
    await issueBroad(keyring);
    const [first] = (await addressed(keyring)) as AddressedKey[];
    expect(first?.expiresAt).toBeNull();
    first?.createdAt.setTime(0);
    expect(await addressed(keyring)).toMatchObject([{ createdAt: new Date(START) }]);
  });

  it('is a DamagedKey for an unreadable row, as for everybody', async () => {
    const rows = [
      { ...SECRETIVE, scopes: ['*:*'] },
      { ...SECRETIVE, format: 2, name: 'CANARY' },
      { ...SECRETIVE, metadata: 'CANARY', revokedAt: START },
    ];
    const { keyId } = SECRETIVE;
    expect(await addressed(listing(rows))).toStrictEqual([
      { state: 'damaged', keyId, entityId: OWN },
      { state: 'unknown_format', keyId, entityId: OWN },
      { state: 'revoked', keyId, entityId: OWN },
    ]);
  });
});

describe('list with addressing', () => {
  it('shows only the keys of others that address the entity', async () => {
    const { keyring, clock } = setUp();
    const broad = await issueBroad(keyring);
    await issue(keyring);
    await keyring.issue(PLAIN, { ...AUTHORITY, entityId: OTHER });
    clock.advance(1);
    const input = { ...PLAIN, accessibleEntities: [OTHER] };
    const third = { entityId: THIRD, entities: [OTHER], scopes: 'all' } as const;
    const theirs = await keyring.issue(input, third);
    expect(await addressed(keyring)).toMatchObject([
      { keyId: theirs.info.keyId, entityId: THIRD },
      { keyId: broad.info.keyId, entityId: OWN },
    ]);
    expect(await addressed(keyring, OWN)).toEqual([]);
    expect(await addressed(keyring, NOWHERE)).toEqual([]);
    expect((await keyring.list({ addressing: false }, AUTHORITY)).keys).toHaveLength(2);
    expect((await keyring.list({ addressing: undefined }, AUTHORITY)).keys).toHaveLength(2);
  });

  it('still shows ended keys and, marked, keys from which the entity withdrew', async () => {
    const { keyring } = setUp();
    const { info } = await issueBroad(keyring);
    await keyring.withdraw(info.keyId, THEIRS);
    const marked = { accessibleEntities: [OTHER], withdrawn: [OTHER] };
    expect(await addressed(keyring)).toMatchObject([{ ...marked, state: 'live' }]);
    expect(await addressed(keyring, THIRD)).toMatchObject([{ withdrawn: [], state: 'live' }]);
    await keyring.revoke(info.keyId, AUTHORITY);
    expect(await addressed(keyring)).toMatchObject([{ ...marked, state: 'revoked' }]);
  });

  it('shows successors only if they address the entity', async () => {
    const { keyring, clock } = setUp();
    const { info } = await issueBroad(keyring);
    clock.advance(1);
    const input = { overlapMs: 0, accessibleEntities: [THIRD] };
    const next = await keyring.rotate(info.keyId, input, BROAD);
    expect(await addressed(keyring)).toMatchObject([{ keyId: info.keyId, state: 'retired' }]);
    expect(await addressed(keyring, THIRD)).toMatchObject(
      [next, { info }].map((made) => ({ keyId: made.info.keyId })),
    );
  });

  it('pages like any other list', async () => {
    const { keyring, clock } = setUp();
    for (let count = 0; count < 5; count++) {
      await issueBroad(keyring);
      await issue(keyring);
      clock.advance(count % 2);
    }
    const whole = await addressed(keyring);
    expect(whole).toHaveLength(5);
    const seen: (AddressedKey | DamagedKey)[] = [];
    let after: string | null = null;
    do {
      const input = { addressing: true, limit: 2, after } as const;
      const page: Awaited<ReturnType<typeof nextPage>> = await nextPage(keyring, input);
      seen.push(...page.keys);
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual(whole);
  });

  const nextPage = (
    keyring: Ring,
    input: { addressing: true; limit: number; after: string | null },
  ) => keyring.list(input, THEIRS);

  it('queries the store for them by prefix, bypassing the cache', async () => {
    const asked: unknown[] = [];
    const store = wrap(memoryStore(), (method, args, call) => {
      if (method === 'list') asked.push(args[0]);
      return call();
    });
    await setUp({ store }).keyring.list({ addressing: true, limit: 7 }, THEIRS);
    const query = { prefix: 'acme', entityId: OTHER, addressing: true, after: null, limit: 8 };
    expect(asked).toEqual([query]);
  });
});

describe('a store that returns too much', () => {
  const accessibleEntities = [THIRD, NOWHERE];
  const others = { ...SECRETIVE, entityId: THIRD, accessibleEntities, withdrawn: [] };

  it.each([
    ['a key that the entity owns', { ...SECRETIVE, entityId: OTHER }],
    ['a key that does not address it', others],
    ['a key of another prefix', { ...SECRETIVE, prefix: 'acme_eu' }],
    ['a row without its owner', { ...SECRETIVE, entityId: undefined }],
  ])('is broken if it lists %s', async (_what, row) => {
    await storeError(() => addressed(listing([row])));
  });

  it('is broken if it lists keys of others instead of the own ones', async () => {
    const keyring = listing([SECRETIVE]);
    await storeError(() => keyring.list({}, THEIRS));
  });
});

describe('a row with edited entities', () => {
  // Such a row hid all keys that address the entity, because the list failed as a broken store.
  it.each([
    ['live', undefined],
    ['revoked', 'revoke'],
  ] as const)('is shown as damaged next to the others: %s', async (_state, call) => {
    const inner = memoryStore();
    const { keyring, clock } = setUp({ store: inner });
    const before = await issueBroad(keyring);
    clock.advance(1);
    const { info } = await issueBroad(keyring);
    clock.advance(1);
    const after = await issueBroad(keyring);
    if (call !== undefined) await keyring[call](info.keyId, AUTHORITY);
    const edited = tampering(inner, (row) =>
      row.keyId === info.keyId ? { ...row, accessibleEntities: [OWN, THIRD] } : row,
    );
    expect(await addressed(setUp({ store: edited }).keyring)).toMatchObject([
      { keyId: after.info.keyId, state: 'live', accessibleEntities: [OTHER] },
      { keyId: info.keyId, state: 'damaged', entityId: OWN },
      { keyId: before.info.keyId, state: 'live', accessibleEntities: [OTHER] },
    ]);
    // Revoked as it is now, it has ended.
    const { keyring: now } = setUp({ store: edited });
    await now.revoke(info.keyId, AUTHORITY);
    expect((await addressed(now))[1]).toMatchObject({ keyId: info.keyId, state: 'revoked' });
  });
});
