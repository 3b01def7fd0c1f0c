/** Stores whose `mark` breaks a promise. */
import type { KeyRecord, Mark, RevokeMark } from 'keyscope';
import { applyMark } from '../../../../src/stores/marks.js';
import type { Row, Rows } from '../right-store.ts';
import { makeRow, TIME, tick, type WrongStore, type WrongStores } from '../wrong-store.ts';

type Kind = Mark['kind'];
type Condition = 'revokedAt' | 'suspendedAt' | 'retireAt' | 'withdrawn';

/** What a mark makes of a row; null if it may not be written. */
type Rule = (row: Row, mark: Mark) => KeyRecord | null;

/** Marks by another rule than that of the contract. */
function byRule(rule: Rule): WrongStore {
  return (_right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const row = rows.get(keyId);
      const marked = row === undefined ? null : rule(row, mark);
      if (row === undefined || marked === null) return false;
      Object.assign(row, structuredClone(marked));
      return true;
    },
  });
}

/** Marks as it should, and then changes what was written. */
function writing(change: (marked: KeyRecord, row: Row, mark: Mark) => Partial<Row>): WrongStore {
  return byRule((row, mark) => {
    const marked = applyMark(row, mark);
    return marked === null ? null : { ...marked, ...change(marked, row, mark) };
  });
}

/** The same for one kind of mark. */
function writingOf(kind: Kind, change: (marked: KeyRecord, row: Row) => Partial<Row>): WrongStore {
  return writing((marked, row, mark) => (mark.kind === kind ? change(marked, row) : {}));
}

/** Marks of a kind without one of their conditions. */
function ignoring(kind: Kind, field: Condition): WrongStore {
  return byRule((row, mark) => {
    if (mark.kind !== kind) return applyMark(row, mark);
    const free = { ...row, [field]: freeValue(field, row, mark) };
    const marked = applyMark(free, mark);
    if (marked === null) return null;
    const isWritten = marked[field] !== free[field];
    return { ...marked, [field]: isWritten ? marked[field] : row[field] };
  });
}

/** A value with which the condition holds. */
function freeValue(field: Condition, row: Row, mark: Mark): unknown {
  if (mark.kind === 'resume' && field === 'suspendedAt') return 1;
  if (field !== 'withdrawn') return null;
  if (mark.kind === 'retire') return mark.withdrawn ?? [];
  return mark.kind === 'withdraw' ? [] : row.withdrawn;
}

/** The conditions of each kind. */
const CONDITIONS: Readonly<Record<Kind, readonly Condition[]>> = {
  revoke: ['revokedAt'],
  suspend: ['revokedAt', 'suspendedAt'],
  resume: ['revokedAt', 'suspendedAt'],
  retire: ['revokedAt', 'suspendedAt', 'retireAt', 'withdrawn'],
  withdraw: ['withdrawn'],
};

const KINDS = Object.keys(CONDITIONS) as Kind[];

/** Wrong stores, one for each condition of each kind. */
function withoutConditions(): WrongStores {
  const wrong = KINDS.flatMap((kind) =>
    CONDITIONS[kind].map((field) => {
      const name = `mark does not look at ${field} to ${kind}`;
      return [name, ignoring(kind, field)] as const;
    }),
  );
  return Object.fromEntries(wrong);
}

/** Marks of a kind with one condition more. */
function refusing(kind: Kind, refuses: (row: Row) => boolean): WrongStore {
  return byRule((row, mark) => {
    const isRefused = mark.kind === kind && refuses(row);
    return isRefused ? null : applyMark(row, mark);
  });
}

/** Looks whether it may, and writes what it makes of what it saw a turn later. */
function lookingFirst(rows: Rows, kinds: readonly Kind[]) {
  return async (keyId: string, mark: Mark) => {
    const row = rows.get(keyId);
    const marked = row === undefined ? null : applyMark(row, mark);
    if (row === undefined || marked === null) return false;
    const before = { ...row } as Readonly<Record<string, unknown>>;
    if (kinds.includes(mark.kind)) await tick();
    const changed = Object.entries(marked).filter(([name, value]) => value !== before[name]);
    Object.assign(row, Object.fromEntries(changed));
    return true;
  };
}

/** Wrong stores that look first, for each kind. */
function lookFirst(): WrongStores {
  const wrong = KINDS.map((kind): readonly [string, WrongStore] => {
    const name = `mark looks first and writes later to ${kind}`;
    return [name, (_right, rows) => ({ mark: lookingFirst(rows, [kind]) })];
  });
  return Object.fromEntries(wrong);
}

/** Wrong stores that write no `changedAt`, for each kind. */
function withoutChangedAt(): WrongStores {
  const wrong = KINDS.map((kind) => {
    const wrongStore = writingOf(kind, (_marked, { changedAt }) => ({ changedAt }));
    return [`mark does not write changedAt to ${kind}`, wrongStore] as const;
  });
  return Object.fromEntries(wrong);
}

