/**
 * Every refused management call has an event: who tried what, why it was refused, and which rights
 * were too much.
 */
import type { AccessErrorCode, DenialReason, KeyringEvent, ManagementAction } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { canariesIn, canary, keyCanaries } from '../support/canary.ts';
import {
  AUTHORITY,
  denied,
  HOUR,
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
  thrown,
  untyped,
  untypedInput,
  wrap,
} from '../support/keyring.ts';
import { CALLS_ON_A_KEY, EACH_CALL, refusalsIn } from '../support/managing.ts';

const WORDS = { actor: 'ada@acme.example', reason: 'ticket 7' } as const;
/** May do everything, and has an actor and a reason. */
const ADA = { ...AUTHORITY, entities: [OTHER], ...WORDS } as const;

/** A key with two scopes and two entities. */
async function prepared() {
  const all = setUp();
  const input = { ...PLAIN, scopes: ['threats:read', 'decoys:read'], accessibleEntities: [OTHER] };
  const { key, info } = await all.keyring.issue(untypedInput(input), ADA);
  all.clock.advance(5);
  all.events.length = 0;
  return { ...all, key, keyId: info.keyId };
}

type Prepared = Awaited<ReturnType<typeof prepared>>;

/** The fields of the event in addition to time, entity, actor and reason. */
interface Told {
  readonly action: ManagementAction;
  readonly code: AccessErrorCode;
  readonly denialReason: DenialReason;
  readonly excess?: readonly string[];
  /** False: the call names no key. */
  readonly isAboutKey?: boolean;
}

const ceiling = { code: 'ceiling_exceeded' } as const;
const issuing = { action: 'issue', isAboutKey: false, ...ceiling } as const;
const rotating = { action: 'rotate', ...ceiling } as const;
const dead = { action: 'rotate', code: 'conflict' } as const;
const conflict = { code: 'conflict', denialReason: 'already_ended' } as const;

const input = { overlapMs: HOUR };

/** Attempts, and the event of each. */
const TRIES: readonly (readonly [string, (given: Prepared) => Promise<unknown>, Told])[] = [
  [
    'issue: scopes',
    ({ keyring }) => keyring.issue(PLAIN, { ...ADA, scopes: ['decoys:*'] }),
    { ...issuing, denialReason: 'scopes_beyond_authority', excess: ['threats:read'] },
  ],
  [
    'issue: entities',
    ({ keyring }) => keyring.issue(untypedInput({ accessibleEntities: [OTHER, THIRD] }), ADA),
    { ...issuing, denialReason: 'entities_beyond_authority', excess: [THIRD] },
  ],
  [
    'issue: lifetime',
    ({ keyring }) => keyring.issue(PLAIN, { ...ADA, maxLifetimeMs: 1 }),
    { ...issuing, denialReason: 'lifetime_beyond_authority', excess: ['expiresAt'] },
  ],
  [
    'issue: all of it',
    ({ keyring }) => {
      const authority = { ...ADA, scopes: [], maxLifetimeMs: 1 };
      return keyring.issue(untypedInput({ accessibleEntities: [THIRD] }), authority);
    },
    {
      ...issuing,
      denialReason: 'scopes_beyond_authority',
      excess: ['threats:read', THIRD, 'expiresAt'],
    },
  ],
  [
    'rotate: scopes of the authority',
    ({ keyring, keyId }) => keyring.rotate(keyId, input, { ...ADA, scopes: ['*:write'] }),
    {
      ...rotating,
      denialReason: 'scopes_beyond_authority',
      excess: ['threats:read', 'decoys:read'],
    },
  ],
  [
    'rotate: entities of the authority',
    ({ keyring, keyId }) => keyring.rotate(keyId, input, { ...ADA, entities: [] }),
    { ...rotating, denialReason: 'entities_beyond_authority', excess: [OTHER] },
  ],
  [
    'rotate: lifetime',
    ({ keyring, keyId }) => keyring.rotate(keyId, input, { ...ADA, maxLifetimeMs: 1 }),
    { ...rotating, denialReason: 'lifetime_beyond_authority', excess: ['expiresAt'] },
  ],
  [
    'rotate: scopes of the predecessor',
    ({ keyring, keyId }) => {
      const scopes = ['threats:read', 'threats:write'];
      return keyring.rotate(keyId, { ...input, scopes }, ADA);
    },
    { ...rotating, denialReason: 'scopes_beyond_predecessor', excess: ['threats:write'] },
  ],
  [
    'rotate: entities of the predecessor',
    ({ keyring, keyId }) => {
      const authority = { ...ADA, entities: [OTHER, THIRD] };
      return keyring.rotate(keyId, { ...input, accessibleEntities: [THIRD, OTHER] }, authority);
    },
    { ...rotating, denialReason: 'entities_beyond_predecessor', excess: [THIRD] },
  ],
  [
    'rotate: already rotated',
    async ({ keyring, keyId }) => {
      await keyring.rotate(keyId, input, ADA);
      return keyring.rotate(keyId, input, ADA);
    },
    { action: 'rotate', ...conflict },
  ],
  [
    'rotate: suspended',
    async ({ keyring, keyId }) => {
      await keyring.suspend(keyId, ADA);
      return keyring.rotate(keyId, input, ADA);
    },
    { ...dead, denialReason: 'suspended' },
  ],
  [
    'rotate: retired',
    async ({ keyring, keyId }) => {
      await keyring.rotate(keyId, { overlapMs: 0 }, ADA);
      return keyring.rotate(keyId, input, ADA);
    },
    { ...dead, denialReason: 'retired' },
  ],
  [
    'rotate: revoked',
    async ({ keyring, keyId }) => {
      await keyring.revoke(keyId, ADA);
      return keyring.rotate(keyId, input, ADA);
    },
    { ...dead, denialReason: 'revoked' },
  ],
  [
    'suspend: revoked',
    async ({ keyring, keyId }) => {
      await keyring.revoke(keyId, ADA);
      return keyring.suspend(keyId, ADA);
    },
    { action: 'suspend', ...conflict },
  ],
  [
    'resume: revoked',
    async ({ keyring, keyId }) => {
      await keyring.revoke(keyId, ADA);
      return keyring.resume(keyId, ADA);
    },
    { action: 'resume', ...conflict },
  ],
];

