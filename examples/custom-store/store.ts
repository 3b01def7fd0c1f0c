/**
 * A store of your own: keys in one JSON file. Like any store outside the package, it imports only
 * types from `keyscope` and passes the published contract: copy both files and run
 * `npx tsx --test contract.ts`.
 *
 *     const store = jsonFileStore('keys.json');
 *     const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers });
 *
 * What to learn from it: answers are copies; a write is on disk before it is acknowledged, and a
 * failed one has changed nothing; a condition is checked where its write is made; ids and digests
 * are compared with `===`; nothing asks the clock. Being synchronous makes each write atomic:
 * otherwise that takes a transaction or a conditional statement.
 *
 * What it does not do: serve two processes, which would overwrite each other's keys; many keys,
 * because each write writes all of them; Windows, where a folder cannot be synced; reports, which
 * need the optional methods of `KeyStore`. It blocks the process while the disk syncs.
 */
import fs from 'node:fs';
import { dirname } from 'node:path';
import type { KeyRecord, KeyStore, ListPosition, Mark } from 'keyscope';

/** Replaces the file: readers find the old content or the new one, whenever the power fails. */
function replace(path: string, content: string): void {
  fs.writeFileSync(`${path}.new`, content, { mode: 0o600, flush: true });
  fs.renameSync(`${path}.new`, path);
  // The new name is in the folder, which is synced separately.
  const folder = fs.openSync(dirname(path), 'r');
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}

/** The order of listings; no two keys have the same id. */
function newestFirst(one: ListPosition, other: ListPosition): number {
  if (one.createdAt !== other.createdAt) return other.createdAt - one.createdAt;
  return one.keyId < other.keyId ? 1 : -1;
}

/** What a mark changes; null where its condition does not hold. `KeyStore` has the rules. */
function changesOf(record: KeyRecord, mark: Mark): Partial<KeyRecord> | null {
  const { revokedAt, suspendedAt, retireAt, withdrawn, seal } = record;
  const { at } = mark;
  if (mark.kind === 'withdraw') {
    if (withdrawn.includes(mark.entityUuid)) return null;
    return { changedAt: at, withdrawn: [...withdrawn, mark.entityUuid] };
  }
  // A row that somebody else has marked is revoked again, if its seal is the one that was read.
  const isReplaced = mark.kind === 'revoke' && seal !== null && seal === mark.replaces;
  if (revokedAt !== null && !isReplaced) return null;
  if (mark.kind === 'resume') {
    if (suspendedAt === null) return null;
    return { changedAt: at, suspendedAt: null, endedBy: null, endReason: null };
  }
  const end = { changedAt: at, endedBy: mark.by, endReason: mark.reason };
  if (mark.kind === 'revoke') return { ...end, revokedAt: at, seal: mark.seal };
  if (suspendedAt !== null) return null;
  if (mark.kind === 'suspend') return { ...end, suspendedAt: at };
  const isAsRead = withdrawn.join() === (mark.withdrawn ?? []).join();
  if (retireAt !== null || !isAsRead) return null;
  return { ...end, retireAt: at, changedAt: mark.changedAt ?? at };
}

/** The later of two times; the first may be missing. */
function later(known: number | null | undefined, time: number): number {
  return Math.max(known ?? time, time);
}

export function jsonFileStore(path: string): KeyStore {
  const content = fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : '[]';
  const records = JSON.parse(content) as KeyRecord[];
  let byId = new Map(records.map((record) => [record.keyId, record]));
  const all = () => [...byId.values()];

  function write(changed: Iterable<KeyRecord>): void {
    const next = new Map(byId);
    for (const record of changed) next.set(record.keyId, structuredClone(record));
    replace(path, JSON.stringify([...next.values()]));
    byId = next;
  }

  return {
    insert(record) {
      const digests = all().map(({ digest }) => digest);
      const exists = byId.has(record.keyId) || digests.includes(record.digest);
      if (exists) throw new Error('a record with this key id or digest exists already');
      write([record]);
    },

    // For more than a few keys, add a second Map, by digest.
    findByDigest(digests) {
      return structuredClone(all().filter(({ digest }) => digests.includes(digest)));
    },

    findById: (keyId) => structuredClone(byId.get(keyId) ?? null),

    list({ prefix, entityUuid, addressing = false, after, limit }) {
      const listed = all()
        .filter((record) => record.prefix === prefix)
        .filter((record) => record.accessibleEntities.includes(entityUuid))
        .filter((record) => (record.entityUuid === entityUuid) !== addressing);
      const rest = listed.filter((record) => after === null || newestFirst(record, after) > 0);
      return structuredClone(rest.sort(newestFirst).slice(0, limit));
    },

    listLineage(rootKeyId) {
      const isOne = ({ rootKeyId: root, issuedUnder }: KeyRecord): boolean =>
        root === rootKeyId || (issuedUnder ?? root) === rootKeyId;
      return structuredClone(all().filter(isOne));
    },

    mark(keyId, mark) {
      const record = byId.get(keyId);
      const changes = record === undefined ? null : changesOf(record, mark);
      if (record === undefined || changes === null) return false;
      write([{ ...record, ...changes }]);
      return true;
    },

    touch(entries) {
      const changed = new Map<string, KeyRecord>();
      for (const entry of entries) {
        const record = changed.get(entry.keyId) ?? byId.get(entry.keyId);
        if (record === undefined) continue;
        const scopesUsed = { ...record.scopesUsed };
        for (const [scope, time] of Object.entries(entry.scopesUsed)) {
          scopesUsed[scope] = later(scopesUsed[scope], time);
        }
        const lastUsedAt = later(record.lastUsedAt, entry.lastUsedAt);
        changed.set(record.keyId, { ...record, lastUsedAt, scopesUsed });
      }
      if (changed.size > 0) write(changed.values());
    },
  };
}
