/** Reasons why routes have no guard, each for one route or for all that a pattern covers. */
import { assert, isObject, quote, readText } from '../../core/input.js';

/** The longest reason, in characters. */
export const MAX_REASON_LENGTH: number = 500;

/** Reads reasons by route or pattern. */
export function readReasons(value: unknown): ReadonlyMap<string, string> {
  assert(isObject(value), 'lockOf: reasons: pass { route: reason }');
  const entries = Object.entries(value).map(([key, reason]: [string, unknown]) => {
    return [key, readText(reason, MAX_REASON_LENGTH, `lockOf: reasons: ${quote(key)}`)] as const;
  });
  return new Map(entries);
}

/** A pattern names a path before `/*`. Without one it would permit everything, so it is a name. */
const BENEATH = /^(.*[^ ]\/)\*$/;

/**
 * Finds the reason for a route and its key: the longest one that matches. Without a method, a key
 * matches all methods.
 */
export function findReason(
  name: string,
  reasons: ReadonlyMap<string, string>,
): readonly [key: string, reason: string] | undefined {
  const path = name.slice(name.indexOf(' ') + 1);
  const matching = [...reasons].filter(([key]) => {
    const given = key.startsWith('/') ? path : name;
    const [, folder] = BENEATH.exec(key) ?? [];
    return folder === undefined ? given === key : given.startsWith(folder);
  });
  return matching.sort(([one], [other]) => other.length - one.length)[0];
}
