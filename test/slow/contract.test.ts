/**
 * That the contract has teeth: a store with one promise broken fails it, and no test of it is there
 * for show.
 */
import type { Ending, KeyRecord, KeyStore, UsageEntry } from 'keyscope';
import { defineScopes, hasScopes, requireEntity, requireScopes } from 'keyscope';
import { storeContract, testPrincipal } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';

type Mutable = { -readonly [F in keyof KeyRecord]: KeyRecord[F] };
type Rows = Map<string, Mutable>;
type Query = Parameters<KeyStore['list']>[0];
type Entries = readonly UsageEntry[];

const copy = (row: KeyRecord): Mutable => structuredClone(row);
const tick = () => new Promise((resolve) => setImmediate(resolve));
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const newestFirst = (a: KeyRecord, b: KeyRecord) =>
  b.createdAt - a.createdAt || (a.keyId < b.keyId ? 1 : -1);

/** A right store over rows that a wrong one can reach. */
function rightStore(rows: Rows): KeyStore {
  const all = () => [...rows.values()];
  return {
    insert(record) {
      if (rows.has(record.keyId) || all().some((row) => row.digest === record.digest))
        throw new Error('exists');
      rows.set(record.keyId, copy(record));
    },
    findByDigest: (digests) =>
      all()
        .filter((row) => digests.includes(row.digest))
        .map(copy),
    findById: (keyId) =>
      all()
        .filter((row) => row.keyId === keyId)
        .map(copy)[0] ?? null,
    list: ({ entityUuid, after, limit }) =>
      all()
        .filter((row) => row.entityUuid === entityUuid)
        .sort(newestFirst)
        .filter((row) => after === null || isBehind(row, after))
        .slice(0, limit)
        .map(copy),
    markEnded(keyId, ending) {
      const row = rows.get(keyId);
      if (
        row === undefined ||
        row.revokedAt !== null ||
        ('retireAt' in ending && row.retireAt !== null)
      )
        return false;
      Object.assign(row, ending);
      return true;
    },
    touch(entries) {
      for (const { keyId, lastUsedAt, scopesUsed } of entries) {
        const row = rows.get(keyId);
        if (row === undefined) continue;
        row.lastUsedAt = Math.max(row.lastUsedAt ?? lastUsedAt, lastUsedAt);
        const used = { ...row.scopesUsed };
        for (const [scope, time] of Object.entries(scopesUsed))
          used[scope] = Math.max(used[scope] ?? time, time);
        row.scopesUsed = used;
      }
    },
    summarize: (now) => summary(all().filter((row) => isLive(row, now))),
  };
}

type Position = { readonly createdAt: number; readonly keyId: string };
const isBehind = (row: Position, { createdAt, keyId }: Position) =>
  row.createdAt < createdAt || (row.createdAt === createdAt && row.keyId < keyId);

const isLive = (row: KeyRecord, now: number) =>
  row.revokedAt === null &&
  (row.retireAt === null || now < row.retireAt) &&
  (row.expiresAt === null || now < row.expiresAt);

function summary(live: readonly KeyRecord[]) {
  const scheme = ({ digest }: KeyRecord) => digest.slice(0, digest.indexOf('$'));
  return [...new Set(live.map(scheme))].map((name) => {
    const own = live.filter((row) => scheme(row) === name);
    const used = own.flatMap((row) => row.lastUsedAt ?? []);
    return {
      scheme: name,
      live: own.length,
      lastUsedAt: used.length > 0 ? Math.max(...used) : null,
    };
  });
}

/** What a wrong store does instead; `rows` are what `right` reads and writes. */
type Mutant = (right: KeyStore, rows: Rows) => Partial<Record<keyof KeyStore, unknown>>;

// Far from any clock: what a wrong store takes for its own.
const T = 1_000_000_000_000;

/** An hour back within the hour that comes twice: Europe, 2024-10-27. */
const onTheWall = (time: number) =>
  time >= 1_729_990_800_000 && time < 1_729_994_400_000 ? time - 3_600_000 : time;
/** An hour on within the hour that does not come: Europe, 2024-03-31. */
const withoutTheHour = (time: number) =>
  time >= 1_711_850_400_000 && time < 1_711_854_000_000 ? time + 3_600_000 : time;

const lower = (text: unknown) => String(text).toLowerCase();
const sync = <T>(answer: unknown) => answer as T;
const every = (right: KeyStore, change: (row: Mutable) => unknown): Partial<KeyStore> => ({
  findById: (keyId) => {
    const row = sync<Mutable | null>(right.findById(keyId));
    if (row !== null) change(row);
    return row;
  },
  findByDigest: (digests) => {
    const found = sync<Mutable[]>(right.findByDigest(digests));
    for (const row of found) change(row);
    return found;
  },
});

/** Every text in `value`, names included, as `change` has it. */
function retold(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => retold(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [change(name), retold(item, change)]),
  );
}

const retell = (right: KeyStore, change: (text: string) => string) =>
  every(right, (row) => Object.assign(row, retold(row, change)));

const own = (rows: Rows, ids: readonly string[]) =>
  [...rows.values()].filter(({ keyId }) => ids.includes(keyId));
/** The other keys of the entities that these keys are of. */
function others(rows: Rows, ids: readonly string[]) {
  const entities = own(rows, ids).map(({ entityUuid }) => entityUuid);
  return [...rows.values()].filter(
    (row) => entities.includes(row.entityUuid) && !ids.includes(row.keyId),
  );
}

const marks = ({ revokedAt, retireAt }: Mutable) => ({ revokedAt, retireAt });
const usage = ({ lastUsedAt, scopesUsed }: Mutable) => ({ lastUsedAt, scopesUsed });
const whole = (row: Mutable) => row;

/** What writes a part of rows back as it is now. */
function remember(
  rows: Rows,
  read: readonly Mutable[],
  part: (row: Mutable) => Partial<Mutable>,
): () => void {
  const then = read.map(copy);
  return () => {
    for (const row of then) Object.assign(rows.get(row.keyId) ?? {}, part(row));
  };
}

