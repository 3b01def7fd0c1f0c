/**
 * A store of your own: keys in one JSON file. Like any store outside the package, it imports only types from `keyscope`
 * and passes the published contract: copy both files and run `npx tsx --test contract.ts`.
 *
 *     const keyring = createKeyring({ prefix: 'acme', catalog, store: jsonFileStore('keys.json'), peppers });
 *
 * What to learn from it: answers are copies; a write is on disk before it is acknowledged, and a failed one has changed
 * nothing; a condition is checked where its write is made; ids and digests are compared with `===`; nothing asks the
 * clock. Being synchronous makes each write atomic: otherwise that takes a transaction or a conditional statement.
 *
 * What it does not do: serve two processes, which would overwrite each other's keys; many keys, because each write
 * writes all of them; Windows, where a folder cannot be synced. It blocks the process while the disk syncs.
 */
import fs from 'node:fs';
import { dirname } from 'node:path';
import type { KeyRecord, KeyStore, ListPosition, SchemeSummary } from 'keyscope';

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

const newestFirst = (a: ListPosition, b: ListPosition): number =>
  b.createdAt - a.createdAt || (a.keyId < b.keyId ? 1 : a.keyId > b.keyId ? -1 : 0);

const isLive = ({ revokedAt, retireAt, expiresAt }: KeyRecord, now: number): boolean =>
  revokedAt === null && (retireAt === null || now < retireAt) && (expiresAt === null || now < expiresAt);

const later = (a: number | null | undefined, b: number): number => Math.max(a ?? b, b);

export function jsonFileStore(path: string): KeyStore {
  const records: KeyRecord[] = fs.existsSync(path) ? JSON.parse(fs.readFileSync(path, 'utf8')) : [];
  let byId = new Map(records.map((record) => [record.keyId, record]));
  const all = () => [...byId.values()];

  function write(changed: readonly KeyRecord[]): void {
    const next = new Map(byId);
    for (const record of changed) next.set(record.keyId, structuredClone(record));
    replace(path, JSON.stringify([...next.values()]));
    byId = next;
  }

  return {
    insert(record) {
      const taken = byId.has(record.keyId) || all().some(({ digest }) => digest === record.digest);
      if (taken) throw new Error('a record with this key id or digest exists already');
      write([record]);
    },

    // For more than a few keys, add a second Map, by digest.
    findByDigest: (digests) => structuredClone(all().filter(({ digest }) => digests.includes(digest))),

    findById: (keyId) => structuredClone(byId.get(keyId) ?? null),

    list({ entityUuid, after, limit }) {
      const behind = (record: KeyRecord) => after === null || newestFirst(after, record) < 0;
      const own = all().filter((record) => record.entityUuid === entityUuid && behind(record));
      return structuredClone(own.sort(newestFirst).slice(0, limit));
    },

    markEnded(keyId, ending) {
      const record = byId.get(keyId);
      if (record?.revokedAt !== null || ('retireAt' in ending && record.retireAt !== null)) return false;
      write([{ ...record, ...ending }]);
      return true;
    },

    touch(entries) {
      const changed = new Map<string, KeyRecord>();
      for (const { keyId, lastUsedAt, scopesUsed } of entries) {
        const record = changed.get(keyId) ?? byId.get(keyId);
        if (record === undefined) continue;
        const used = { ...record.scopesUsed };
        for (const [scope, time] of Object.entries(scopesUsed)) used[scope] = later(used[scope], time);
        changed.set(keyId, { ...record, lastUsedAt: later(record.lastUsedAt, lastUsedAt), scopesUsed: used });
      }
      if (changed.size > 0) write([...changed.values()]);
    },

    summarize(now) {
      const rows = new Map<string, SchemeSummary>();
      for (const { digest, lastUsedAt } of all().filter((record) => isLive(record, now))) {
        const scheme = digest.slice(0, digest.indexOf('$'));
        const row = rows.get(scheme) ?? { scheme, live: 0, lastUsedAt: null };
        const newest = lastUsedAt === null ? row.lastUsedAt : later(row.lastUsedAt, lastUsedAt);
        rows.set(scheme, { scheme, live: row.live + 1, lastUsedAt: newest });
      }
      return [...rows.values()];
    },
  };
}
