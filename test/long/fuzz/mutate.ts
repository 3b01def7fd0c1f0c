/** Mutates values by a step or two, in their structure or their texts. */

/** An integer from 0 to below `below`. */
export type Random = (below: number) => number;

/** Mulberry32, a generator whose whole state is one number: the same seed gives the same run. */
export function seeded(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** The material of a mutation: the target's texts and another input. */
export interface Material {
  readonly words: readonly string[];
  readonly other: unknown;
}

const MAX_TEXT = 1_000_000;
const MAX_LIST = 300;

// Values of every type, and the edge cases of each.
const ODD: readonly unknown[] = [
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
  new Date(0),
  new Date(Number.NaN),
  new Map([['authorization', 'Bearer a']]),
  new Set(['a:b']),
  new String('a'),
  Object.create(null),
  new Uint8Array(3),
  /a/,
  new Error('a'),
  JSON.parse('{ "__proto__": "a", "constructor": {} }'),
];
// Characters that grammars treat differently, fold to ASCII or compose, and unpaired surrogates.
const CHARACTERS = [
  ...' \t\r\n\0\u001b\u007f"\\,;=:.*_-+/~$%(){}[]aAzZ09éſKаİ',
  '\u0308',
  '\u2028',
  '\u{1f511}',
  '\ud800',
  '\udc00',
  '\ufeff',
];

/**
 * A variant of `value` with up to four changes at any depth. Frozen, so that code that writes to it
 * fails.
 */
export function mutate(value: unknown, random: Random, material: Material): unknown {
  let changed = value;
  for (let n = 1 + random(4); n > 0; n--) changed = change(changed, random, material);
  return freeze(changed);
}

function oneOf<T>(list: readonly T[], random: Random): T {
  return list[random(list.length)] as T;
}

/**
 * Usually the first way, which goes deeper. Otherwise nothing deep inside a value would ever
 * change.
 */
function deeper<T>(ways: readonly T[], random: Random): T {
  return random(3) > 0 ? (ways[0] as T) : oneOf(ways, random);
}

function change(value: unknown, random: Random, material: Material): unknown {
  if (random(12) === 0) return replacement(random, material);
  if (typeof value === 'string') return changeText(value, random, material);
  if (typeof value === 'number') return changeNumber(value, random);
  if (value instanceof Date) {
    return new Date(value.getTime() + oneOf([1, -1, 1e9, -1e12, 1e17], random));
  }
  if (Array.isArray(value)) return changeList(value, random, material);
  if (isTable(value)) return changeTable(Object.entries(value), random, material);
  return replacement(random, material);
}

function changeNumber(value: number, random: Random): number {
  return oneOf([value + 1, value - 1, -value, value * 2, value + 0.5, 1e3 * value], random);
}

function replacement(random: Random, { words, other }: Material): unknown {
  const kind = random(4);
  if (kind === 0) return oneOf(ODD, random);
  return kind === 1 ? partOf(other, random) : oneOf(words, random);
}

/** Any part of `value`. */
function partOf(value: unknown, random: Random): unknown {
  const parts = partsOf(value);
  if (parts.length === 0 || random(3) === 0) return value;
  return partOf(oneOf(parts, random), random);
}

function partsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isTable(value) ? Object.values(value) : [];
}

function changeList(list: readonly unknown[], random: Random, material: Material): unknown {
  if (list.length === 0) return [replacement(random, material)];
  const at = random(list.length + 1);
  const length = 1 + random(3);
  function repeated(): unknown[] {
    const size = Math.min(MAX_LIST, list.length * (1 + random(200)));
    return Array.from({ length: size }, (_, index) => list[index % list.length]);
  }
  const ways = [
    () => list.with(random(list.length), change(oneOf(list, random), random, material)),
    () => list.toSpliced(at, length),
    () => list.toSpliced(at, 0, ...list.slice(at, at + length)),
    () => list.toSpliced(at, 0, replacement(random, material)),
    () => list.toReversed(),
    repeated,
  ];
  return deeper(ways, random)();
}

type Entry = readonly [name: string, content: unknown];

function changeTable(entries: readonly Entry[], random: Random, material: Material): unknown {
  const at = random(entries.length);
  const [name, content] = entries[at] ?? ['', undefined];
  function newName(): string {
    if (random(2) === 0) return oneOf(material.words, random);
    return changeText(name, random, material);
  }
  if (entries.length === 0) return { [newName()]: replacement(random, material) };
  const ways: (() => readonly Entry[])[] = [
    () => entries.with(at, [name, change(content, random, material)]),
    () => entries.toSpliced(at, 1),
    () => entries.with(at, [newName(), content]),
    () => [...entries, [newName(), replacement(random, material)]],
    () => [...entries, [newName(), content]],
  ];
  // `fromEntries` defines fields, so that `__proto__` becomes an ordinary field.
  return Object.fromEntries(deeper(ways, random)());
}

function changeText(text: string, random: Random, { words, other }: Material): string {
  const from = random(text.length + 1);
  const length = random(2) === 0 ? 1 : random(text.length - from + 1);
  const to = Math.min(text.length, from + length);
  const head = text.slice(0, from);
  const span = text.slice(from, to);
  const tail = text.slice(to);
  const another = partOf(other, random);
  const ways = [
    () => head + oneOf(CHARACTERS, random) + tail,
    () => head + oneOf(CHARACTERS, random) + span + tail,
    () => head + oneOf(words, random) + (random(2) === 0 ? span : '') + tail,
    () => head + tail,
    () => head + span + span + tail,
    () => head + (random(2) === 0 ? span.toUpperCase() : span.toLowerCase()) + tail,
    () => head + (typeof another === 'string' ? another.slice(random(another.length + 1)) : span),
    () => tail + span + head,
  ];
  if (random(8) > 0) return oneOf(ways, random)().slice(0, MAX_TEXT);
  // Occasionally long ones, up to the maximum.
  const longest = () => head + span.repeat(manyTimes(span, random)) + tail;
  return oneOf([...ways, longest], random)().slice(0, MAX_TEXT);
}

function manyTimes(span: string, random: Random): number {
  return Math.min(2 ** random(20), Math.floor(MAX_TEXT / (1 + span.length)));
}

/** Whether this is a plain object. */
function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function freeze(value: unknown): unknown {
  const isPlain = Array.isArray(value) || isTable(value);
  if (!isPlain || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) freeze(each);
  return Object.freeze(value);
}

/** Every text in `value`, including field names. */
export function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (!isTable(value)) return [];
  return Object.entries(value).flatMap(([name, content]) => [name, ...textsOf(content)]);
}

/** The size in characters and parts. */
export function weigh(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length;
  let weight = 1;
  if (Array.isArray(value)) {
    for (const each of value) weight += weigh(each);
  } else if (isTable(value)) {
    for (const [name, content] of Object.entries(value)) weight += name.length + weigh(content);
  }
  return weight;
}