/** Each has a right write, and beside it reads, waits and writes back what it read. */
const writingBack = (wait: () => Promise<unknown>): Readonly<Record<string, Mutant>> => {
  const touch = (
    right: KeyStore,
    rows: Rows,
    which: typeof own,
    part: typeof whole | typeof marks,
  ) => ({
    touch: async (entries: Entries) => {
      const ids = entries.map(({ keyId }) => keyId);
      const writeBack = remember(rows, which(rows, ids), part);
      await wait();
      writeBack();
      right.touch(entries);
    },
  });
  const markEnded = (right: KeyStore, rows: Rows, part: typeof usage | typeof marks) => ({
    markEnded: async (keyId: string, ending: Ending) => {
      const writeBack = remember(rows, others(rows, [keyId]), part);
      const wrote = right.markEnded(keyId, ending);
      await wait();
      writeBack();
      return wrote;
    },
  });
  return {
    'touch writes the marks back': (right, rows) => touch(right, rows, own, marks),
    'touch writes the marks back, and to end takes as long': (right, rows) => ({
      ...touch(right, rows, own, marks),
      markEnded: (keyId: string, ending: Ending) =>
        wait().then(() => right.markEnded(keyId, ending)),
    }),
    'touch writes the entity’s other keys back': (right, rows) => touch(right, rows, others, whole),
    'insert writes the entity’s other keys back': (right, rows) => ({
      insert: async (record: KeyRecord) => {
        right.insert(record);
        const writeBack = remember(rows, others(rows, [record.keyId]), whole);
        await wait();
        writeBack();
      },
    }),
    'markEnded writes the usage of the entity’s other keys back': (right, rows) =>
      markEnded(right, rows, usage),
    'markEnded writes the marks of the entity’s other keys back': (right, rows) =>
      markEnded(right, rows, marks),
  };
};

/** What a database takes between reading and writing. */
const WAITS: Readonly<Record<string, () => Promise<unknown>>> = {
  'a microtask': async () => {},
  'a turn': tick,
  'a millisecond': () => sleep(1),
  'up to 3 ms': () => sleep(Math.random() * 3),
};

/**
 * Right but for one list, and so on: each breaks one sentence of the doc comments of `KeyStore`.
 */
