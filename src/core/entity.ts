/**
 * The ids of entities. A service has ids of one kind, which its keyring asks of authorities, inputs
 * and requests. Whatever reads stored rows takes both kinds, so a service can change to `'text'`.
 */
import { assert, type ElementRule, readStrings } from './input.js';
import { isWholeKey } from './key.js';
import { isUuid } from './uuid.js';

/**
 * `'uuid'`: lower-case UUIDs (RFC 9562 §4). `'text'`: 1 to 64 characters of `A-Z`, `a-z`, `0-9` and
 * `. _ ~ : @ | -`, compared exactly; neither `.` nor `..`, nor an API key.
 */
export type EntityIds = 'uuid' | 'text';

const TEXT = /^(?!\.{1,2}$)[\w.~:@|-]{1,64}$/;

/** Checks whether `value` is an id of either kind. Refuses a key: a pasted one reaches no log. */
export function isEntityId(value: unknown): value is string {
  return typeof value === 'string' && TEXT.test(value) && !isWholeKey(value);
}

/** One kind of ids. */
export interface EntityKind extends ElementRule {
  readonly holds: (value: unknown) => value is string;
  /** The sentence for a caller who does not name one such id. Default: that of the reason. */
  readonly sentence?: string | undefined;
}

/** The ids of a service that has UUIDs. */
const UUIDS: EntityKind = {
  holds: isUuid,
  instead: "pass a UUID in lower case (for other ids, set entityIds: 'text')",
};

/** The ids of a service that has others, and all ids that a record can have. */
export const ANY_ID: EntityKind = {
  holds: isEntityId,
  sentence: 'Name one entity, by its id: 1 to 64 letters, digits and . _ ~ : @ | -.',
  instead: 'pass 1 to 64 letters, digits and . _ ~ : @ | -, and no API key',
};

/** Reads the option `entityIds`. */
export function readEntityKind(value: unknown = 'uuid'): EntityKind {
  assert(value === 'uuid' || value === 'text', "entityIds: pass 'uuid' or 'text'", value);
  return value === 'uuid' ? UUIDS : ANY_ID;
}

/**
 * Reads a list of entities. The result is `own`, then the others in the order given, without
 * repeats.
 */
export function readEntities(
  kind: EntityKind,
  own: string,
  others: unknown,
  what: string,
  max: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  // The count is checked before the elements: a request may name a million.
  const rule = { ...kind, most: max };
  const given = others === undefined ? [] : readStrings(others, what, rule);
  const all = Object.freeze([...new Set([own, ...given])]);
  assert(all.length <= max, `${what}: at most ${max} entities, your own included`);
  return all;
}
