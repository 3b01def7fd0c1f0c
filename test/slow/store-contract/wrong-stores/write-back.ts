/** Stores that wait between reading and writing, and write back more than they should. */
import type { KeyRecord, Mark } from 'keyscope';
import { copy, type Row, type Rows, type SyncStore } from '../right-store.ts';
import { type Entries, tick, type WrongStore, type WrongStores } from '../wrong-store.ts';

/** Chooses the rows to read, given the ids of the rows to write. */
type Which = (rows: Rows, ids: readonly string[]) => readonly Row[];

/** Chooses the fields to write back. */
type Part = (row: Row) => Partial<Row>;

type Wait = () => Promise<unknown>;

function own(rows: Rows, ids: readonly string[]): readonly Row[] {
  return [...rows.values()].filter(({ keyId }) => ids.includes(keyId));
}

/** The other keys of the same entities. */
function others(rows: Rows, ids: readonly string[]): readonly Row[] {
  const entities = own(rows, ids).map(({ entityId }) => entityId);
  const all = [...rows.values()].filter(({ entityId }) => entities.includes(entityId));
  return all.filter(({ keyId }) => !ids.includes(keyId));
}

const marks: Part = ({ revokedAt, suspendedAt, retireAt, withdrawn }) => ({
  revokedAt,
  suspendedAt,
  retireAt,
  withdrawn,
});
const usage: Part = ({ lastUsedAt, scopesUsed }) => ({ lastUsedAt, scopesUsed });
const whole: Part = (row) => row;

/** Reads rows, and returns a function that writes some of their fields back. */
function remember(rows: Rows, read: readonly Row[], part: Part): () => void {
  const then = read.map(copy);
  return () => {
    for (const row of then) {
      Object.assign(rows.get(row.keyId) ?? {}, part(row));
    }
  };
}

function touchWritesBack(wait: Wait, which: Which, part: Part): WrongStore {
  return (right, rows) => ({
    touch: async (entries: Entries) => {
      const ids = entries.map(({ keyId }) => keyId);
      const writeBack = remember(rows, which(rows, ids), part);
      await wait();
      writeBack();
      right.touch(entries);
    },
  });
}

function markWritesBack(wait: Wait, part: Part): WrongStore {
  return (right, rows) => ({
    mark: async (keyId: string, mark: Mark) => {
      const writeBack = remember(rows, others(rows, [keyId]), part);
      const wrote = right.mark(keyId, mark);
      await wait();
      writeBack();
      return wrote;
    },
  });
}

function insertWritesBack(wait: Wait): WrongStore {
  return (right, rows) => ({
    insert: async (record: KeyRecord) => {
      right.insert(record);
      const writeBack = remember(rows, others(rows, [record.keyId]), whole);
      await wait();
      writeBack();
    },
  });
}

/** The same store with an equally slow `mark`. */
function slowToMark(wait: Wait, wrong: WrongStore): WrongStore {
  return (right: SyncStore, rows) => ({
    ...wrong(right, rows),
    mark: async (keyId: string, mark: Mark) => {
      await wait();
      return right.mark(keyId, mark);
    },
  });
}

/** The time that a database takes between reading and writing. */
const WAITS: Readonly<Record<string, Wait>> = {
  'a microtask': async () => {},
  'a turn': tick,
  'a millisecond': () => sleep(1),
  'up to 3 ms': () => sleep(Math.random() * 3),
};

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Makes stores that write correctly, but also write back what they read before waiting. */
function writingBack(wait: Wait): WrongStores {
  const touchesMarks = touchWritesBack(wait, own, marks);
  return {
    'touch writes the marks back': touchesMarks,
    'touch writes the marks back, next to a slow mark,': slowToMark(wait, touchesMarks),
    'touch writes the entity’s other keys back': touchWritesBack(wait, others, whole),
    'insert writes the entity’s other keys back': insertWritesBack(wait),
    'mark writes the usage of the entity’s other keys back': markWritesBack(wait, usage),
    'mark writes the marks of the entity’s other keys back': markWritesBack(wait, marks),
  };
}

const afterEachWait = Object.entries(WAITS).flatMap(([long, wait]) =>
  Object.entries(writingBack(wait)).map(
    ([name, wrong]) => [`${name} after ${long}`, wrong] as const,
  ),
);

export const WRONG_WRITES_BACK: WrongStores = Object.fromEntries(afterEachWait);