const MUTANTS: Readonly<Record<string, Mutant>> = {
  ...Object.fromEntries(
    Object.entries(WAITS).flatMap(([long, wait]) =>
      Object.entries(writingBack(wait)).map(([name, mutant]) => [`${name} after ${long}`, mutant]),
    ),
  ),
  // insert
  'insert overwrites a key id': (right, rows) => ({
    insert: (record: KeyRecord) => {
      rows.delete(record.keyId);
      return right.insert(record);
    },
  }),
  'insert ignores a second key id in silence': (right, rows) => ({
    insert: (record: KeyRecord) => (rows.has(record.keyId) ? undefined : right.insert(record)),
  }),
  'insert takes a second digest': (_right, rows) => ({
    insert: (record: KeyRecord) => {
      if (rows.has(record.keyId)) throw new Error('exists');
      rows.set(record.keyId, copy(record));
    },
  }),
  'insert replaces the row with the same digest': (right, rows) => ({
    insert: (record: KeyRecord) => {
      for (const row of rows.values()) if (row.digest === record.digest) rows.delete(row.keyId);
      return right.insert(record);
    },
  }),
  'insert throws but has written': (right, rows) => ({
    insert: (record: KeyRecord) => {
      if (![...rows.values()].some((row) => row.digest === record.digest))
        return right.insert(record);
      rows.set(record.keyId, { ...copy(record), digest: `${record.digest}-second` });
      throw new Error('exists');
    },
  }),
  'insert looks first and writes later': (right, rows) => ({
    insert: async (record: KeyRecord) => {
      if (sync<KeyRecord[]>(right.findByDigest([record.digest])).length > 0)
        throw new Error('exists');
      if (rows.has(record.keyId)) throw new Error('exists');
      await tick();
      rows.set(record.keyId, copy(record));
    },
  }),
  'insert answers before it has written': (_right, rows) => ({
    insert: (record: KeyRecord) => {
      setImmediate(() => rows.set(record.keyId, copy(record)));
    },
  }),
  'insert loses all but one of parallel writes': (_right, rows) => ({
    insert: async (record: KeyRecord) => {
      const before = new Map(rows);
      await tick();
      rows.clear();
      for (const row of before.values()) rows.set(row.keyId, row);
      rows.set(record.keyId, copy(record));
    },
  }),
  'insert refuses a digest that differs by trailing spaces': (right, rows) => ({
    insert: (record: KeyRecord) => {
      const cut = record.digest.trimEnd();
      if ([...rows.values()].some((row) => row.digest.trimEnd() === cut)) throw new Error('exists');
      return right.insert(record);
    },
  }),
  'insert refuses a digest that differs by case': (right, rows) => ({
    insert: (record: KeyRecord) => {
      const folded = lower(record.digest);
      if ([...rows.values()].some((row) => lower(row.digest) === folded)) throw new Error('exists');
      return right.insert(record);
    },
  }),
  'insert cuts what is longer than 65,535 characters': (right) => ({
    insert: (record: KeyRecord) => right.insert({ ...record, name: record.name.slice(0, 65_535) }),
  }),
  'insert cuts a digest at 96 characters': (right) => ({
    insert: (record: KeyRecord) => right.insert({ ...record, digest: record.digest.slice(0, 96) }),
  }),
  'insert refuses a digest of more than 96 characters': (right) => ({
    insert: (record: KeyRecord) => {
      if (record.digest.length > 96) throw new Error('too long');
      return right.insert(record);
    },
  }),
  'insert spends the key id of what it refuses': (right) => {
    const spent = new Set<string>();
    return {
      insert: (record: KeyRecord) => {
        if (spent.has(record.keyId)) throw new Error('exists');
        spent.add(record.keyId);
        return right.insert(record);
      },
    };
  },
  'insert spends the digest of what it refuses': (right) => {
    const spent = new Set<string>();
    return {
      insert: (record: KeyRecord) => {
        if (spent.has(record.digest)) throw new Error('exists');
        spent.add(record.digest);
        return right.insert(record);
      },
    };
  },
  'insert sorts the lists it is given': (right) => ({
    insert: (record: { scopes: string[] } & KeyRecord) => {
      right.insert(record);
      record.scopes.sort();
    },
  }),
  'insert cuts text at NUL': (right) => ({
    insert: (record: KeyRecord) =>
      right.insert({ ...record, name: record.name.split('\0')[0] ?? '' }),
  }),
  'insert throws at a NUL but has written': (right) => ({
    insert: (record: KeyRecord) => {
      right.insert(record);
      if (record.name.includes('\0')) throw new Error('NUL');
    },
  }),
  'insert rebuilds the listing, which is empty meanwhile': (right) => {
    let rebuilding = 0;
    return {
      insert: async (record: KeyRecord) => {
        rebuilding += 1;
        right.insert(record);
        await tick();
        rebuilding -= 1;
      },
      list: async (query: Query) =>
        rebuilding > 0 && query.after !== null ? [] : right.list(query),
    };
  },
  'insert keeps the object it was given': (_right, rows) => ({
    insert: (record: KeyRecord) => {
      rows.set(record.keyId, record);
    },
  }),
  'answers are the rows themselves': (_right, rows) => ({
    findById: (keyId: string) => rows.get(keyId) ?? null,
    findByDigest: (digests: readonly string[]) =>
      [...rows.values()].filter((row) => digests.includes(row.digest)),
  }),
  // fidelity
  'an empty text becomes null': (right) =>
    every(right, (row) => Object.assign(row, { justification: row.justification || null })),
  'null becomes an empty text': (right) =>
    every(right, (row) => Object.assign(row, { seal: row.seal ?? '' })),
  'null becomes undefined': (right) =>
    every(right, (row) => Object.assign(row, { expiresAt: row.expiresAt ?? undefined })),
  'a field is missing': (right) =>
    every(right, (row) => Reflect.deleteProperty(row, 'rotatedFrom')),
  'a column too many': (right) => every(right, (row) => Object.assign(row, { id: 1 })),
  'texts are trimmed': (right) =>
    every(right, (row) => Object.assign(row, { name: row.name.trim() })),
  'texts are folded to NFKD': (right) =>
    every(right, (row) => Object.assign(row, { name: row.name.normalize('NFKD') })),
  'texts are normalized to NFC': (right) => retell(right, (text) => text.normalize('NFC')),
  'texts lose a byte order mark': (right) => retell(right, (text) => text.replace(/^\ufeff/, '')),
  'texts lose control characters': (right) =>
    // As XML has it: neither tabs nor line ends, and no NUL.
    retell(right, (text) => text.replace(/[^\P{Cc}\t\n\r\0]/gu, '')),
  'texts have what is no character replaced': (right) =>
    retell(right, (text) => text.replace(/\p{Noncharacter_Code_Point}/gu, '\ufffd')),
  'names in metadata are cut at 255 characters': (right) =>
    every(right, (row) => {
      row.metadata = Object.fromEntries(
        Object.entries(row.metadata).map(([name, text]) => [name.slice(0, 255), text]),
      );
    }),
  'texts are Latin-1': (right) =>
    every(right, (row) =>
      Object.assign(row, { name: Buffer.from(row.name, 'latin1').toString('latin1') }),
    ),
  'texts are cut at 255 bytes': (right) =>
    every(right, (row) =>
      Object.assign(row, { name: Buffer.from(row.name).subarray(0, 255).toString() }),
    ),
  'numeric texts become numbers': (right) =>
    every(right, (row) =>
      Object.assign(row, { name: /^\d+$/.test(row.name) ? Number(row.name) : row.name }),
    ),
  'scopes are sorted': (right) =>
    every(right, (row) => Object.assign(row, { scopes: [...row.scopes].sort() })),
  'scopes are one comma-separated text': (right) =>
    every(right, (row) => Object.assign(row, { scopes: row.scopes.join(',').split(',') })),
  'lists end at 255': (right) =>
    every(right, (row) => Object.assign(row, { scopes: row.scopes.slice(0, 255) })),
  'entities end at 999': (right) =>
    every(right, (row) =>
      Object.assign(row, { accessibleEntities: row.accessibleEntities.slice(0, 999) }),
    ),
  'metadata loses __proto__': (right) =>
    every(right, (row) => {
      const kept: Record<string, string> = {};
      for (const [name, value] of Object.entries(row.metadata)) kept[name] = value;
      row.metadata = kept;
    }),
  'times are seconds': (right) =>
    every(right, (row) =>
      Object.assign(row, { createdAt: Math.floor(row.createdAt / 1000) * 1000 }),
    ),
  'times are 32 bits': (right) =>
    every(right, (row) =>
      Object.assign(row, { retireAt: row.retireAt === null ? null : row.retireAt % 2 ** 42 }),
    ),
  'times are bigint': (right) =>
    every(right, (row) => Object.assign(row, { createdAt: BigInt(row.createdAt) })),
  'times are Dates': (right) =>
    every(right, (row) => Object.assign(row, { createdAt: new Date(row.createdAt) })),
  'times go by a clock on the wall': (right) =>
    every(right, (row) =>
      Object.assign(row, { lastUsedAt: row.lastUsedAt && onTheWall(row.lastUsedAt) }),
    ),
  'times have no hour that the calendar leaves out': (right) =>
    every(right, (row) =>
      Object.assign(row, { expiresAt: row.expiresAt && withoutTheHour(row.expiresAt) }),
    ),
  'times end in 2038': (right) =>
    every(right, (row) =>
      Object.assign(row, { expiresAt: row.expiresAt && Math.min(row.expiresAt, 2 ** 31 * 1000) }),
    ),
  'times end with the year 9999': (right) =>
    every(right, (row) =>
      Object.assign(row, {
        createdAt:
          row.createdAt % 1000 === 1 ? Math.min(row.createdAt, 253_402_300_799_999) : row.createdAt,
      }),
    ),
  'times begin in 1970': (right) =>
    every(right, (row) =>
      Object.assign(row, { retireAt: row.retireAt && Math.max(row.retireAt, 0) }),
    ),
  'times are seconds with a fraction of 32 bits': (right) =>
    every(right, (row) => {
      const seconds = Math.floor((row.revokedAt ?? 0) / 1000);
      const rest = Math.fround((row.revokedAt ?? 0) / 1000 - seconds);
      row.revokedAt &&= seconds * 1000 + Math.floor(rest * 1000);
    }),
  'line ends are those of Unix': (right) =>
    every(right, (row) => Object.assign(row, { name: row.name.replaceAll('\r\n', '\n') })),
  'time 0 is null': (right) =>
    every(right, (row) => Object.assign(row, { revokedAt: row.revokedAt || null })),
  'list answers without metadata': (right) => ({
    list: (query: Query) =>
      sync<KeyRecord[]>(right.list(query)).map((row) => ({ ...row, metadata: {} })),
  }),
  // look-ups
  'findByDigest ignores case': (_right, rows) => ({
    findByDigest: (digests: unknown[]) =>
      [...rows.values()].filter((row) => digests.map(lower).includes(lower(row.digest))).map(copy),
  }),
  'findByDigest ignores trailing spaces': (right) => ({
    findByDigest: (digests: unknown[]) =>
      right.findByDigest(digests.map((digest) => String(digest).trimEnd())),
  }),
  'findByDigest stops at NUL': (right) => ({
    findByDigest: (digests: unknown[]) =>
      right.findByDigest(
        digests.map((digest) =>
          typeof digest === 'string' ? (digest.split('\0')[0] ?? '') : 'none',
        ),
      ),
  }),
  'findByDigest compares a prefix': (_right, rows) => ({
    findByDigest: (digests: unknown[]) =>
      [...rows.values()]
        .filter((row) =>
          digests.some((d) => typeof d === 'string' && d !== '' && row.digest.startsWith(d)),
        )
        .map(copy),
  }),
  'findByDigest finds half a surrogate pair': (right) => ({
    findByDigest: (digests: unknown[]) =>
      right.findByDigest(
        digests.map((d) => (typeof d === 'string' ? d.replace(/\p{Cs}/gu, '') : 'none')),
      ),
  }),
  'findByDigest reads a condition': (_right, rows) => ({
    findByDigest: (digests: unknown[]) =>
      [...rows.values()]
        .filter((row) => digests.some((d) => row.digest === d || `${d}`.includes('OR 1=1')))
        .map(copy),
  }),
  'findByDigest answers a batch to each of its callers': (right) => {
    let batch: string[] = [];
    return {
      findByDigest: async (digests: string[]) => {
        batch.push(...digests);
        await tick();
        const found = right.findByDigest([...new Set(batch)]);
        await tick();
        batch = [];
        return found;
      },
    };
  },
  'findByDigest binds the digests of the last call': (right) => {
    let bound: string[] = [];
    return {
      findByDigest: async (digests: string[]) => {
        bound = digests;
        await tick();
        return right.findByDigest(bound);
      },
    };
  },
  'findByDigest joins a look-up under way': (right) => {
    const under = new Map<string, Promise<unknown>>();
    return {
      findByDigest: async (digests: string[]) => {
        const name = `${digests}`;
        const send = async () => {
          const found = await right.findByDigest(digests);
          await tick();
          under.delete(name);
          return found;
        };
        if (!under.has(name)) under.set(name, send());
        return under.get(name);
      },
    };
  },
  'findByDigest takes patterns': (_right, rows) => ({
    findByDigest: (digests: unknown[]) =>
      [...rows.values()]
        .filter((row) => digests.some((d) => row.digest === d || d === '%'))
        .map(copy),
  }),
  'findByDigest compares with == to a number': (_right, rows) => ({
    findByDigest: (digests: unknown[]) =>
      [...rows.values()]
        .filter((row) => digests.some((d) => row.digest === d || d === 0))
        .map(copy),
  }),
  'findByDigest flattens lists': (right) => ({
    findByDigest: (digests: string[][]) => right.findByDigest(digests.flat()),
  }),
  'findByDigest reads objects as text': (right) => ({
    findByDigest: (digests: unknown[]) => right.findByDigest(digests.map((digest) => `${digest}`)),
  }),
  'findByDigest asks for the first alone': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.slice(0, 1)),
  }),
  'findByDigest takes at most eight': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.slice(0, 8)),
  }),
  'findByDigest takes at most fifty': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.slice(0, 50)),
  }),
  'findByDigest takes at most a thousand': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.slice(0, 1000)),
  }),
  'findByDigest takes the digests out of the list': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.splice(0)),
  }),
  'findByDigest of nothing answers everything': (right, rows) => ({
    findByDigest: (digests: string[]) =>
      digests.length === 0 ? [...rows.values()] : right.findByDigest(digests),
  }),
  'findByDigest leaves revoked keys out': (right) => ({
    findByDigest: (digests: string[]) =>
      sync<KeyRecord[]>(right.findByDigest(digests)).filter((row) => row.revokedAt === null),
  }),
  'findByDigest throws where there is none': (right) => ({
    findByDigest: (digests: string[]) => {
      const found = sync<KeyRecord[]>(right.findByDigest(digests));
      if (found.length === 0) throw new Error('none');
      return found;
    },
  }),
  'findById throws where there is none': (right) => ({
    findById: (keyId: string) => {
      const found = right.findById(keyId);
      if (found === null) throw new Error('none');
      return found;
    },
  }),
  'findById answers undefined': (right) => ({
    findById: (keyId: string) => right.findById(keyId) ?? undefined,
  }),
  'findById ignores case': (_right, rows) => ({
    findById: (keyId: unknown) =>
      [...rows.values()].filter((row) => row.keyId === lower(keyId)).map(copy)[0] ?? null,
  }),
  'findById finds by digest too': (right) => ({
    findById: (id: string) =>
      right.findById(id) ?? sync<KeyRecord[]>(right.findByDigest([id]))[0] ?? null,
  }),
  'reads are stale': (right) => {
    const seen = new Map<string, unknown>();
    return {
      findById: (keyId: string) => {
        if (!seen.has(keyId)) seen.set(keyId, right.findById(keyId));
        return seen.get(keyId);
      },
    };
  },
  // list
  'list is not sorted': (_right, rows) => ({
    list: ({ entityUuid, after, limit }: Query) =>
      [...rows.values()]
        .filter((row) => row.entityUuid === entityUuid && (after === null || isBehind(row, after)))
        .slice(0, limit)
        .map(copy),
  }),
  'list is oldest first': (right) => ({
    list: (query: Query) => sync<KeyRecord[]>(right.list(query)).reverse(),
  }),
  'list leaves ties as they come': (_right, rows) => ({
    list: ({ entityUuid, after, limit }: Query) =>
      [...rows.values()]
        .filter((row) => row.entityUuid === entityUuid && (after === null || isBehind(row, after)))
        .sort((a, b) => b.createdAt - a.createdAt)
        .slice(0, limit)
        .map(copy),
  }),
  'list sorts times as text': (_right, rows) => ({
    list: ({ entityUuid, after, limit }: Query) =>
      [...rows.values()]
        .filter((row) => row.entityUuid === entityUuid && (after === null || isBehind(row, after)))
        .sort((a, b) => (`${a.createdAt}${a.keyId}` < `${b.createdAt}${b.keyId}` ? 1 : -1))
        .slice(0, limit)
        .map(copy),
  }),
  'list ignores after': (right) => ({
    list: (query: Query) => right.list({ ...query, after: null }),
  }),
  'list repeats the record of the position': (right, rows) => ({
    list: (query: Query) => {
      const at = query.after === null ? undefined : rows.get(query.after.keyId);
      return [
        ...(at === undefined ? [] : [copy(at)]),
        ...sync<KeyRecord[]>(right.list(query)),
      ].slice(0, query.limit);
    },
  }),
  'list skips the rest of the position’s millisecond': (right) => ({
    list: (query: Query) =>
      right.list({ ...query, after: query.after && { ...query.after, keyId: '' } }),
  }),
  'list needs the record of the position': (right, rows) => ({
    list: (query: Query) => {
      const at = query.after === null ? null : rows.get(query.after.keyId);
      return at === undefined || (at && at.createdAt !== query.after?.createdAt)
        ? []
        : right.list(query);
    },
  }),
  'list counts pages and not positions': (right) => {
    const seen = new Map<string, number>();
    return {
      list: (query: Query) => {
        const from = query.after === null ? 0 : (seen.get(query.entityUuid) ?? 0);
        seen.set(query.entityUuid, from + query.limit);
        return sync<KeyRecord[]>(
          right.list({ ...query, after: null, limit: from + query.limit }),
        ).slice(from);
      },
    };
  },
  'list looks for its position among eight of a millisecond': (right, rows) => ({
    list: (query: Query) => {
      const { after } = query;
      if (after === null || !rows.has(after.keyId)) return right.list(query);
      const from = { createdAt: after.createdAt + 1, keyId: '' };
      const found = sync<KeyRecord[]>(
        right.list({ ...query, after: from, limit: query.limit + 8 }),
      );
      return found.filter((row) => isBehind(row, after)).slice(0, query.limit);
    },
  }),
  'list orders by a clock on the wall': (right) => ({
    list: (query: Query) => {
      const wall = (row: KeyRecord) => ({ ...row, createdAt: onTheWall(row.createdAt) });
      return sync<KeyRecord[]>(right.list(query)).sort((a, b) => newestFirst(wall(a), wall(b)));
    },
  }),
  'list ignores the limit': (right) => ({
    list: (query: Query) => right.list({ ...query, limit: 9999 }),
  }),
  'list stops at 10': (right) => ({
    list: (query: Query) => right.list({ ...query, limit: Math.min(10, query.limit) }),
  }),
  'list stops at 60': (right) => ({
    list: (query: Query) => right.list({ ...query, limit: Math.min(60, query.limit) }),
  }),
  'list stops at 100': (right) => ({
    list: (query: Query) => right.list({ ...query, limit: Math.min(100, query.limit) }),
  }),
  'list counts from the wrong record beyond 60': (right, rows) => ({
    list: (query: Query) => {
      const all = sync<KeyRecord[]>(right.list({ ...query, after: null, limit: rows.size }));
      const from = all.findIndex(({ keyId }) => keyId === query.after?.keyId) + 2;
      return all.length > 60 && from > 1 ? all.slice(from, from + query.limit) : right.list(query);
    },
  }),
  'list changes what it is asked': (right) => ({
    list: (query: { limit: number } & Query) => {
      query.limit += 1;
      return right.list({ ...query, limit: query.limit - 1 });
    },
  }),
  'list leaves ended keys out': (right) => ({
    list: (query: Query) =>
      sync<KeyRecord[]>(right.list(query)).filter((row) => row.revokedAt === null),
  }),
  'list leaves expired keys out': (right) => ({
    list: (query: Query) =>
      sync<KeyRecord[]>(right.list(query)).filter((row) => row.expiresAt === null),
  }),
  'list answers what can address the entity': (_right, rows) => ({
    list: ({ entityUuid, after, limit }: Query) =>
      [...rows.values()]
        .filter(
          (row) =>
            row.accessibleEntities.includes(entityUuid) && (after === null || isBehind(row, after)),
        )
        .sort(newestFirst)
        .slice(0, limit)
        .map(copy),
  }),
  'list mixes entities': (_right, rows) => ({
    list: ({ after, limit }: Query) =>
      [...rows.values()]
        .filter((row) => after === null || isBehind(row, after))
        .sort(newestFirst)
        .slice(0, limit)
        .map(copy),
  }),
  'list ignores case': (right) => ({
    list: (query: Query) => right.list({ ...query, entityUuid: lower(query.entityUuid) }),
  }),
  // markEnded
  'markEnded is unconditional': (_right, rows) => ({
    markEnded: (keyId: string, ending: object) => {
      const row = rows.get(keyId);
      if (row) Object.assign(row, ending);
      return row !== undefined;
    },
  }),
  'markEnded retires what is revoked': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const row = rows.get(keyId);
      if (!row || !('retireAt' in ending) || row.retireAt !== null)
        return right.markEnded(keyId, ending);
      row.retireAt = ending.retireAt;
      return true;
    },
  }),
  'markEnded does not revoke what is retired': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) =>
      rows.get(keyId)?.retireAt === null ? right.markEnded(keyId, ending) : false,
  }),
  'markEnded does not end what is expired': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) =>
      rows.get(keyId)?.expiresAt === 0 ? false : right.markEnded(keyId, ending),
  }),
  'markEnded takes time 0 for no mark': (_right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const row = rows.get(keyId);
      if (!row || row.revokedAt || ('retireAt' in ending && row.retireAt)) return false;
      Object.assign(row, ending);
      return true;
    },
  }),
  'markEnded is always true': (right) => ({
    markEnded: (keyId: string, ending: Ending) => {
      right.markEnded(keyId, ending);
      return true;
    },
  }),
  'markEnded is true to the same time again': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) =>
      right.markEnded(keyId, ending) ||
      ('revokedAt' in ending && rows.get(keyId)?.revokedAt === ending.revokedAt),
  }),
  'markEnded is true to the same retirement again': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) =>
      right.markEnded(keyId, ending) ||
      ('retireAt' in ending && rows.get(keyId)?.retireAt === ending.retireAt),
  }),
  'markEnded ends nothing later than its own clock': (right) => ({
    markEnded: (keyId: string, ending: Ending) =>
      right.markEnded(
        keyId,
        'retireAt' in ending ? { retireAt: Math.min(ending.retireAt, T * 3) } : ending,
      ),
  }),
  'markEnded retires nothing before the year 1': (right) => ({
    markEnded: (keyId: string, ending: Ending) =>
      'retireAt' in ending && ending.retireAt < -62_135_596_800_000
        ? false
        : right.markEnded(keyId, ending),
  }),
  'markEnded does not revoke what its own clock has ended': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const expiresAt = rows.get(keyId)?.expiresAt ?? 0;
      return 'revokedAt' in ending && expiresAt < 0 ? false : right.markEnded(keyId, ending);
    },
  }),
  'markEnded answers a count': (right) => ({
    markEnded: (keyId: string, ending: Ending) => Number(right.markEnded(keyId, ending)),
  }),
  'markEnded throws on an unknown id': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      if (!rows.has(keyId)) throw new Error('none');
      return right.markEnded(keyId, ending);
    },
  }),
  'markEnded makes a row for an unknown id': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const [some] = rows.values();
      if (some && !rows.has(keyId))
        rows.set(keyId, { ...copy(some), keyId, digest: `${some.digest}-${keyId}` });
      return right.markEnded(keyId, ending);
    },
  }),
  'markEnded looks first and writes later': (_right, rows) => ({
    markEnded: async (keyId: string, ending: Ending) => {
      const row = rows.get(keyId);
      if (!row || row.revokedAt !== null || ('retireAt' in ending && row.retireAt !== null))
        return false;
      await tick();
      Object.assign(row, ending);
      return true;
    },
  }),
  'markEnded writes the last of parallel times': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const wrote = right.markEnded(keyId, ending);
      const row = rows.get(keyId);
      if (row && 'revokedAt' in ending) row.revokedAt = ending.revokedAt;
      return wrote;
    },
  }),
  'markEnded retires by revoking': (right) => ({
    markEnded: (keyId: string, ending: Ending) =>
      right.markEnded(keyId, {
        revokedAt: 'retireAt' in ending ? ending.retireAt : ending.revokedAt,
      }),
  }),
  'markEnded writes another field': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const row = rows.get(keyId);
      if (row) row.lastUsedAt = 1;
      return right.markEnded(keyId, ending);
    },
  }),
  'markEnded ends successors as well': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      for (const row of rows.values()) if (row.rotatedFrom === keyId) Object.assign(row, ending);
      return right.markEnded(keyId, ending);
    },
  }),
  'markEnded ends the whole entity': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const wrote = right.markEnded(keyId, ending);
      for (const row of rows.values()) {
        if (wrote && row.revokedAt === null && row.entityUuid === rows.get(keyId)?.entityUuid)
          Object.assign(row, ending);
      }
      return wrote;
    },
  }),
  // touch
  'touch writes nothing': () => ({ touch: () => undefined }),
  'touch goes backwards': (right, rows) => ({
    touch: (entries: Entries) => {
      right.touch(entries);
      for (const { keyId, lastUsedAt } of entries)
        Object.assign(rows.get(keyId) ?? {}, { lastUsedAt });
    },
  }),
  'touch goes backwards for a scope': (right, rows) => ({
    touch: (entries: Entries) => {
      right.touch(entries);
      for (const { keyId, scopesUsed } of entries)
        Object.assign(rows.get(keyId)?.scopesUsed ?? {}, scopesUsed);
    },
  }),
  'touch skips scopes where lastUsedAt is older': (right, rows) => ({
    touch: (entries: Entries) =>
      right.touch(
        entries.filter(({ keyId, lastUsedAt }) => (rows.get(keyId)?.lastUsedAt ?? -1) < lastUsedAt),
      ),
  }),
  'touch replaces the scopes': (right, rows) => ({
    touch: (entries: Entries) => {
      for (const { keyId } of entries) Object.assign(rows.get(keyId) ?? {}, { scopesUsed: {} });
      right.touch(entries);
    },
  }),
  'touch forgets the scopes': (right) => ({
    touch: (entries: Entries) =>
      right.touch(entries.map((entry) => ({ ...entry, scopesUsed: {} }))),
  }),
  'touch compares times as text': (right, rows) => ({
    touch: (entries: Entries) =>
      right.touch(
        entries.filter(
          ({ keyId, lastUsedAt }) => !(`${rows.get(keyId)?.lastUsedAt ?? ''}` > `${lastUsedAt}`),
        ),
      ),
  }),
  'touch takes a name for a path': (right) => ({
    touch: (entries: Entries) => {
      const cut = (used: object) =>
        Object.entries(used).map(([scope, time]) => [scope.split('.')[0], time]);
      right.touch(
        entries.map((entry) => ({
          ...entry,
          scopesUsed: Object.fromEntries(cut(entry.scopesUsed)),
        })),
      );
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
  'touch makes a row for an unknown id': (right, rows) => ({
    touch: (entries: Entries) => {
      const [some] = rows.values();
      for (const { keyId } of entries) {
        if (some && !rows.has(keyId))
          rows.set(keyId, { ...copy(some), keyId, digest: `${some.digest}-${keyId}` });
      }
      right.touch(entries);
    },
  }),
  'touch takes the first entry alone': (right) => ({
    touch: (entries: Entries) => right.touch(entries.slice(0, 1)),
  }),
  'touch takes one entry a key, the last': (right) => ({
    touch: (entries: Entries) =>
      right.touch([...new Map(entries.map((entry) => [entry.keyId, entry])).values()]),
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
    touch: (entries: Entries) =>
      right.touch(
        entries.map((entry) => ({
          ...entry,
          scopesUsed: Object.fromEntries(Object.entries(entry.scopesUsed).slice(0, 100)),
        })),
      ),
  }),
  'touch takes time 0 for never': (right) => ({
    touch: (entries: Entries) => right.touch(entries.filter(({ lastUsedAt }) => lastUsedAt !== 0)),
  }),
  'touch takes time 0 of a scope for never': (right) => ({
    touch: (entries: Entries) => {
      const ever = (used: object) =>
        Object.fromEntries(Object.entries(used).filter(([, time]) => time !== 0));
      right.touch(entries.map((entry) => ({ ...entry, scopesUsed: ever(entry.scopesUsed) })));
    },
  }),
  'touch takes the ids out of its entries': (right) => ({
    touch: (entries: Entries) => {
      right.touch(structuredClone(entries));
      for (const entry of entries) Reflect.deleteProperty(entry, 'keyId');
    },
  }),
  'touch locks rows in the order given, which ends in a deadlock': (right) => {
    const locks = new Map<string, object>();
    return {
      touch: async (entries: Entries) => {
        const own = {};
        try {
          for (const { keyId } of entries) {
            for (let turns = 0; locks.has(keyId) && locks.get(keyId) !== own; turns++) {
              if (turns > 200) throw new Error('deadlock detected');
              await tick();
            }
            locks.set(keyId, own);
            await tick();
          }
          right.touch(entries);
        } finally {
          for (const [keyId, owner] of locks) if (owner === own) locks.delete(keyId);
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
      for (const { keyId } of entries) {
        const { lastUsedAt = null, scopesUsed = {} } = scratch.get(keyId) ?? {};
        Object.assign(rows.get(keyId) ?? {}, { lastUsedAt, scopesUsed });
      }
    },
  }),
  'touch writes back the whole record': (right, rows) => ({
    touch: async (entries: Entries) => {
      const marks = entries.map(({ keyId }) => [keyId, rows.get(keyId)?.revokedAt] as const);
      await tick();
      right.touch(entries);
      for (const [keyId, revokedAt] of marks)
        if (revokedAt === null) Object.assign(rows.get(keyId) ?? {}, { revokedAt });
    },
  }),
  'touch ends retirement': (right, rows) => ({
    touch: (entries: Entries) => {
      right.touch(entries);
      for (const { keyId } of entries) Object.assign(rows.get(keyId) ?? {}, { retireAt: null });
    },
  }),
  'touch touches the entity': (right, rows) => ({
    touch: (entries: Entries) => {
      right.touch(entries);
      const [first] = entries;
      const own = rows.get(first?.keyId ?? '');
      for (const row of rows.values())
        if (row.entityUuid === own?.entityUuid) row.lastUsedAt = own.lastUsedAt;
    },
  }),
  // summarize
  'summarize counts revoked keys': (_right, rows) => ({
    summarize: (now: number) =>
      summary([...rows.values()].filter((row) => isLive({ ...row, revokedAt: null }, now))),
  }),
  'summarize counts what is revoked at a time to come': (_right, rows) => ({
    summarize: (now: number) =>
      summary(
        [...rows.values()].filter(
          (row) => isLive({ ...row, revokedAt: null }, now) && now >= (row.revokedAt ?? now),
        ),
      ),
  }),
  'summarize counts expired keys': (_right, rows) => ({
    summarize: (now: number) =>
      summary([...rows.values()].filter((row) => isLive({ ...row, expiresAt: null }, now))),
  }),
  'summarize counts retired keys': (_right, rows) => ({
    summarize: (now: number) =>
      summary([...rows.values()].filter((row) => isLive({ ...row, retireAt: null }, now))),
  }),
  'summarize leaves retiring keys out': (_right, rows) => ({
    summarize: (now: number) =>
      summary([...rows.values()].filter((row) => isLive(row, now) && row.retireAt === null)),
  }),
  'summarize takes a deadline as the last live millisecond': (right) => ({
    summarize: (now: number) => right.summarize(now - 1),
  }),
  'summarize ends a millisecond early': (right) => ({
    summarize: (now: number) => right.summarize(now + 1),
  }),
  'summarize asks its own clock': (right) => ({
    summarize: (_now: number) => right.summarize(Date.now()),
  }),
  'summarize takes a clock for wrong that is before 1970': (right) => ({
    summarize: (now: number) => right.summarize(Math.max(now, 0)),
  }),
  'summarize takes no time after the year 9999': (right) => ({
    summarize: (now: number) => right.summarize(Math.min(now, 253_402_300_799_999)),
  }),
  'summarize lists schemes without live keys': (right, rows) => ({
    summarize: (now: number) => {
      const live = sync<{ scheme: string }[]>(right.summarize(now));
      const ended = summary([...rows.values()]).filter(
        ({ scheme }) => !live.some((row) => row.scheme === scheme),
      );
      return [...live, ...ended.map((row) => ({ ...row, live: 0 }))];
    },
  }),
  'summarize takes schemes by their first letters': (_right, rows) => ({
    summarize: (now: number) =>
      summary(
        [...rows.values()]
          .filter((row) => isLive(row, now))
          .map((row) => ({ ...row, digest: `${row.digest.slice(0, 25)}$` })),
      ),
  }),
  'summarize takes deadlines of 0 for none': (_right, rows) => ({
    summarize: (now: number) =>
      summary(
        [...rows.values()].filter((row) =>
          isLive({ ...row, retireAt: row.retireAt || null, expiresAt: row.expiresAt || null }, now),
        ),
      ),
  }),
  'summarize takes a revocation at 0 for none': (_right, rows) => ({
    summarize: (now: number) =>
      summary(
        [...rows.values()].filter((row) =>
          isLive({ ...row, revokedAt: row.revokedAt || null }, now),
        ),
      ),
  }),
  'summarize takes time 0 for never used': (right) => ({
    summarize: (now: number) =>
      sync<{ lastUsedAt: number }[]>(right.summarize(now)).map((row) => ({
        ...row,
        lastUsedAt: row.lastUsedAt || null,
      })),
  }),
  'summarize answers at most 20 schemes': (right) => ({
    summarize: (now: number) => sync<unknown[]>(right.summarize(now)).slice(-20),
  }),
  'summarize counts as text': (right) => ({
    summarize: (now: number) =>
      sync<{ live: number }[]>(right.summarize(now)).map((row) => ({
        ...row,
        live: String(row.live),
      })),
  }),
  'summarize has 0 for never used': (right) => ({
    summarize: (now: number) =>
      sync<{ lastUsedAt: number }[]>(right.summarize(now)).map((row) => ({
        ...row,
        lastUsedAt: row.lastUsedAt ?? 0,
      })),
  }),
  'summarize has the newest use as text order has it': (_right, rows) => ({
    summarize: (now: number) =>
      summary([...rows.values()].filter((row) => isLive(row, now))).map((row) => ({
        ...row,
        lastUsedAt: row.lastUsedAt === 10 ? 9 : row.lastUsedAt,
      })),
  }),
  'summarize counts one entity': (_right, rows) => ({
    summarize: (now: number) => {
      const [first] = rows.values();
      return summary(
        [...rows.values()].filter(
          (row) => isLive(row, now) && row.entityUuid === first?.entityUuid,
        ),
      );
    },
  }),
};

/**
 * As in a store that is written from the list of methods alone, where `summarize` has no parameter.
 */
const ownClock = ({ summarize, ...store }: KeyStore): KeyStore => ({
  ...store,
  summarize: () => summarize(Date.now()),
});

/** What nobody can see from the outside who cannot say what time it is. */
const UNSEEN = [
  'a deadline as the last',
  'a millisecond early',
  'its own clock',
  'before 1970',
  'after the year 9999',
];

const byOwnClock = Object.entries(MUTANTS)
  .filter(
    ([name]) => name.startsWith('summarize ') && !UNSEEN.some((words) => name.includes(words)),
  )
  .map(([name, mutant]): [string, Mutant] => [
    `${name}, by a clock of its own`,
    (right, rows) => ownClock({ ...right, ...mutant(right, rows) } as KeyStore),
  ]);
const ALL: typeof MUTANTS = { ...MUTANTS, ...Object.fromEntries(byOwnClock) };

const TITLES: string[] = [];
storeContract(
  (title) => TITLES.push(title),
  () => rightStore(new Map()),
);

const answers = new Map<string, Promise<boolean>>();

/** Whether the contract's test `title` fails on the wrong store `name`. */
function fails(title: string, name: string): Promise<boolean> {
  const pair = `${title} / ${name}`;
  const known = answers.get(pair);
  if (known !== undefined) return known;
  const make = () => {
    const rows: Rows = new Map();
    const right = rightStore(rows);
    return { ...right, ...ALL[name]?.(right, rows) } as KeyStore;
  };
  let answer = Promise.resolve(false);
  storeContract((registered, run) => {
    if (registered !== title) return;
    answer = run().then(
      () => false,
      (error: unknown) => {
        // What the suite throws says what broke; an engine's error would be a bug of the suite or
        // of the mutant.
        const said = error instanceof Error && error.constructor === Error && error.message !== '';
        if (!said) throw new Error(`${pair}: said nothing`, { cause: error });
        return true;
      },
    );
  }, make);
  answers.set(pair, answer);
  return answer;
}

/** The first of `candidates` that `holds`; those about the same method come first. */
async function first(
  like: string,
  candidates: readonly string[],
  holds: (candidate: string) => Promise<boolean>,
) {
  const [method = ''] = like.split(' ');
  const near = candidates.filter((candidate) => candidate.startsWith(method));
  for (const candidate of [...near, ...candidates]) if (await holds(candidate)) return candidate;
  return undefined;
}

describe('the store contract', () => {
  const names = Object.keys(ALL);
  storeContract(test, () => rightStore(new Map()));

  // Refused by two tests, for it cannot be asked for another time than now.
  describe('takes a store whose summarize asks a clock of its own', () =>
    storeContract(test, () => ownClock(rightStore(new Map()))));

  test.each(names)('refuses a store where %s', async (name) => {
    expect(await first(name, TITLES, (title) => fails(title, name))).toBeDefined();
  });

  test.each(TITLES)('needs its test "%s": some wrong store fails it', async (title) => {
    expect(await first(title, names, (name) => fails(title, name))).toBeDefined();
  });

  test('closes the store, also after a failure', async () => {
    let closed = 0;
    let runs = 0;
    const broken: KeyStore = {
      ...rightStore(new Map()),
      insert: () => Promise.reject(new Error('down')),
    };
    const tests: (() => Promise<void>)[] = [];
    storeContract(
      (_name, run) => tests.push(run),
      async () => {
        runs += 1;
        return {
          ...broken,
          close: async () => {
            closed += 1;
          },
        };
      },
    );
    for (const run of tests) await run().catch(() => undefined);
    expect([closed, runs]).toEqual([tests.length, tests.length]);
  });
});

describe('storeContract', () => {
  const store = rightStore(new Map());

  // Each test by itself failed with an engine's error, which spoke of no store.
  test.each([
    ['a store instead of a factory', store],
    ['a promise of a store', Promise.resolve(store)],
    ['no factory', undefined],
  ])('refuses %s before it registers a test', (_what, odd) => {
    const registered: string[] = [];
    const call = () =>
      storeContract((title) => registered.push(title), odd as unknown as () => KeyStore);
    const message =
      'storeContract: pass a function that makes a store, () => myStore(), not a store';
    expect(call).toThrow(new TypeError(message));
    expect(registered).toEqual([]);
  });

  test('refuses what registers no test', () => {
    const swapped = [store, () => undefined] as unknown as Parameters<typeof storeContract>;
    expect(() => storeContract(...swapped)).toThrow(
      'storeContract: pass the function that registers a test',
    );
  });
});

describe('testPrincipal', () => {
  const catalog = defineScopes({
    threats: { read: 'Read threats.', write: 'Update threats.' },
    decoys: { read: 'Read decoys.' },
  });
  const entity = '0a0a0a0a-0000-4000-8000-00000000000a';

  test('makes a principal that the guards take', () => {
    const principal = testPrincipal({
      catalog,
      scopes: ['decoys:read', 'threats:read'],
      entityUuid: entity,
    });
    expect(principal).toEqual({
      keyId: '00000000-0000-4000-8000-000000000002',
      name: 'test',
      entityUuid: entity,
      accessibleEntities: [entity],
      scopes: ['threats:read', 'decoys:read'],
      metadata: {},
      expiresAt: null,
      via: 'key',
    });
    expect(hasScopes(principal, 'threats:read')).toBe(true);
    expect(() => requireScopes(principal, 'threats:write')).toThrow();
    expect(() => requireEntity(principal, '0b0b0b0b-0000-4000-8000-00000000000b')).toThrow();
    expect(
      Object.isFrozen(principal) &&
        Object.isFrozen(principal.scopes) &&
        Object.isFrozen(principal.metadata),
    ).toBe(true);
  });

  test('takes what a test wants otherwise', () => {
    const accessibleEntities = ['0b0b0b0b-0000-4000-8000-00000000000b'];
    const given = {
      keyId: 'k',
      name: 'n',
      metadata: { a: 'b' },
      expiresAt: 5,
      via: 'jwt',
    } as const;
    const principal = testPrincipal({
      catalog,
      scopes: [],
      entityUuid: entity,
      accessibleEntities,
      ...given,
    });
    expect(principal).toMatchObject({
      ...given,
      scopes: [],
      accessibleEntities: [entity, ...accessibleEntities],
    });
  });

  test.each([
    ['a scope that the catalog lacks', { scopes: ['users:read'] }],
    ['a pattern', { scopes: ['threats:*'] }],
    ['no list', { scopes: 'threats:read' }],
    ['an entity that is no UUID', { entityUuid: 'a' }],
    ['entities that are no UUIDs', { accessibleEntities: ['a'] }],
    ['an unknown option', { scope: [] }],
  ])('refuses %s with a TypeError', (_what, given) => {
    const options = { catalog, scopes: [], ...given } as unknown as Parameters<
      typeof testPrincipal
    >[0];
    expect(() => testPrincipal(options)).toThrow(TypeError);
  });

  // Without a catalog, an engine's error spoke of `all`.
  test.each([undefined, null, {}, ['threats:read'], { all: ['threats:read'] }])(
    'says what a catalog is: %j',
    (odd) => {
      const options = { catalog: odd, scopes: [] } as unknown as Parameters<
        typeof testPrincipal
      >[0];
      const message = 'testPrincipal: catalog: pass what defineScopes returned';
      expect(() => testPrincipal(options)).toThrow(new TypeError(message));
      if (odd === undefined)
        expect(() => testPrincipal({ scopes: [] } as never)).toThrow(new TypeError(message));
    },
  );

  test('takes no option from a class or a prototype', () => {
    class Options {
      readonly catalog = catalog;
      get scopes(): readonly ['threats:read'] {
        return ['threats:read'];
      }
    }
    expect(() => testPrincipal(new Options())).toThrow(
      /^testPrincipal: write scopes as an own field/,
    );
    Object.assign(Object.prototype, { expiresAt: 5 });
    try {
      const given = { catalog, scopes: [] };
      expect(() => testPrincipal(given)).toThrow(/^testPrincipal: write expiresAt as an own field/);
    } finally {
      Reflect.deleteProperty(Object.prototype, 'expiresAt');
    }
  });
});
