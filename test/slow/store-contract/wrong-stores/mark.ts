/** Stores whose `mark` breaks a promise. */
import type { KeyRecord, Mark } from 'keyscope';
import { applyMark } from '../../../../src/stores/marks.js';
import type { Row, Rows } from '../right-store.ts';
import { makeRow, TIME, tick, type WrongStore, type WrongStores } from '../wrong-store.ts';

type Kind = Mark['kind'];
type Condition = 'revokedAt' | 'suspendedAt' | 'retireAt' | 'withdrawn';

/** The row after a mark; null if the mark may not be written. */
type Rule = (row: Row, mark: Mark) => KeyRecord | null;

/** Marks by a different rule than the contract's. */
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

/** Marks correctly and then changes the row. */
function writing(change: (marked: KeyRecord, row: Row, mark: Mark) => Partial<Row>): WrongStore {
  return byRule((row, mark) => {
    const marked = applyMark(row, mark);
    return marked === null ? null : { ...marked, ...change(marked, row, mark) };
  });
}

/** Does the same for one kind of mark. */
function writingOf(kind: Kind, change: (marked: KeyRecord, row: Row) => Partial<Row>): WrongStore {
  return writing((marked, row, mark) => (mark.kind === kind ? change(marked, row) : {}));
}

/** Skips one condition of one kind of mark. */
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

/** A value that satisfies the condition. */
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

/** Adds a condition to one kind of mark. */
function refusing(kind: Kind, refuses: (row: Row) => boolean): WrongStore {
  return byRule((row, mark) => {
    const isRefused = mark.kind === kind && refuses(row);
    return isRefused ? null : applyMark(row, mark);
  });
}

/** Checks the row, and writes a turn later what it computed from that row. */
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

/** Wrong stores that check first, for each kind. */
function lookFirst(): WrongStores {
  const wrong = KINDS.map((kind): readonly [string, WrongStore] => {
    const name = `mark checks first and writes later to ${kind}`;
    return [name, (_right, rows) => ({ mark: lookingFirst(rows, [kind]) })];
  });
  return Object.fromEntries(wrong);
}

/** Wrong stores that do not write `changedAt`, for each kind. */
function withoutChangedAt(): WrongStores {
  const wrong = KINDS.map((kind) => {
    const wrongStore = writingOf(kind, (_marked, { changedAt }) => ({ changedAt }));
    return [`mark does not write changedAt to ${kind}`, wrongStore] as const;
  });
  return Object.fromEntries(wrong);
}

/** Wrong stores in which `changedAt` goes back if the mark is earlier, for each kind. */
function withoutLaterTime(): WrongStores {
  const wrong = KINDS.map((kind) => {
    const wrongStore = writing((_marked, _row, mark) =>
      mark.kind === kind ? { changedAt: mark.at } : {},
    );
    return [`mark moves changedAt back to ${kind}`, wrongStore] as const;
  });
  return Object.fromEntries(wrong);
}

/** Revokes by a different condition. */
function revoking(may: (row: Row, replaces: string | null) => boolean): WrongStore {
  return byRule((row, mark) => {
    if (mark.kind !== 'revoke') return applyMark(row, mark);
    if (!may(row, mark.replaces ?? null)) return null;
    const { revokedAt } = row;
    const marked = applyMark({ ...row, revokedAt: null }, { ...mark, replaces: null });
    return marked && { ...marked, revokedAt: revokedAt ?? mark.at };
  });
}

