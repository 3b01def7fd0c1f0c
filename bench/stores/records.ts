/**
 * The keys that fill a table, by their number: ten kinds, again and again. A fifth of them belongs
 * to one large organization, the rest to organizations of ten. Keys that ended did so recently.
 */
import { createHash } from 'node:crypto';
import type { KeyRecord } from 'keyscope';
import { blankRecord, idOf } from '../keys.ts';

/** How many kinds there are: the key `i` is of the kind `i % KINDS`. */
export const KINDS = 10;
/** The first key of this kind ... */
export const RETIRED = 0;
export const SUCCESSOR = 1;
export const ISSUED_UNDER = 2;
export const REVOKED = 3;
export const ADDRESSING = 4;
export const EXPIRING = 5;
/** ... and three without any of these. */
export const PLAIN = [7, 8, 9] as const;

/** When the keys began to end that have. */
export const ENDED = 1_750_000_000_000;
export const EXPIRES = 4_000_000_000_000;
/** A purge up to this time finds nothing. */
export const BEFORE_ALL_ENDS = 1_740_000_000_000;

/** Whose every fifth ten keys are. */
export const LARGE = 'eeeeeeee-0000-4000-8000-00000000000a';
/** An organization that a tenth of all keys address, and that owns no key. */
export const ADDRESSED = 'eeeeeeee-0000-4000-8000-00000000000b';
/** The end of every other organization's id, behind its number. */
export const ENTITY_TAIL = '-0000-4000-8000-0000000000ee';

export function digestOf(index: number): string {
  return `s1$${createHash('sha256').update(`key ${index}`).digest('hex')}`;
}

function entityOf(index: number): string {
  const ten = Math.floor(index / KINDS);
  return ten % 5 === 0 ? LARGE : `${ten.toString(16).padStart(8, '0')}${ENTITY_TAIL}`;
}

/** How a key of its kind ended or will end, and what it has to do with others. */
function specialOf(index: number): Partial<KeyRecord> {
  const endedAt = ENDED + index;
  switch (index % KINDS) {
    case RETIRED:
      return { retireAt: endedAt, changedAt: endedAt, endedBy: 'ada', endReason: 'rotated' };
    case SUCCESSOR:
      return { rotatedFrom: idOf(index - 1), rootKeyId: idOf(index - 1) };
    case ISSUED_UNDER:
      return { issuedUnder: idOf(index - 2) };
    case REVOKED:
      return { revokedAt: endedAt, changedAt: endedAt, endedBy: 'ada', endReason: 'leaked' };
    case ADDRESSING:
      return { accessibleEntities: [entityOf(index), ADDRESSED] };
    case EXPIRING:
    case EXPIRING + 1:
      return { expiresAt: EXPIRES + index };
    default:
      return {};
  }
}

export function recordOf(index: number): KeyRecord {
  const entityId = entityOf(index);
  const own = { entityId, accessibleEntities: [entityId] };
  return { ...blankRecord(index, digestOf(index)), ...own, ...specialOf(index) };
}
