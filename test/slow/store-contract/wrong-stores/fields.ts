/** Stores that return a different record than was inserted. */
import type { KeyRecord } from 'keyscope';
import { answering, onTheWall, type Query, retelling, type WrongStores } from '../wrong-store.ts';

/** Adds an hour during the skipped hour: Europe, 2024-03-31. */
function withoutTheHour(time: number): number {
  const isMissing = time >= 1_711_850_400_000 && time < 1_711_854_000_000;
  return isMissing ? time + 3_600_000 : time;
}

function withoutField(row: KeyRecord | null): unknown {
  if (row === null) return null;
  const { rotatedFrom: _, ...rest } = row;
  return rest;
}

export const WRONG_FIELDS: WrongStores = {
  'an empty text becomes null': (right) =>
    answering(right, (row) => ({ justification: row.justification || null })),
  'null becomes an empty text': (right) => answering(right, (row) => ({ seal: row.seal ?? '' })),
  'null becomes undefined': (right) =>
    answering(right, (row) => ({ expiresAt: row.expiresAt ?? undefined })),
  'a field is missing': (right) => ({
    findById: (keyId: string) => withoutField(right.findById(keyId)),
    findByDigest: (digests: readonly string[]) => right.findByDigest(digests).map(withoutField),
  }),
  'the format is always that of this release': (right) => answering(right, () => ({ format: 1 })),
  'the format is text': (right) => answering(right, (row) => ({ format: String(row.format) })),
  'a hint is in lower case': (right) =>
    answering(right, (row) => ({ hint: row.hint.toLowerCase() })),
  'a hint is a number': (right) =>
    answering(right, (row) => ({ hint: /^\d+$/.test(row.hint) ? Number(row.hint) : row.hint })),
  'a prefix is cut at 16 characters': (right) =>
    answering(right, (row) => ({ prefix: row.prefix.slice(0, 16) })),
  'createdBy is always null': (right) => answering(right, () => ({ createdBy: null })),
  'createdBy becomes an empty text': (right) =>
    answering(right, (row) => ({ createdBy: row.createdBy ?? '' })),
  'endedBy is null instead of an empty text': (right) =>
    answering(right, (row) => ({ endedBy: row.endedBy || null })),
  'endReason is cut at 255 bytes': (right) =>
    answering(right, ({ endReason }) => ({
      endReason: endReason && Buffer.from(endReason).subarray(0, 255).toString(),
    })),
  'rootKeyId is always the key id': (right) =>
    answering(right, ({ keyId }) => ({ rootKeyId: keyId })),
  'trust is always null': (right) => answering(right, () => ({ trust: null })),
  'issuedUnder is always null': (right) => answering(right, () => ({ issuedUnder: null })),
  'withdrawn is always empty': (right) => answering(right, () => ({ withdrawn: [] })),
  'withdrawals are sorted': (right) =>
    answering(right, (row) => ({ withdrawn: [...row.withdrawn].sort() })),
  'withdrawals are in the order of the entities': (right) =>
    answering(right, ({ accessibleEntities, withdrawn }) => ({
      withdrawn: accessibleEntities.filter((entity) => withdrawn.includes(entity)),
    })),
  'withdrawals end at 998': (right) =>
    answering(right, (row) => ({ withdrawn: row.withdrawn.slice(0, 998) })),
  'a suspension at time 0 is null': (right) =>
    answering(right, (row) => ({ suspendedAt: row.suspendedAt || null })),
  'changedAt is a Date': (right) =>
    answering(right, (row) => ({ changedAt: row.changedAt && new Date(row.changedAt) })),
  'a record has an extra field': (right) => answering(right, () => ({ id: 1 })),
  'texts are trimmed': (right) => answering(right, (row) => ({ name: row.name.trim() })),
  'texts are folded to NFKD': (right) =>
    answering(right, (row) => ({ name: row.name.normalize('NFKD') })),
  'texts are normalized to NFC': (right) => retelling(right, (text) => text.normalize('NFC')),
  'texts lose a byte order mark': (right) =>
    retelling(right, (text) => text.replace(/^\ufeff/, '')),
  'texts lose control characters': (right) =>
    // The control characters that XML forbids: not tabs or line ends.
    retelling(right, (text) => text.replace(/[^\P{Cc}\t\n\r\0]/gu, '')),
  'texts have noncharacters replaced': (right) =>
    retelling(right, (text) => text.replace(/\p{Noncharacter_Code_Point}/gu, '\ufffd')),
  'names in metadata are cut at 255 characters': (right) =>
    answering(right, (row) => {
      const pairs = Object.entries(row.metadata);
      const cut = pairs.map(([name, text]) => [name.slice(0, 255), text] as const);
      return { metadata: Object.fromEntries(cut) };
    }),
  'texts are Latin-1': (right) =>
    answering(right, (row) => ({ name: Buffer.from(row.name, 'latin1').toString('latin1') })),
  'texts are cut at 255 bytes': (right) =>
    answering(right, (row) => ({ name: Buffer.from(row.name).subarray(0, 255).toString() })),
  'numeric texts become numbers': (right) =>
    answering(right, (row) => ({ name: /^\d+$/.test(row.name) ? Number(row.name) : row.name })),
  'scopes are sorted': (right) => answering(right, (row) => ({ scopes: [...row.scopes].sort() })),
  'scopes are one comma-separated text': (right) =>
    answering(right, (row) => ({ scopes: row.scopes.join(',').split(',') })),
  'lists end at 255': (right) => answering(right, (row) => ({ scopes: row.scopes.slice(0, 255) })),
  'entities end at 999': (right) =>
    answering(right, (row) => ({ accessibleEntities: row.accessibleEntities.slice(0, 999) })),
  'metadata loses __proto__': (right) =>
    answering(right, (row) => {
      const kept: Record<string, string> = {};
      for (const [name, value] of Object.entries(row.metadata)) {
        kept[name] = value;
      }
      return { metadata: kept };
    }),
  'times are seconds': (right) =>
    answering(right, (row) => ({ createdAt: Math.floor(row.createdAt / 1000) * 1000 })),
  'times are 32 bits': (right) =>
    answering(right, (row) => ({
      retireAt: row.retireAt === null ? null : row.retireAt % 2 ** 42,
    })),
  'times are bigint': (right) => answering(right, (row) => ({ createdAt: BigInt(row.createdAt) })),
  'times are Dates': (right) => answering(right, (row) => ({ createdAt: new Date(row.createdAt) })),
  'times are converted through local time': (right) =>
    answering(right, (row) => ({ lastUsedAt: row.lastUsedAt && onTheWall(row.lastUsedAt) })),
  'times lose the hour skipped in spring': (right) =>
    answering(right, (row) => ({ expiresAt: row.expiresAt && withoutTheHour(row.expiresAt) })),
  'times end in 2038': (right) =>
    answering(right, (row) => ({
      expiresAt: row.expiresAt && Math.min(row.expiresAt, 2 ** 31 * 1000),
    })),
  'times end with the year 9999': (right) =>
    answering(right, (row) => ({
      createdAt:
        row.createdAt % 1000 === 1 ? Math.min(row.createdAt, 253_402_300_799_999) : row.createdAt,
    })),
  'times begin in 1970': (right) =>
    answering(right, (row) => ({ retireAt: row.retireAt && Math.max(row.retireAt, 0) })),
  'times are seconds with a fraction of 32 bits': (right) =>
    answering(right, ({ revokedAt }) => {
      if (revokedAt === null) return {};
      const seconds = Math.floor(revokedAt / 1000);
      const rest = Math.fround(revokedAt / 1000 - seconds);
      return { revokedAt: seconds * 1000 + Math.floor(rest * 1000) };
    }),
  'line ends are those of Unix': (right) =>
    answering(right, (row) => ({ name: row.name.replaceAll('\r\n', '\n') })),
  'time 0 is null': (right) => answering(right, (row) => ({ revokedAt: row.revokedAt || null })),
  'list returns records without metadata': (right) => ({
    list: (query: Query) => right.list(query).map((row) => ({ ...row, metadata: {} })),
  }),
};