/** Revokes what is marked already by another rule. */
function replacing(may: (row: Row, mark: RevokeMark) => boolean): WrongStore {
  return byRule((row, mark) => {
    const isMarked = mark.kind === 'revoke' && row.revokedAt !== null;
    if (!isMarked) return applyMark(row, mark);
    return may(row, mark) ? applyMark({ ...row, revokedAt: null }, mark) : null;
  });
}

/** Wrong stores that do not compare the seal that a revocation replaces. */
const REPLACING: WrongStores = {
  'mark never replaces a seal': replacing(() => false),
  'mark replaces any seal': replacing(
    (row, { replaces = null }) => replaces !== null && row.seal !== null,
  ),
  'mark replaces no seal by one': replacing((row, { replaces = null }) => row.seal === replaces),
  'mark replaces a seal without case': replacing(
    (row, { replaces }) => row.seal !== null && row.seal === replaces?.toLowerCase(),
  ),
};

/** Wrong stores whose conditions are too many. */
const TOO_STRICT: WrongStores = {
  'mark does not revoke what is retired': refusing('revoke', (row) => row.retireAt !== null),
  'mark does not revoke what is suspended': refusing('revoke', (row) => row.suspendedAt !== null),
  'mark does not revoke what is expired': refusing('revoke', (row) => row.expiresAt === 0),
  'mark does not revoke what entities withdrew from': refusing(
    'revoke',
    (row) => row.withdrawn.length > 0,
  ),
  'mark does not suspend what is retired': refusing('suspend', (row) => row.retireAt !== null),
  'mark does not resume what is retired': refusing('resume', (row) => row.retireAt !== null),
  'mark does not withdraw from what is revoked': refusing(
    'withdraw',
    (row) => row.revokedAt !== null,
  ),
  'mark does not withdraw from what is suspended': refusing(
    'withdraw',
    (row) => row.suspendedAt !== null,
  ),
  'mark takes withdrawn for a set': byRule((row, mark) => {
    if (mark.kind !== 'retire') return applyMark(row, mark);
    const { withdrawn = [] } = mark;
    const isSame = [...withdrawn].sort().join() === [...row.withdrawn].sort().join();
    return applyMark(row, isSame ? { ...mark, withdrawn: row.withdrawn } : mark);
  }),
  'mark takes withdrawn for its length': byRule((row, mark) => {
    if (mark.kind !== 'retire') return applyMark(row, mark);
    const isSame = (mark.withdrawn ?? []).length === row.withdrawn.length;
    return applyMark(row, isSame ? { ...mark, withdrawn: row.withdrawn } : mark);
  }),
};

/** Wrong stores that write too little, too much or something else. */
const WRONG_CHANGES: WrongStores = {
  'mark leaves the seal of what it revokes': writingOf('revoke', (_marked, { seal }) => ({ seal })),
  'mark replaces a seal only by another': writingOf('revoke', (marked, row) => ({
    seal: marked.seal ?? row.seal,
  })),
  'mark clears a suspension as it revokes': writingOf('revoke', () => ({ suspendedAt: null })),
  'mark clears a retirement as it revokes': writingOf('revoke', () => ({ retireAt: null })),
  'mark clears a retirement as it resumes': writingOf('resume', () => ({ retireAt: null })),
  'mark leaves who suspended as it resumes': writingOf('resume', (_marked, { endedBy }) => ({
    endedBy,
  })),
  'mark leaves why as it resumes': writingOf('resume', (_marked, { endReason }) => ({ endReason })),
  'mark says who withdrew': writingOf('withdraw', () => ({ endedBy: null })),
  'mark clears why as an entity withdraws': writingOf('withdraw', () => ({ endReason: null })),
  'mark keeps only the newest withdrawal': writingOf('withdraw', ({ withdrawn }) => ({
    withdrawn: withdrawn.slice(-1),
  })),
  'mark adds a withdrawal in front': writingOf('withdraw', ({ withdrawn }) => ({
    withdrawn: [...withdrawn.slice(-1), ...withdrawn.slice(0, -1)],
  })),
  'mark keeps 500 withdrawals': writingOf('withdraw', ({ withdrawn }) => ({
    withdrawn: withdrawn.slice(-500),
  })),
  'mark takes an entity out of accessibleEntities as it withdraws': writingOf(
    'withdraw',
    ({ accessibleEntities, withdrawn }) => ({
      accessibleEntities: accessibleEntities.filter((entity) => !withdrawn.includes(entity)),
    }),
  ),
  'mark does not say who retired': writingOf('retire', (_marked, { endedBy }) => ({ endedBy })),
  'mark keeps who it was where nobody is named': writing((marked, row, { kind }) =>
    kind === 'resume' ? {} : { endedBy: marked.endedBy ?? row.endedBy },
  ),
  'mark has null for an empty text': writing((marked) => ({ endedBy: marked.endedBy || null })),
  'mark cuts reasons at 255 characters': writing((marked) => ({
    endReason: marked.endReason?.slice(0, 255) ?? null,
  })),
  'mark takes the time of a retirement for that of the mark': writingOf(
    'retire',
    ({ retireAt }) => ({ changedAt: retireAt }),
  ),
  'mark writes changedAt only forward': writing((marked, row) => ({
    changedAt: Math.max(marked.changedAt ?? 0, row.changedAt ?? Number.NEGATIVE_INFINITY),
  })),
  'mark retires nothing later than its own clock': writing(({ retireAt }) => ({
    retireAt: retireAt && Math.min(retireAt, TIME * 3),
  })),
  'mark writes another field': writing(() => ({ lastUsedAt: 1 })),
};