describe('management.denied', () => {
  it.each(TRIES)('reports %s', async (_name, attempt, told) => {
    const given = await prepared();
    await thrown(() => attempt(given));
    const { isAboutKey = true, excess, ...said } = told;
    expect(refusalsIn(given.events)).toEqual([
      {
        type: 'management.denied',
        time: START + 5,
        entityId: OWN,
        keyId: isAboutKey ? given.keyId : null,
        ...WORDS,
        ...said,
        excess,
      },
    ]);
    expect(given.events.at(-1)?.type).toBe('management.denied');
    expect(Object.isFrozen(given.events.at(-1))).toBe(true);
  });

  /** A key that exists and belongs to another entity, and one that does not exist. */
  const elsewhere: readonly (readonly [string, (given: Prepared) => Promise<unknown>])[] = [
    ...CALLS_ON_A_KEY.map((name): [string, (given: Prepared) => Promise<unknown>] => [
      name,
      ({ keyring, keyId }) => keyring[name](keyId, { ...ADA, entityId: THIRD }),
    ]),
    ['rotate', ({ keyring, keyId }) => keyring.rotate(keyId, input, { ...ADA, entityId: THIRD })],
  ];

  it.each(elsewhere)(
    'reports a foreign key in %s, so that the owner can learn of it',
    async (action, attempt) => {
      const given = await prepared();
      const answer = await attempt(given).catch((error: unknown) => error);
      // Only `get` returns null.
      if (action === 'get') expect(answer).toBeNull();
      else expect(answer).toMatchObject({ code: 'not_found', reason: 'foreign_key' });
      expect(given.events).toEqual([
        {
          type: 'management.denied',
          time: START + 5,
          action,
          keyId: given.keyId,
          entityId: THIRD,
          code: 'not_found',
          denialReason: 'foreign_key',
          excess: undefined,
          ...WORDS,
        },
      ]);
    },
  );

  it.each(EACH_CALL.filter(([name]) => name !== 'issue' && name !== 'list'))(
    'reports an unknown key in %s',
    async (action, call) => {
      const { keyring, events } = await prepared();
      await call(keyring, ADA, NOWHERE).catch(() => {});
      expect(events).toMatchObject([
        { action, keyId: NOWHERE, code: 'not_found', denialReason: 'no_such_key', ...WORDS },
      ]);
    },
  );

  it.each(EACH_CALL.filter(([name]) => name !== 'issue' && name !== 'list'))(
    'contains no part of a malformed key id in %s',
    async (action, call) => {
      const { keyring, events, key } = await prepared();
      const canaries = [...keyCanaries('key', key), canary('text', 'not a key id')];
      for (const keyId of [
        key.slice(0, -1),
        `${NOWHERE} not a key id`,
        NOWHERE.toUpperCase(),
        '',
      ]) {
        events.length = 0;
        await call(keyring, ADA, keyId).catch(() => {});
        expect(events).toMatchObject([{ action, keyId: null, denialReason: 'no_such_key' }]);
        expect(canariesIn(events, canaries)).toEqual([]);
      }
    },
  );

  it('has no actor and reason if not given', async () => {
    const { keyring, events, keyId } = await prepared();
    await thrown(() => keyring.revoke(keyId, { entityId: THIRD }));
    expect(events).toMatchObject([{ denialReason: 'foreign_key' }]);
    expect(events[0]).toMatchObject({ actor: undefined, reason: undefined });
  });

  it('reports a key of another prefix like another entity’s key', async () => {
    const { store, keyId } = await prepared();
    const events: KeyringEvent[] = [];
    const { keyring } = setUp({ store, prefix: 'acme_eu', onEvent: (event) => events.push(event) });
    for (const [name, call] of EACH_CALL) {
      if (name === 'issue' || name === 'list') continue;
      events.length = 0;
      await call(keyring, ADA, keyId).catch(() => {});
      expect(events, name).toMatchObject([{ action: name, keyId, denialReason: 'foreign_key' }]);
    }
  });

  it('reports a withdrawal from a key that does not address the entity', async () => {
    const { keyring, events, keyId } = await prepared();
    const act = () => keyring.withdraw(keyId, { entityId: THIRD, ...WORDS });
    await denied(act, 'not_found', 'foreign_key');
    expect(events).toMatchObject([{ action: 'withdraw', keyId, entityId: THIRD, ...WORDS }]);
  });

  it('has the time at which the call began', async () => {
    const { clock, store, keyId } = await prepared();
    const slow = wrap(store, async (_method, _args, call) => {
      clock.advance(HOUR);
      return call();
    });
    const { keyring, events } = setUp({ store: slow, now: clock.now });
    const began = clock.now();
    await thrown(() => keyring.revoke(keyId, { entityId: THIRD }));
    expect(events).toMatchObject([{ time: began }]);
  });

  it('is emitted once per call, without events of what the refused call did before', async () => {
    const { keyring, events, keyId } = await prepared();
    const attempts = [1, 2, 3].map(() =>
      thrown(() => keyring.rotate(keyId, input, { ...ADA, scopes: [] })),
    );
    await Promise.all(attempts);
    expect(events.map(({ type }) => type)).toEqual(Array(3).fill('management.denied'));
  });
});