/** Wrong stores that ignore, or misread, the seal that a revocation replaces. */
const REPLACING: WrongStores = {
  'mark never replaces a seal': revoking(
    (row, replaces) => replaces === null && row.revokedAt === null,
  ),
  'mark replaces any seal': revoking((row, replaces) =>
    replaces === null ? row.revokedAt === null : row.revokedAt !== null && row.seal !== null,
  ),
  'mark replaces a missing seal': revoking(
    (row, replaces) =>
      (row.revokedAt === null && replaces === null) ||
      (row.revokedAt !== null && row.seal === replaces),
  ),
  'mark replaces a seal without case': revoking((row, replaces) =>
    replaces === null
      ? row.revokedAt === null
      : row.revokedAt !== null && row.seal === replaces.toLowerCase(),
  ),
  'mark replaces a seal of a key that is not revoked': revoking((row, replaces) =>
    replaces === null ? row.revokedAt === null : row.seal === replaces,
  ),
  'mark revokes a key that is not revoked, whatever seal it replaces': revoking(
    (row, replaces) => row.revokedAt === null || (replaces !== null && row.seal === replaces),
  ),
  'mark revokes a revoked key again without a seal to replace': revoking(
    (row, replaces) => replaces === null || (row.revokedAt !== null && row.seal === replaces),
  ),
  'mark treats an empty seal to replace as none': revoking((row, replaces) =>
    replaces ? row.revokedAt !== null && row.seal === replaces : row.revokedAt === null,
  ),
  'mark moves revokedAt if it replaces a seal': writing((_marked, _row, mark) =>
    mark.kind === 'revoke' && mark.replaces ? { revokedAt: mark.at } : {},
  ),
  'mark does not write changedAt if it replaces a seal': writing((marked, row, mark) => ({
    changedAt: mark.kind === 'revoke' && mark.replaces ? row.changedAt : marked.changedAt,
  })),
  'mark keeps endedBy if it replaces a seal': writing((marked, row, mark) => ({
    endedBy: mark.kind === 'revoke' && mark.replaces ? row.endedBy : marked.endedBy,
  })),
  'mark checks first and writes later to replace a seal': (right, rows) => ({
    mark: async (keyId: string, mark: Mark) => {
      const isReplacing = mark.kind === 'revoke' && Boolean(mark.replaces);
      return isReplacing ? lookingFirst(rows, ['revoke'])(keyId, mark) : right.mark(keyId, mark);
    },
  }),
};

/** Wrong stores with extra conditions. */
const TOO_STRICT: WrongStores = {
  'mark does not revoke retired keys': refusing('revoke', (row) => row.retireAt !== null),
  'mark does not revoke suspended keys': refusing('revoke', (row) => row.suspendedAt !== null),
  'mark does not revoke expired keys': refusing('revoke', (row) => row.expiresAt === 0),
  'mark does not revoke keys with withdrawals': refusing(
    'revoke',
    (row) => row.withdrawn.length > 0,
  ),
  'mark does not suspend retired keys': refusing('suspend', (row) => row.retireAt !== null),
  'mark does not resume retired keys': refusing('resume', (row) => row.retireAt !== null),
  'mark does not withdraw from revoked keys': refusing('withdraw', (row) => row.revokedAt !== null),
  'mark does not withdraw from suspended keys': refusing(
    'withdraw',
    (row) => row.suspendedAt !== null,
  ),
  'mark compares withdrawn as a set': byRule((row, mark) => {
    if (mark.kind !== 'retire') return applyMark(row, mark);
    const { withdrawn = [] } = mark;
    const isSame = [...withdrawn].sort().join() === [...row.withdrawn].sort().join();
    return applyMark(row, isSame ? { ...mark, withdrawn: row.withdrawn } : mark);
  }),
  'mark compares only the length of withdrawn': byRule((row, mark) => {
    if (mark.kind !== 'retire') return applyMark(row, mark);
    const isSame = (mark.withdrawn ?? []).length === row.withdrawn.length;
    return applyMark(row, isSame ? { ...mark, withdrawn: row.withdrawn } : mark);
  }),
};

