/**
 * Values that callers of a store should not send, but might: texts with a meaning for a database,
 * texts that almost match, and values that are not text.
 */
import type { Awaitable } from '../../core/store.js';
import { check, show } from '../assertions.js';

/** Texts with a meaning for a database, a script or a driver, which a store must treat as text. */
export const FRAGMENTS: readonly string[] = [
  `' OR '1'='1`,
  `' OR 1=1 -- `,
  '"); DROP TABLE keyscope_keys; --',
  `\\'; DELETE FROM keyscope_keys; #`,
  '/**/',
  `]] redis.call('FLUSHALL') --[[`,
  '\r\n*1\r\n$8\r\nFLUSHALL\r\n',
  '*[!a-z]?{a,b}',
  '$."a".b[0]',
  '","a":"b',
  `$1 :x @x %s {0} ? \${x}`,
];

/** Texts that differ from `text`, but match it in a lax comparison, as a pattern or a C string. */
export function nearTexts(text: string): readonly string[] {
  const near = [
    '',
    text.toUpperCase(),
    ` ${text}`,
    `${text} `,
    `${text}\n`,
    `${text}\0`,
    `${text}\0x`,
    `\0${text}`,
    text.slice(0, -1),
    text.slice(1),
    `${text}0`,
    `${text.slice(0, 8)}%`,
    `${text.slice(0, -1)}_`,
    `${text.slice(0, -1)}*`,
    `${text.slice(0, -1)}?`,
    '%',
    '*',
    // Quoted, or followed by a fragment of SQL, Lua, a glob, JSON or the Redis protocol.
    ...FRAGMENTS.map((fragment) => text + fragment),
    `'${text}'`,
    `[a]${text.slice(1)}`,
    text.replace('c', 'ç'),
    text.replace('d', '\uff44'),
    // Half a surrogate pair has no UTF-8 form: drivers drop it, replace it or throw.
    `${text}\ud800`,
    `\udc00${text}`,
    text.padEnd(2 ** 20, text),
  ];
  // A replacement above may leave the text unchanged.
  return near.filter((other) => other !== text);
}

/**
 * Values that are not text, but that a driver may convert to `text` or compare as a number.
 */
export function oddValues(text: string): readonly unknown[] {
  return [
    0,
    1,
    Number.NaN,
    0n,
    true,
    null,
    undefined,
    {},
    { toString: () => text, toJSON: () => text },
    Object(text),
    { $ne: null },
    { '1': text },
    [text],
    [[text]],
    [],
  ];
}

/** Fails unless a call with an invalid value finds nothing or throws. */
export async function misses(value: unknown, ask: () => Awaitable<unknown>): Promise<void> {
  let answer: unknown;
  try {
    answer = await ask();
  } catch {
    return;
  }
  const isEmpty =
    answer === null || answer === false || (Array.isArray(answer) && answer.length === 0);
  const sent = `${typeof value} ${show(String(value).slice(0, 200))}`;
  check(isEmpty, `a call with ${sent} must find nothing or throw`);
}