/** Wrong stores that answer something else, or reach further than the key. */
const WRONG_CALLS: WrongStores = {
  'mark takes time 0 for no mark': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const row = rows.get(keyId);
      if (row !== undefined) {
        row.revokedAt = row.revokedAt || null;
        row.retireAt = row.retireAt || null;
      }
      return right.mark(keyId, mark);
    },
  }),
  'mark retires nothing before the year 1': (right) => ({
    mark: (keyId: string, mark: Mark) =>
      mark.at < -62_135_596_800_000 ? false : right.mark(keyId, mark),
  }),
  'mark does not revoke what its own clock has ended': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const expiresAt = rows.get(keyId)?.expiresAt ?? 0;
      return expiresAt < 0 ? false : right.mark(keyId, mark);
    },
  }),
  'mark is always true': (right) => ({
    mark: (keyId: string, mark: Mark) => {
      right.mark(keyId, mark);
      return true;
    },
  }),
  'mark is true where the row has its value already': (right, rows) => ({
    mark: (keyId: string, mark: Mark) =>
      right.mark(keyId, mark) || (rows.has(keyId) && rows.get(keyId)?.changedAt === mark.at),
  }),
  'mark answers a count': (right) => ({
    mark: (keyId: string, mark: Mark) => Number(right.mark(keyId, mark)),
  }),
  'mark throws on an unknown id': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      if (!rows.has(keyId)) throw new Error('none');
      return right.mark(keyId, mark);
    },
  }),
  'mark makes a row for an unknown id': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      makeRow(rows, keyId);
      return right.mark(keyId, mark);
    },
  }),
  'mark writes the seal after the rest': (right, rows) => ({
    mark: async (keyId: string, mark: Mark) => {
      const { seal = null } = rows.get(keyId) ?? {};
      const wrote = right.mark(keyId, mark);
      const row = rows.get(keyId);
      if (!wrote || row === undefined || mark.kind !== 'revoke') return wrote;
      row.seal = seal;
      await tick();
      row.seal = mark.seal;
      return true;
    },
  }),
  'mark writes the last of parallel times': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const wrote = right.mark(keyId, mark);
      const row = rows.get(keyId);
      if (row && mark.kind === 'revoke') row.revokedAt = mark.at;
      return wrote;
    },
  }),
  'mark marks successors as well': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      for (const row of rows.values()) {
        if (row.rotatedFrom === keyId) right.mark(row.keyId, mark);
      }
      return right.mark(keyId, mark);
    },
  }),
  'mark marks the whole lineage': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const lineage = right.listLineage(rows.get(keyId)?.rootKeyId ?? '');
      const wrote = right.mark(keyId, mark);
      for (const row of lineage) {
        right.mark(row.keyId, mark);
      }
      return wrote;
    },
  }),
  'mark withdraws an entity from all keys': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const wrote = right.mark(keyId, mark);
      if (mark.kind !== 'withdraw') return wrote;
      const addressing = [...rows.values()].filter((row) =>
        row.accessibleEntities.includes(mark.entityUuid),
      );
      for (const row of addressing) {
        right.mark(row.keyId, mark);
      }
      return wrote;
    },
  }),
  'mark marks the whole entity': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const wrote = right.mark(keyId, mark);
      const entityUuid = rows.get(keyId)?.entityUuid;
      const own = [...rows.values()].filter((row) => row.entityUuid === entityUuid);
      for (const row of own) {
        if (wrote) right.mark(row.keyId, mark);
      }
      return wrote;
    },
  }),
};

export const WRONG_MARKS: WrongStores = {
  ...withoutConditions(),
  ...lookFirst(),
  ...withoutChangedAt(),
  ...REPLACING,
  ...TOO_STRICT,
  ...WRONG_CHANGES,
  ...WRONG_CALLS,
};