/** Wrong stores that write too few, too many or other fields. */
const WRONG_CHANGES: WrongStores = {
  'mark keeps the old seal in a revocation': writingOf('revoke', (_marked, { seal }) => ({ seal })),
  'mark replaces a seal only with another': writingOf('revoke', (marked, row) => ({
    seal: marked.seal ?? row.seal,
  })),
  'mark clears a suspension in a revocation': writingOf('revoke', () => ({ suspendedAt: null })),
  'mark clears a retirement in a revocation': writingOf('revoke', () => ({ retireAt: null })),
  'mark clears a retirement in a resumption': writingOf('resume', () => ({ retireAt: null })),
  'mark keeps endedBy in a resumption': writingOf('resume', (_marked, { endedBy }) => ({
    endedBy,
  })),
  'mark keeps endReason in a resumption': writingOf('resume', (_marked, { endReason }) => ({
    endReason,
  })),
  'mark clears endedBy in a withdrawal': writingOf('withdraw', () => ({ endedBy: null })),
  'mark clears endReason in a withdrawal': writingOf('withdraw', () => ({ endReason: null })),
  'mark keeps only the newest withdrawal': writingOf('withdraw', ({ withdrawn }) => ({
    withdrawn: withdrawn.slice(-1),
  })),
  'mark adds a withdrawal at the front': writingOf('withdraw', ({ withdrawn }) => ({
    withdrawn: [...withdrawn.slice(-1), ...withdrawn.slice(0, -1)],
  })),
  'mark keeps 500 withdrawals': writingOf('withdraw', ({ withdrawn }) => ({
    withdrawn: withdrawn.slice(-500),
  })),
  'mark removes a withdrawn entity from accessibleEntities': writingOf(
    'withdraw',
    ({ accessibleEntities, withdrawn }) => ({
      accessibleEntities: accessibleEntities.filter((entity) => !withdrawn.includes(entity)),
    }),
  ),
  'mark does not write endedBy in a retirement': writingOf('retire', (_marked, { endedBy }) => ({
    endedBy,
  })),
  'mark keeps endedBy if by is null': writing((marked, row, { kind }) =>
    kind === 'resume' ? {} : { endedBy: marked.endedBy ?? row.endedBy },
  ),
  'mark writes null for an empty text': writing((marked) => ({ endedBy: marked.endedBy || null })),
  'mark cuts reasons at 255 characters': writing((marked) => ({
    endReason: marked.endReason?.slice(0, 255) ?? null,
  })),
  'mark uses retireAt as the time of the mark': writingOf('retire', ({ retireAt }) => ({
    changedAt: retireAt,
  })),
  'mark uses its time as retireAt': writing((_marked, _row, mark) =>
    mark.kind === 'retire' ? { retireAt: mark.at } : {},
  ),
  'mark writes the later of its time and retireAt as changedAt': writing((marked, _row, mark) =>
    mark.kind === 'retire'
      ? { changedAt: Math.max(marked.changedAt ?? mark.at, mark.retireAt) }
      : {},
  ),
  'mark writes no changedAt before 1970': writing((marked) => ({
    changedAt: Math.max(marked.changedAt ?? 0, 0),
  })),
  'mark limits retireAt by its own clock': writing(({ retireAt }) => ({
    retireAt: retireAt && Math.min(retireAt, TIME * 3),
  })),
  'mark writes another field': writing(() => ({ lastUsedAt: 1 })),
};

/** Wrong stores that return wrong answers, or write to other keys. */
const WRONG_CALLS: WrongStores = {
  'mark treats time 0 as no mark': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const row = rows.get(keyId);
      if (row !== undefined) {
        row.revokedAt = row.revokedAt || null;
        row.retireAt = row.retireAt || null;
      }
      return right.mark(keyId, mark);
    },
  }),
  'mark ignores times before the year 1': (right) => ({
    mark: (keyId: string, mark: Mark) =>
      mark.at < -62_135_596_800_000 ? false : right.mark(keyId, mark),
  }),
  'mark does not revoke keys that have ended by its own clock': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const expiresAt = rows.get(keyId)?.expiresAt ?? 0;
      return expiresAt < 0 ? false : right.mark(keyId, mark);
    },
  }),
  'mark always returns true': (right) => ({
    mark: (keyId: string, mark: Mark) => {
      right.mark(keyId, mark);
      return true;
    },
  }),
  'mark returns true if the row already has the value': (right, rows) => ({
    mark: (keyId: string, mark: Mark) =>
      right.mark(keyId, mark) || (rows.has(keyId) && rows.get(keyId)?.changedAt === mark.at),
  }),
  'mark returns a count': (right) => ({
    mark: (keyId: string, mark: Mark) => Number(right.mark(keyId, mark)),
  }),
  'mark throws on an unknown id': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      if (!rows.has(keyId)) throw new Error('none');
      return right.mark(keyId, mark);
    },
  }),
  'mark inserts a row for an unknown id': (right, rows) => ({
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
  'mark overwrites the time of a parallel mark': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const wrote = right.mark(keyId, mark);
      const row = rows.get(keyId);
      if (row && mark.kind === 'revoke') row.revokedAt = mark.at;
      return wrote;
    },
  }),
  'mark also marks successors': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      for (const row of rows.values()) {
        if (row.rotatedFrom === keyId) right.mark(row.keyId, mark);
      }
      return right.mark(keyId, mark);
    },
  }),
  'mark marks the whole lineage': (right, rows) => ({
    mark: (keyId: string, mark: Mark) => {
      const { rootKeyId = '' } = rows.get(keyId) ?? {};
      const lineage = right.listLineage({ rootKeyId, after: null, limit: 1000 });
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
        row.accessibleEntities.includes(mark.entityId),
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
      const entityId = rows.get(keyId)?.entityId;
      const own = [...rows.values()].filter((row) => row.entityId === entityId);
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
  ...withoutLaterTime(),
  ...REPLACING,
  ...TOO_STRICT,
  ...WRONG_CHANGES,
  ...WRONG_CALLS,
};
