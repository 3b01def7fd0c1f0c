/** The effect and the condition of each mark, written out once more for every state of a key. */
import type { KeyRecord, Mark } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { applyMark } from '../../src/stores/marks.js';
import { OTHER, OWN, THIRD } from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';

/** Every combination of the marks that end a key, by name. */
const ENDS = {
  live: {},
  revoked: { revokedAt: 10 },
  suspended: { suspendedAt: 20 },
  retired: { retireAt: 30 },
  'revoked and suspended': { revokedAt: 10, suspendedAt: 20 },
  'revoked and retired': { revokedAt: 10, retireAt: 30 },
  'suspended and retired': { suspendedAt: 20, retireAt: 30 },
  'revoked, suspended and retired': { revokedAt: 10, suspendedAt: 20, retireAt: 30 },
} as const satisfies Readonly<Record<string, Partial<KeyRecord>>>;

type State = keyof typeof ENDS;
const STATES = Object.keys(ENDS) as State[];

/** The entities that withdrew from the key. */
const WITHDRAWN = [[], [OTHER], [OTHER, THIRD], [THIRD, OTHER]] as const;

/** The states in which each kind of mark may be written. */
const MAY: Readonly<Record<Mark['kind'], readonly State[]>> = {
  revoke: ['live', 'suspended', 'retired', 'suspended and retired'],
  suspend: ['live', 'retired'],
  resume: ['suspended', 'suspended and retired'],
  retire: ['live'],
  withdraw: STATES,
};

const BY = { by: 'grace', reason: 'because' } as const;
const ENDED = { endedBy: 'grace', endReason: 'because' } as const;

/** Every kind of mark, with exactly what it changes. */
const CHANGES: readonly (readonly [Mark, Partial<KeyRecord>])[] = [
  [
    { kind: 'revoke', at: 99, ...BY, seal: 'new' },
    { ...ENDED, revokedAt: 99, changedAt: 99, seal: 'new' },
  ],
  [
    { kind: 'revoke', at: 0, by: null, reason: null, seal: null },
    { endedBy: null, endReason: null, revokedAt: 0, seal: null },
  ],
  [
    { kind: 'suspend', at: 99, ...BY },
    { ...ENDED, suspendedAt: 99, changedAt: 99 },
  ],
  [
    { kind: 'resume', at: 99 },
    { suspendedAt: null, endedBy: null, endReason: null, changedAt: 99 },
  ],
];

function recordOf(state: State, withdrawn: readonly string[] = []): KeyRecord {
  return {
    ...RECORD,
    accessibleEntities: [OWN, OTHER, THIRD],
    ...ENDS[state],
    withdrawn,
    endedBy: 'ada',
    endReason: 'before',
    changedAt: 40,
    lastUsedAt: 50,
  };
}