describe('errors without management.denied', () => {
  const shown = async (act: (keyring: Ring, keyId: string) => Promise<unknown>) => {
    const { keyring, events, keyId } = await prepared();
    await act(keyring, keyId).catch(() => {});
    return events;
  };

  it('include malformed input and a malformed authority', async () => {
    expect(await shown((keyring) => keyring.issue(untypedInput({ name: '' }), ADA))).toEqual([]);
    const odd = untyped<typeof ADA>({ ...ADA, entityId: '*' });
    expect(await shown((keyring, keyId) => keyring.revoke(keyId, odd))).toEqual([]);
    expect(await shown((keyring, keyId) => keyring.withdraw(keyId, ADA))).toEqual([]);
  });

  it('include a broken store', async () => {
    const { store, keyId } = await prepared();
    const broken = wrap(store, () => {
      throw new Error('down');
    });
    const { keyring, events } = setUp({ store: broken });
    for (const [, call] of EACH_CALL) await storeError(() => call(keyring, ADA, keyId));
    expect(events).toEqual([]);
  });

  it('include a broken clock, which stops every call', async () => {
    const { store, keyId } = await prepared();
    const { keyring, events } = setUp({ store, now: () => Number.NaN });
    for (const [name, call] of EACH_CALL) {
      if (name !== 'list') await storeError(() => call(keyring, ADA, keyId));
    }
    expect(events).toEqual([]);
  });

  it('do not exist for a damaged key, which is shown', async () => {
    const { store, keyId } = await prepared();
    const { keyring, events } = setUp({ store: tampering(store, (row) => ({ ...row, name: 7 })) });
    expect(await keyring.get(keyId, ADA)).toMatchObject({ state: 'damaged' });
    expect(events).toEqual([]);
  });
});

describe('a listener of refusals', () => {
  it('changes no decision if it throws', async () => {
    const told: unknown[] = [];
    const { keyring } = setUp({
      store: memoryStore(),
      onEvent: () => {
        throw new Error('sink');
      },
      onError: (error, what) => told.push([String(error), what]),
    });
    const act = () => keyring.issue(PLAIN, { ...ADA, scopes: [] });
    await denied(act, 'ceiling_exceeded', 'scopes_beyond_authority');
    await denied(() => keyring.revoke(NOWHERE, ADA), 'not_found', 'no_such_key');
    expect(await keyring.get(NOWHERE, ADA)).toBeNull();
    expect(told).toEqual(Array(3).fill(['Error: sink', 'event']));
  });
});
