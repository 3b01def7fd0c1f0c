/** Values that are a step or two away from others, in their structure or in their texts. */

/** A whole number from 0 to below `below`. */
export type Random = (below: number) => number;

/**
 * Mulberry32, a generator of which one number is the whole state: the same seed gives the same run.
 */
export function seeded(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** What a mutation takes from: texts of the target, and another input. */
export interface Material {
  readonly words: readonly string[];
  readonly other: unknown;
}

const MAX_TEXT = 1_000_000;
const MAX_LIST = 300;

// Of every type there is, and the edges of each.
const ODD: readonly unknown[] = [
  ...[
    undefined,
    null,
    true,
    false,
    '',
    '*',
    0,
    -0,
    1,
    -1,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 31,
    2 ** 53,
  ],
  ...[
    8.64e15,
    8.64e15 + 1,
    Number.MIN_SAFE_INTEGER,
    1n,
    Symbol('symbol'),
    () => 'a',
    [],
    {},
    new Array(3),
    [[]],
  ],
  ...[
    new Date(0),
    new Date(Number.NaN),
    new Map([['authorization', 'Bearer a']]),
    new Set(['a:b']),
    new String('a'),
  ],
  ...[
    Object.create(null),
    new Uint8Array(3),
    /a/,
    new Error('a'),
    JSON.parse('{ "__proto__": "a", "constructor": {} }'),
  ],
];
// What grammars treat apart, what folds to ASCII, what composes, and halves of pairs.
const CHARACTERS = [
  ...' \t\r\n\0\u001b\u007f"\\,;=:.*_-+/~$%(){}[]aAzZ09éſKаİ',
  '\u0308',
  '\u2028',
  '\u{1f511}',
];
CHARACTERS.push('\ud800', '\udc00', '\ufeff');

/**
 * `value` as its neighbours are: up to four changes, anywhere in it. Frozen, so that whoever writes
 * to it fails.
 */
export function mutate(value: unknown, random: Random, material: Material): unknown {
  let changed = value;
  for (let n = 1 + random(4); n > 0; n--) changed = change(changed, random, material);
  return freeze(changed);
}

const one = <T>(list: readonly T[], random: Random): T => list[random(list.length)] as T;

/**
 * For the most part the first way, which is to go further in: or nothing deep in a value would ever
 * change.
 */
const deeper = <T>(ways: readonly T[], random: Random): T =>
  random(3) > 0 ? (ways[0] as T) : one(ways, random);

function change(value: unknown, random: Random, material: Material): unknown {
  if (random(12) === 0) return replacement(random, material);
  if (typeof value === 'string') return changeText(value, random, material);
  if (typeof value === 'number')
    return one([value + 1, value - 1, -value, value * 2, value + 0.5, 1e3 * value], random);
  if (value instanceof Date)
    return new Date(value.getTime() + one([1, -1, 1e9, -1e12, 1e17], random));
  if (Array.isArray(value)) return changeList(value, random, material);
  if (isTable(value)) return changeTable(Object.entries(value as object), random, material);
  return replacement(random, material);
}

function replacement(random: Random, { words, other }: Material): unknown {
  const kind = random(4);
  return kind === 0 ? one(ODD, random) : kind === 1 ? part(other, random) : one(words, random);
}

/** Something that stands anywhere in `value`. */
function part(value: unknown, random: Random): unknown {
  const parts = Array.isArray(value) ? value : isTable(value) ? Object.values(value as object) : [];
  return parts.length === 0 || random(3) === 0 ? value : part(one(parts, random), random);
}

function changeList(list: readonly unknown[], random: Random, material: Material): unknown {
  const [at, length] = [random(list.length + 1), 1 + random(3)];
  const ways = [
    () => list.with(random(list.length), change(one(list, random), random, material)),
    () => list.toSpliced(at, length),
    () => list.toSpliced(at, 0, ...list.slice(at, at + length)),
    () => list.toSpliced(at, 0, replacement(random, material)),
    () => list.toReversed(),
    () =>
      Array.from(
        { length: Math.min(MAX_LIST, list.length * (1 + random(200))) },
        (_, i) => list[i % list.length],
      ),
  ];
  return list.length === 0 ? [replacement(random, material)] : deeper(ways, random)();
}

function changeTable(
  entries: readonly [string, unknown][],
  random: Random,
  material: Material,
): unknown {
  const at = random(entries.length);
  const [name, content] = entries[at] ?? ['', undefined];
  const named = (): string =>
    random(2) === 0 ? one(material.words, random) : String(changeText(name, random, material));
  const ways: (() => readonly [string, unknown][])[] = [
    () => entries.with(at, [name, change(content, random, material)]),
    () => entries.toSpliced(at, 1),
    () => entries.with(at, [named(), content]),
    () => [...entries, [named(), replacement(random, material)]],
    () => [...entries, [named(), content]],
  ];
  if (entries.length === 0) return { [named()]: replacement(random, material) };
  // `fromEntries` defines fields, so that one named `__proto__` is a field like any other.
  return Object.fromEntries(deeper(ways, random)());
}

function changeText(text: string, random: Random, { words, other }: Material): string {
  const from = random(text.length + 1);
  const to = Math.min(text.length, from + (random(2) === 0 ? 1 : random(text.length - from + 1)));
  const [head, span, tail] = [text.slice(0, from), text.slice(from, to), text.slice(to)];
  const another = part(other, random);
  const ways = [
    () => head + one(CHARACTERS, random) + tail,
    () => head + one(CHARACTERS, random) + span + tail,
    () => head + one(words, random) + (random(2) === 0 ? span : '') + tail,
    () => head + tail,
    () => head + span + span + tail,
    () => head + (random(2) === 0 ? span.toUpperCase() : span.toLowerCase()) + tail,
    () => head + (typeof another === 'string' ? another.slice(random(another.length + 1)) : span),
    () => tail + span + head,
    // Long ones, now and then as long as they may be.
    () =>
      head +
      span.repeat(Math.min(2 ** random(20), Math.floor(MAX_TEXT / (1 + span.length)))) +
      tail,
  ];
  return (
    ways[random(random(8) === 0 ? ways.length : ways.length - 1)]?.().slice(0, MAX_TEXT) ?? text
  );
}

/** Whether it is a plain object. */
const isTable = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value));

function freeze(value: unknown): unknown {
  if ((!Array.isArray(value) && !isTable(value)) || Object.isFrozen(value)) return value;
  for (const each of Object.values(value as object)) freeze(each);
  return Object.freeze(value);
}

/** Every text in `value`, names of fields included. */
export function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isTable(value)
    ? Object.entries(value as object).flatMap(([name, content]) => [name, ...textsOf(content)])
    : [];
}

/** How large it is, in characters and parts. */
export function weigh(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length;
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + weigh(each), 1);
  if (!isTable(value)) return 1;
  return Object.entries(value as object).reduce(
    (sum, [name, content]) => sum + name.length + weigh(content),
    1,
  );
}
