/**
 * A store of your own, which keeps keys in one JSON file. Like any store outside the package, it
 * imports only types from `keyscope` and passes the published contract. Copy both files and run
 * `npx tsx --test contract.ts`.
 *
 *     const store = jsonFileStore('keys.json');
 *     const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers });
 *
 * Your store needs the same properties:
 *
 * - It returns copies of its records.
 * - A write is on disk before it returns, and a failed write changes nothing.
 * - Each condition is checked together with its write. This store is synchronous, so each write is
 *   atomic. Other stores need a transaction or a conditional statement.
 * - It compares ids and digests with `===`, and never reads the clock.
 *
 * This store is not for two processes, which would overwrite each other's keys; for many keys,
 * because each write writes the whole file; for Windows, which cannot sync a folder; or for
 * reports, which need the optional methods of `KeyStore`. It blocks the process while the disk
 * syncs.
 */
import fs from 'node:fs';
import { dirname } from 'node:path';
import type { KeyRecord, KeyStore, ListPosition, Mark } from 'keyscope';

/** Replaces the file. After a power failure, it has either the old content or the new one. */
function replace(path: string, content: string): void {
  fs.writeFileSync(`${path}.new`, content, { mode: 0o600, flush: true });
  fs.renameSync(`${path}.new`, path);
  // The folder has the new name, and needs its own sync.
  const folder = fs.openSync(dirname(path), 'r');
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}

/** Sorts the newest key first. No two keys have the same id. */
function newestFirst(one: ListPosition, other: ListPosition): number {
  if (one.createdAt !== other.createdAt) return other.createdAt - one.createdAt;
  return one.keyId < other.keyId ? 1 : -1;
}

/** Returns the changes of a mark; null if its condition fails. `KeyStore` has the rules. */
function changesOf(record: KeyRecord, mark: Mark): Partial<KeyRecord> | null {
  const { revokedAt, suspendedAt, retireAt, withdrawn, seal } = record;
  const { at } = mark;
  const changedAt = later(record.changedAt, at);
  if (mark.kind === 'withdraw') {
    if (withdrawn.includes(mark.entityId)) return null;
    return { changedAt, withdrawn: [...withdrawn, mark.entityId] };
  }
  if (mark.kind === 'resume') {
    if (revokedAt !== null || suspendedAt === null) return null;
    return { changedAt, suspendedAt: null, endedBy: null, endReason: null };
  }
  const end = { changedAt, endedBy: mark.by, endReason: mark.reason };
  if (mark.kind === 'revoke') {
    const { replaces = null } = mark;
    // A row that is revoked already is revoked again only if it still has the seal that was read.
    const isFree = revokedAt === null ? replaces === null : replaces !== null && seal === replaces;
    return isFree ? { ...end, revokedAt: revokedAt ?? at, seal: mark.seal } : null;
  }
  if (revokedAt !== null || suspendedAt !== null) return null;
  if (mark.kind === 'suspend') return { ...end, suspendedAt: at };
  const isAsRead = withdrawn.join() === (mark.withdrawn ?? []).join();
  return retireAt === null && isAsRead ? { ...end, retireAt: mark.retireAt } : null;
}

/** Returns the later of two times. The first one may be missing. */
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

    // For more than a few keys, add a second Map by digest.
    findByDigest(digests) {
      return structuredClone(all().filter(({ digest }) => digests.includes(digest)));
    },

    findById: (keyId) => structuredClone(byId.get(keyId) ?? null),

    list({ prefix, entityId, addressing = false, after, limit }) {
      const listed = all()
        .filter((record) => record.prefix === prefix)
        .filter((record) => record.accessibleEntities.includes(entityId))
        .filter((record) => (record.entityId === entityId) !== addressing);
      const rest = listed.filter((record) => after === null || newestFirst(record, after) > 0);
      return structuredClone(rest.sort(newestFirst).slice(0, limit));
    },

    listLineage({ rootKeyId, after, limit }) {
      const isAsked = ({ keyId, rootKeyId: root, issuedUnder }: KeyRecord): boolean =>
        (after === null || keyId > after) && [root, issuedUnder ?? root].includes(rootKeyId);
      const rest = all().filter(isAsked);
      const byId = rest.sort((one, other) => (one.keyId < other.keyId ? -1 : 1));
      return structuredClone(byId.slice(0, limit));
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