describe('a mark', () => {
  describe.each(STATES)('on a key that is %s', (state) => {
    it('is revoked again only in exchange for its seal', () => {
      const mark: Mark = { kind: 'revoke', at: 99, ...BY, seal: 'new', replaces: 'old' };
      const changes = { ...ENDED, changedAt: 99, seal: 'new' };
      const isRevoked = !MAY.revoke.includes(state);
      const old = { ...recordOf(state), seal: 'old' };
      expect(applyMark(old, mark)).toEqual(isRevoked ? { ...old, ...changes } : null);
      for (const seal of ['other', '', null]) {
        expect(applyMark({ ...old, seal }, mark), String(seal)).toBeNull();
      }
      // Null is like absent.
      const first = { ...old, ...changes, revokedAt: 99 };
      for (const replaces of [null, undefined]) {
        for (const seal of ['old', null]) {
          const marked = applyMark({ ...old, seal }, { ...mark, replaces });
          expect(marked, String(seal)).toEqual(isRevoked ? null : first);
        }
      }
    });

    it.each(CHANGES)('%o', (mark, changes) => {
      for (const withdrawn of WITHDRAWN) {
        const record = recordOf(state, withdrawn);
        const expected = MAY[mark.kind].includes(state) ? { ...record, ...changes } : null;
        expect(applyMark(record, mark)).toEqual(expected);
      }
    });

    it('retires only while withdrawn is as it was read', () => {
      const changes = { ...ENDED, retireAt: 120, changedAt: 99 };
      for (const asRead of WITHDRAWN) {
        const mark: Mark = { kind: 'retire', at: 99, retireAt: 120, ...BY, withdrawn: asRead };
        for (const withdrawn of WITHDRAWN) {
          const record = recordOf(state, withdrawn);
          const may = MAY.retire.includes(state) && asRead === withdrawn;
          expect(applyMark(record, mark)).toEqual(may ? { ...record, ...changes } : null);
        }
      }
    });

    it('adds an entity to the end of withdrawn, once', () => {
      const mark: Mark = { kind: 'withdraw', at: 99, entityId: THIRD };
      for (const withdrawn of [[], [OTHER]]) {
        const record = recordOf(state, withdrawn);
        const changes = { withdrawn: [...withdrawn, THIRD], changedAt: 99 };
        expect(applyMark(record, mark)).toEqual({ ...record, ...changes });
      }
      for (const withdrawn of [[THIRD], [OTHER, THIRD], [THIRD, OTHER]]) {
        expect(applyMark(recordOf(state, withdrawn), mark)).toBeNull();
      }
    });
  });

  it('keeps a later changedAt, because clocks differ', () => {
    const marks: readonly [State, Mark][] = [
      ['live', { kind: 'revoke', at: 39, ...BY, seal: null }],
      ['revoked', { kind: 'revoke', at: 39, ...BY, seal: null, replaces: RECORD.seal }],
      ['live', { kind: 'suspend', at: 39, ...BY }],
      ['suspended', { kind: 'resume', at: 39 }],
      ['live', { kind: 'retire', at: 39, retireAt: 120, ...BY }],
      ['revoked', { kind: 'withdraw', at: 39, entityId: OTHER }],
    ];
    for (const [state, mark] of marks) {
      const record = recordOf(state);
      expect(applyMark(record, mark)).toMatchObject({ changedAt: 40 });
      expect(applyMark(record, { ...mark, at: 41 })).toMatchObject({ changedAt: 41 });
      expect(applyMark({ ...record, changedAt: null }, mark)).toMatchObject({ changedAt: 39 });
      expect(applyMark({ ...record, changedAt: -5 }, mark)).toMatchObject({ changedAt: 39 });
    }
  });

  it('treats a missing withdrawn list as empty', () => {
    const mark: Mark = { kind: 'retire', at: 99, retireAt: 99, ...BY };
    expect(applyMark(recordOf('live'), mark)).not.toBeNull();
    expect(applyMark(recordOf('live', [OTHER]), mark)).toBeNull();
  });

  it('treats time 0 like any other time', () => {
    const revoked = { ...recordOf('live'), revokedAt: 0 };
    expect(applyMark(revoked, { kind: 'revoke', at: 99, ...BY, seal: null })).toBeNull();
    const suspended = { ...recordOf('live'), suspendedAt: 0 };
    expect(applyMark(suspended, { kind: 'suspend', at: 99, ...BY })).toBeNull();
    expect(applyMark(suspended, { kind: 'resume', at: 99 })).not.toBeNull();
    const retired = { ...recordOf('live'), retireAt: 0 };
    expect(applyMark(retired, { kind: 'retire', at: 99, retireAt: 99, ...BY })).toBeNull();
  });

  it('does not modify the given record', () => {
    const record = Object.freeze({ ...recordOf('live'), withdrawn: Object.freeze([OTHER]) });
    applyMark(record, { kind: 'withdraw', at: 99, entityId: THIRD });
    expect(record).toEqual(recordOf('live', [OTHER]));
  });
});
