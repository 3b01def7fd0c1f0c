/** Stores whose `touch` breaks a promise. */
import type { UsageEntry } from 'keyscope';
import { copy, type Row, type Rows, rightStore } from '../right-store.ts';
import { type Entries, lower, makeRow, tick, type WrongStores } from '../wrong-store.ts';

type Used = UsageEntry['scopesUsed'];

/** Returns the entries with their used scopes changed. */
function withScopesUsed(entries: Entries, change: (used: Used) => Used): Entries {
  return entries.map((entry) => ({ ...entry, scopesUsed: change(entry.scopesUsed) }));
}

/** Changes the rows of the entries. */
function assignEach(
  rows: Rows,
  entries: Entries,
  change: (entry: UsageEntry) => Partial<Row>,
): void {
  for (const entry of entries) {
    Object.assign(rows.get(entry.keyId) ?? {}, change(entry));
  }
}

export const WRONG_TOUCHES: WrongStores = {
  'touch writes nothing': () => ({ touch: () => undefined }),
  'touch moves lastUsedAt back': (right, rows) => ({
    touch: (entries: Entries) => {
      right.touch(entries);
      assignEach(rows, entries, ({ lastUsedAt }) => ({ lastUsedAt }));
    },
  }),
  'touch moves a scope back': (right, rows) => ({
    touch: (entries: Entries) => {
      right.touch(entries);
      for (const { keyId, scopesUsed } of entries) {
        Object.assign(rows.get(keyId)?.scopesUsed ?? {}, scopesUsed);
      }
    },
  }),
  'touch skips scopes if lastUsedAt is older': (right, rows) => ({
    touch: (entries: Entries) => {
      const lastUse = (keyId: string) => rows.get(keyId)?.lastUsedAt ?? -1;
      right.touch(entries.filter(({ keyId, lastUsedAt }) => lastUse(keyId) < lastUsedAt));
    },
  }),
  'touch replaces the scopes': (right, rows) => ({
    touch: (entries: Entries) => {
      assignEach(rows, entries, () => ({ scopesUsed: {} }));
      right.touch(entries);
    },
  }),
  'touch ignores the scopes': (right) => ({
    touch: (entries: Entries) => right.touch(withScopesUsed(entries, () => ({}))),
  }),
  'touch compares times as text': (right, rows) => ({
    touch: (entries: Entries) => {
      const lastUse = (keyId: string) => String(rows.get(keyId)?.lastUsedAt ?? '');
      right.touch(entries.filter(({ keyId, lastUsedAt }) => lastUse(keyId) <= String(lastUsedAt)));
    },
  }),
  'touch treats a name as a path': (right) => ({
    touch: (entries: Entries) => {
      const firstSteps = (used: Used) => {
        const cut = Object.entries(used).map(([scope, time]) => {
          return [scope.replace(/\..*$/s, ''), time] as const;
        });
        return Object.fromEntries(cut);
      };
      right.touch(withScopesUsed(entries, firstSteps));
    },
  }),
  'touch throws on an unknown id': (right, rows) => ({
    touch: (entries: Entries) => {
      if (entries.some(({ keyId }) => !rows.has(keyId))) throw new Error('none');
      right.touch(entries);
    },
  }),
  'touch ignores case': (right) => ({
    touch: (entries: Entries) =>
      right.touch(entries.map((entry) => ({ ...entry, keyId: lower(entry.keyId) }))),
  }),
  'touch inserts a row for an unknown id': (right, rows) => ({
    touch: (entries: Entries) => {
      for (const { keyId } of entries) {
        makeRow(rows, keyId);
      }
      right.touch(entries);
    },
  }),
  'touch uses only the first entry': (right) => ({
    touch: (entries: Entries) => right.touch(entries.slice(0, 1)),
  }),
  'touch uses only the last entry per key': (right) => ({
    touch: (entries: Entries) => {
      const last = new Map(entries.map((entry) => [entry.keyId, entry]));
      right.touch([...last.values()]);
    },
  }),
  'touch keeps 25 entries of a batch': (right) => ({
    touch: (entries: Entries) => right.touch(entries.slice(0, 25)),
  }),
  'touch keeps 999 entries of a batch': (right) => ({
    touch: (entries: Entries) => right.touch(entries.slice(0, 999)),
  }),
  'touch throws above 100 entries': (right) => ({
    touch: (entries: Entries) => {
      if (entries.length > 100) throw new Error('too many parameters');
      return right.touch(entries);
    },
  }),
  'touch keeps 100 scopes of a key': (right) => ({
    touch: (entries: Entries) => {
      const few = (used: Used) => Object.fromEntries(Object.entries(used).slice(0, 100));
      right.touch(withScopesUsed(entries, few));
    },
  }),
  'touch treats time 0 as never': (right) => ({
    touch: (entries: Entries) => right.touch(entries.filter(({ lastUsedAt }) => lastUsedAt !== 0)),
  }),
  'touch treats time 0 of a scope as never': (right) => ({
    touch: (entries: Entries) => {
      const ever = (used: Used) =>
        Object.fromEntries(Object.entries(used).filter(([, time]) => time !== 0));
      right.touch(withScopesUsed(entries, ever));
    },
  }),
  'touch removes the ids from its entries': (right) => ({
    touch: (entries: Entries) => {
      right.touch(structuredClone(entries));
      for (const entry of entries) {
        Reflect.deleteProperty(entry, 'keyId');
      }
    },
  }),
  'touch locks rows in the given order and deadlocks': (right) => {
    const owners = new Map<string, object>();
    const lock = async (keyId: string, owner: object) => {
      for (let turns = 0; owners.has(keyId) && owners.get(keyId) !== owner; turns++) {
        if (turns > 200) throw new Error('deadlock detected');
        await tick();
      }
      owners.set(keyId, owner);
      await tick();
    };
    const unlockAll = (owner: object) => {
      for (const [keyId, other] of owners) {
        if (other === owner) owners.delete(keyId);
      }
    };
    return {
      touch: async (entries: Entries) => {
        const owner = {};
        try {
          for (const { keyId } of entries) {
            await lock(keyId, owner);
          }
          right.touch(entries);
        } finally {
          unlockAll(owner);
        }
      },
    };
  },
  'touch fails on an empty batch': (right) => ({
    touch: (entries: Entries) => {
      if (entries.length === 0) throw new Error('empty');
      right.touch(entries);
    },
  }),
  'touch reads and writes back the scopes': (_right, rows) => ({
    touch: async (entries: Entries) => {
      const scratch: Rows = new Map([...rows].map(([keyId, row]) => [keyId, copy(row)]));
      rightStore(scratch).touch(entries);
      await tick();
      assignEach(rows, entries, ({ keyId }) => {
        const { lastUsedAt = null, scopesUsed = {} } = scratch.get(keyId) ?? {};
        return { lastUsedAt, scopesUsed };
      });
    },
  }),
  'touch writes back the whole record': (right, rows) => ({
    touch: async (entries: Entries) => {
      const live = entries.filter(({ keyId }) => rows.get(keyId)?.revokedAt === null);
      await tick();
      right.touch(entries);
      assignEach(rows, live, () => ({ revokedAt: null }));
    },
  }),
  'touch clears a retirement': (right, rows) => ({
    touch: (entries: Entries) => {
      right.touch(entries);
      assignEach(rows, entries, () => ({ retireAt: null }));
    },
  }),
  'touch touches all keys of the entity': (right, rows) => ({
    touch: (entries: Entries) => {
      right.touch(entries);
      const [first] = entries;
      const touched = rows.get(first?.keyId ?? '');
      if (touched === undefined) return;
      const own = [...rows.values()].filter((row) => row.entityId === touched.entityId);
      for (const row of own) {
        row.lastUsedAt = touched.lastUsedAt;
      }
    },
  }),
};
