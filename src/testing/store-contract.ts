/** The suite that every store must pass; `keyscope/testing` publishes it. */
import { assert } from '../core/input.js';
import type { KeyRecord } from '../core/record.js';
import type {
  Awaitable,
  Ending,
  KeyStore,
  ListPosition,
  ListQuery,
  SchemeSummary,
} from '../core/store.js';

/** What registers a test: `test` of vitest, `node:test` or `bun:test`. */
export type RegisterTest = (name: string, run: () => Promise<void>) => unknown;

/** A store, and what frees it after its test. */
export type ContractStore = KeyStore & { close?(): Awaitable<void> };

/**
 * Registers some forty tests for the contract of `KeyStore`: every sentence of `store.ts`,
 * including concurrency and the other rows. Ids, digests, entities and peppers are random, so the
 * store need not be empty, and runs may follow each other on one database, but must not overlap.
 *
 * A store whose `summarize` declares no parameter (`summarize.length` is 0, as with a default value
 * or `...args`) may use its own clock: whatever asks for a time other than now is then left out.
 *
 * Not checked: that a write survives a crash; that two processes agree; that two databases are kept
 * apart; an entity with more than 150 keys; what happens when the database is gone; speed.
 *
 * @param test Registers one test: a name and an async function that throws if the store breaks a
 *   promise.
 * @param factory Makes a store for one test; its `close`, if it has one, is called afterwards.
 * @throws TypeError if either argument is not a function.
 * @example
 * storeContract(test, async () => {
 *   const pool = await openPool();
 *   return Object.assign(myStore(pool), { close: () => pool.end() });
 * });
 */
export function storeContract(test: RegisterTest, factory: () => Awaitable<ContractStore>): void {
  assert(
    typeof test === 'function',
    'storeContract: pass the function that registers a test, then one that makes a store',
  );
  assert(
    typeof factory === 'function',
    'storeContract: pass a function that makes a store, () => myStore(), not a store',
  );
  for (const [name, run] of CONTRACT) {
    test(name, async () => {
      const store = await factory();
      try {
        await run(setting(store));
      } finally {
        await store.close?.();
      }
    });
  }
}

/** What a test of the contract works with. Answers are awaited: a store may be synchronous. */
interface Setting {
  readonly store: KeyStore;
  readonly entityUuid: string;
  /** The beginning of digests, up to the `$`; unique to this test. */
  readonly scheme: string;
  /**
   * A record with its own key id and digest. Mutable, because nothing that a caller passes in need
   * be frozen.
   */
  record(given?: Partial<KeyRecord>): KeyRecord;
  /** The same, stored. */
  add(given?: Partial<KeyRecord>): Promise<KeyRecord>;
  /** Fails unless exactly `expected` is stored under its key id and under its digest. */
  holds(expected: KeyRecord, when: string): Promise<void>;
  /** Lists the first 100 keys of this test's entity, or what `given` says instead. */
  list(given?: Partial<ListQuery>): Promise<readonly KeyRecord[]>;
  /** The rows of a summary at `now` that have this test's scheme, or `of`. */
  summaryOf(now?: number, of?: string): Promise<readonly SchemeSummary[]>;
}

// A time far from any clock that the test may run under: it exposes a store that uses its own
// clock.
const T = 1_000_000_000_000;
const DAY = 86_400_000;

const uuid = (): string => globalThis.crypto.randomUUID();
/** Begins with letters, to catch comparisons that fold case. */
const lettered = (): string => `abcd${uuid().slice(4)}`;
const hex = (): string => `${uuid()}${uuid()}`.replaceAll('-', '');

function setting(store: KeyStore): Setting {
  const entityUuid = lettered();
  const scheme = `h1.t-${hex().slice(0, 20)}`;
  const record = (given: Partial<KeyRecord> = {}): KeyRecord => ({
    keyId: uuid(),
    name: 'integration',
    // Letters at both ends, to catch comparisons that fold case or truncate text.
    digest: `${scheme}$ab${hex().slice(4)}cd`,
    seal: hex(),
    entityUuid,
    accessibleEntities: [entityUuid],
    scopes: ['threats:read', 'decoys:read'],
    justification: null,
    metadata: {},
    createdAt: T,
    expiresAt: null,
    revokedAt: null,
    retireAt: null,
    rotatedFrom: null,
    lastUsedAt: null,
    scopesUsed: {},
    ...given,
  });
  const add = async (given: Partial<KeyRecord> = {}) => {
    const made = record(given);
    await store.insert(made);
    return made;
  };
  const holds = async (expected: KeyRecord, when: string) => {
    same(await store.findById(expected.keyId), expected, `${when}: findById`);
    same(await store.findByDigest([expected.digest]), [expected], `${when}: findByDigest`);
  };
  const list = async (given: Partial<ListQuery> = {}) =>
    store.list({ entityUuid, after: null, limit: 100, ...given });
  const summaryOf = async (now = T, of = scheme) =>
    (await store.summarize(now)).filter((row) => row.scheme === of);
  return { store, entityUuid, scheme, record, add, holds, list, summaryOf };
}

// ── Calls and values ──────────────────────────────────────────────────────────────────────────────────

/** Throws unless `holds`. */
export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

/**
 * One text per content. Names are sorted, because databases may reorder a table; `undefined`,
 * `NaN`, `bigint` and anything else that is not JSON differ from whatever JSON would make of them.
 */
export function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(show).join(',')}]`;
  if (typeof value !== 'object' || value === null) {
    const json =
      typeof value === 'string' ||
      value === null ||
      Number.isFinite(value) ||
      typeof value === 'boolean';
    return json ? JSON.stringify(value) : `<${typeof value} ${String(value)}>`;
  }
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${show((value as Record<string, unknown>)[name])}`).join(',')}}`;
}

/** Throws unless both have the same content, and shows where they differ. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [got, wanted] = [show(actual), show(expected)];
  if (got === wanted) return;
  // Where they differ, with some context: a record of 1,000 entities makes no message.
  let at = 0;
  while (got.charAt(at) === wanted.charAt(at)) at++;
  const part = (text: string) =>
    `${at > 80 ? '…' : ''}${text.slice(Math.max(0, at - 80), at + 120)}`;
  throw new Error(`${what}\n  expected ${part(wanted)}\n  but got  ${part(got)}`);
}

/** Whether `act` succeeds; `false` if it throws or rejects. */
async function succeeds(act: () => Awaitable<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch {
    return false;
  }
}

/** Calls in parallel, each started before any is awaited. */
const parallel = <A>(count: number, act: (i: number) => Awaitable<A>): Promise<A[]> =>
  Promise.all(Array.from({ length: count }, async (_, i) => act(i)));

/**
 * Starts calls one by one, while earlier ones may be in progress: the first two at once, then one
 * after an answer of the store, one after a second answer, and one after a timer.
 */
async function overlap(
  store: KeyStore,
  calls: readonly (() => Awaitable<unknown>)[],
): Promise<void> {
  const running: Promise<unknown>[] = [];
  for (const [i, call] of calls.entries()) {
    if (i === 2 || i === 3) await store.findById(uuid());
    if (i === 4) await new Promise((resolve) => setTimeout(resolve, 1));
    const started = (async () => call())();
    // Awaited below, where it throws.
    started.catch(() => {});
    running.push(started);
  }
  await Promise.all(running);
}

/** Fails unless a look-up with a value that no caller may send finds nothing or throws. */
async function misses(value: unknown, ask: () => Awaitable<unknown>): Promise<void> {
  let answer: unknown;
  try {
    answer = await ask();
  } catch {
    return;
  }
  const empty =
    answer === null || answer === false || (Array.isArray(answer) && answer.length === 0);
  check(
    empty,
    `a look-up with ${typeof value} ${show(String(value).slice(0, 200))} must find nothing`,
  );
}

/** Texts that mean something to a database, a script or a driver, and are ordinary text here. */
const FRAGMENTS = [
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
] as const;

/** Texts that are not `text`, although a lax comparison, a pattern or a C string would match. */
const nearTexts = (text: string): readonly string[] =>
  [
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
    // Half a surrogate pair is invalid UTF-8: drivers drop it, replace it or throw.
    `${text}\ud800`,
    `\udc00${text}`,
    text.padEnd(2 ** 20, text),
  ].filter((near) => near !== text);

/**
 * Values that are not text, although a driver may read `text` from them, or a comparison with a
 * number may hold.
 */
const oddValues = (text: string): readonly unknown[] => [
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

// ── insert ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * What a pair's name may contain. The core accepts nothing else, because V8 13.6 (Node 24) reads
 * names with quotes, backslashes and control characters back as one another: a correct store that
 * keeps JSON would lose them.
 */
const nameable = (text: string): string => text.replace(/["\\\p{Cc}]/gu, '');

/**
 * Catches: null for empty and empty for null, trimmed, folded or normalized text, characters that
 * are dropped or replaced, numbers read from text, names that reach a prototype or are truncated,
 * times in seconds or 32 bits, reordered lists, a digest column that is too short.
 */
async function keepsEveryField({ store, entityUuid, record, holds, list }: Setting): Promise<void> {
  const odd = JSON.parse(
    '{"__proto__":"own","constructor":"","toString":"x","":"empty name","10":"b","9":"a"}',
  );
  const quoted = `a'b"c\\d;--%_$1?\${x}`;
  const variants: readonly Partial<KeyRecord>[] = [
    {},
    {
      name: 'Zoë 漢字 🦊 \u202eabc',
      justification: '🔑'.repeat(500),
      metadata: { 'ключ 🦊': 'a\tb\nc\u2028d' },
    },
    { name: quoted, justification: quoted, metadata: { [nameable(quoted)]: quoted } },
    // Letters of two characters each; a byte order mark; noncharacters; and what only a value may
    // contain.
    {
      name: 'Zu\u0308rich',
      justification: 'cafe\u0301',
      metadata: { 'e\u0301': 'Zu\u0308rich', '\u00e9': 'o' },
    },
    { name: '\ufeffa', justification: '\ufeff', metadata: { '\ufeffb': '\ufeffc', b: '\ufeff' } },
    {
      name: 'a\uffff',
      justification: '\ufffe',
      metadata: { '\uffff': '\uffff', '\ufffe': '\ufdd0' },
    },
    { metadata: { a: '\u0001\u0008\u000b\u001b[1m\u007f\u0085\u009f', b: '\r\n' } },
    // With their values, nearly the 2 KiB that the core allows.
    { metadata: { [`${'n'.repeat(1015)}a`]: 'a', [`${'n'.repeat(1015)}b`]: 'b' } },
    { name: ' padded ', justification: ' ', metadata: { ' a ': ' b ' } },
    { name: 'null', justification: '', metadata: { a: '' }, scopes: [] },
    {
      name: '007',
      justification: '1e3',
      metadata: { n: '1', t: 'true', z: 'null', j: '{"a":[1]}' },
    },
    { metadata: odd, scopesUsed: { 'constructor:read': T } },
    {
      seal: null,
      rotatedFrom: uuid(),
      expiresAt: T + 1,
      revokedAt: T + 2,
      retireAt: T + 3,
      lastUsedAt: T + 4,
    },
    {
      createdAt: 0,
      expiresAt: 0,
      revokedAt: 0,
      retireAt: 0,
      lastUsedAt: 0,
      scopesUsed: { 'a:b': 0 },
    },
    {
      createdAt: Number.MAX_SAFE_INTEGER,
      expiresAt: Number.MAX_SAFE_INTEGER,
      revokedAt: Number.MAX_SAFE_INTEGER,
    },
    {
      retireAt: Number.MAX_SAFE_INTEGER,
      lastUsedAt: Number.MAX_SAFE_INTEGER,
      scopesUsed: { 'a:b': 2 ** 53 - 1 },
    },
    {
      createdAt: -1,
      scopes: ['z:z', 'a:a', 'm:m'],
      accessibleEntities: [uuid(), entityUuid, uuid()],
    },
    { digest: `s1$${hex()}` },
    // The longest digest: a pepper's id has up to 32 characters.
    { digest: `h1.${hex().slice(0, 32)}$${hex()}` },
  ];
  for (const [i, given] of variants.entries()) {
    const made = record({ entityUuid: i % 2 === 0 ? entityUuid : uuid(), ...given });
    const expected = structuredClone(made);
    await store.insert(made);
    await holds(expected, `a record with ${Object.keys(given).join(', ') || 'every default'}`);
    const listed = await list({ entityUuid: expected.entityUuid });
    const found = listed.find(({ keyId }) => keyId === expected.keyId);
    same(found, expected, 'list');
  }
}

/** Catches: columns that are too short, truncated lists. */
async function keepsLongLists({ store, entityUuid, record, holds }: Setting): Promise<void> {
  const scopes = Array.from(
    { length: 256 },
    (_, i) => `${'r'.repeat(64)}:${'a'.repeat(60)}${255 - i}`,
  );
  const accessibleEntities = [entityUuid, ...Array.from({ length: 999 }, uuid)];
  const metadata = Object.fromEntries(
    Array.from({ length: 16 }, (_, i) => [`name-${i}`, '🦊'.repeat(30)]),
  );
  const scopesUsed = Object.fromEntries(scopes.map((scope, i) => [scope, T + i]));
  const made = record({ scopes, accessibleEntities, metadata, scopesUsed, name: '🦊'.repeat(100) });
  await store.insert(made);
  await holds(made, '256 scopes and 1,000 entities');
}

/**
 * Catches: texts concatenated into a statement, a script, a pattern or a path, and names that reach
 * a prototype.
 */
async function keepsHostileTexts({ store, add, holds, list }: Setting): Promise<void> {
  const names = ['constructor', 'toString', 'hasOwnProperty', 'length', '', '0', ...FRAGMENTS];
  const rest = await add();
  for (let i = 0; i < names.length; i += 2) {
    const [text = '', otherText = ''] = names.slice(i, i + 2);
    const [name, other] = [nameable(text), nameable(otherText)];
    // More than the core allows: in scopes it accepts letters, digits, `-`, `_` and one colon.
    const used = { [`${name}:read`]: T, [`a-b_c:${other}`]: T };
    const made = await add({
      name: `${text}${otherText}`,
      justification: otherText,
      metadata: { [name]: otherText, [other]: text, both: text + otherText },
      scopes: [`${text}:read`, `a-b_c:${otherText}`],
      scopesUsed: used,
    });
    const { keyId } = made;
    await holds(made, `with ${show(text)} and ${show(otherText)} in its texts`);
    const later = { [`${name}:read`]: T + 1, [`${other}:new`]: T + 1 };
    await store.touch([{ keyId, lastUsedAt: T + 1, scopesUsed: later }]);
    const touched = { ...made, lastUsedAt: T + 1, scopesUsed: { ...used, ...later } };
    await holds(touched, `with ${show(name)} and ${show(other)} in the scopes used`);
    const listed = (await list()).filter((row) => row.keyId === keyId);
    same(listed, [touched], 'list');
  }
  await holds(rest, 'beside hostile texts');
}

/** Catches: text truncated because it is too long, or at a NUL, and a half-written record. */
async function keepsTextsWholeOrNot({ store, record, holds }: Setting): Promise<void> {
  const long = 'ab 🦊'.repeat(2 ** 15);
  for (const given of [
    { name: long },
    { justification: long },
    { name: 'a\0b' },
    { justification: '\0' },
  ]) {
    const made = record(given);
    // The core sends neither, so a store may refuse them.
    if (await succeeds(() => store.insert(made)))
      await holds(made, `${Object.keys(given)} that is long or has a NUL`);
    else {
      same(await store.findById(made.keyId), null, 'the key id of a record that was refused');
      same(await store.findByDigest([made.digest]), [], 'the digest of a record that was refused');
    }
  }
}

/** What clocks and calendars stumble over; each is tested with an adjacent millisecond. */
const INSTANTS = [
  -8_640_000_000_000_000, // the first that a `Date` can hold
  -62_135_596_800_001, // before the year 1
  -1,
  1,
  999,
  1_711_846_800_001, // 2024-03-31, Europe: 01:00 UTC, the clocks go forward
  1_711_852_200_007, // 02:30, an hour that those zones do not have
  1_729_989_000_123, // 2024-10-27: 00:30 UTC, and 01:20, which is earlier by the clock on the wall
  1_729_992_000_123,
  1_710_066_600_457, // 2024-03-10, America: 10:30 UTC
  1_730_611_800_999, // 2024-11-03: 05:30 UTC, and 06:20 likewise
  1_730_614_800_999,
  1_712_413_800_003, // 2024-04-06, Lord Howe: half an hour back
  2_147_483_647_999, // 2038-01-19, the last second of 32 bits, and the first that they cannot hold
  2_147_483_648_001,
  4_294_967_295_997, // 2106
  253_402_300_799_999, // the last of the year 9999
  253_402_300_800_001,
  8_640_000_000_000_000, // the last that a `Date` can hold
] as const;

/**
 * Catches: times converted through a calendar, a time zone, seconds or a float, and an order based
 * on them.
 */
async function keepsEveryMillisecond({ store, record, holds, list }: Setting): Promise<void> {
  const shuffled = [...INSTANTS].sort((a, b) => (a % 1000) - (b % 1000) || a - b);
  const all = shuffled.map((time, i) => {
    const next = time + (i % 2 === 0 ? -1 : 1);
    const scopesUsed = { 'a:b': time, 'c:d': next };
    return record({
      createdAt: time,
      expiresAt: next,
      revokedAt: time,
      retireAt: next,
      lastUsedAt: time,
      scopesUsed,
    });
  });
  await Promise.all(all.map(async (made) => store.insert(made)));
  for (const made of all) await holds(made, `times about ${made.createdAt}`);
  const expected = [...all].sort(newestFirst);
  same(await list(), expected, 'list');
  for (const [i, after] of expected.entries()) {
    same(await list({ after, limit: 1 }), expected.slice(i + 1, i + 2), `after ${after.createdAt}`);
  }
}

/** Catches: a store that keeps the caller's object, or changes it. */
async function copiesWhatItIsGiven({ store, entityUuid, record, holds }: Setting): Promise<void> {
  const made = record({ metadata: { a: 'b' }, scopesUsed: { 'a:b': 1 } });
  const { keyId, digest } = made;
  const [digests, query] = [[digest], { entityUuid, after: null, limit: 10 }];
  const [entries, ending] = [
    [{ keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }],
    { revokedAt: T },
  ];
  const given = [made, digests, query, entries, ending];
  const expected = structuredClone(given);
  await store.insert(made);
  await store.findByDigest(digests);
  await store.list(query);
  await store.touch(entries);
  await store.markEnded(keyId, ending);
  same(given, expected, 'what the store was given, afterwards');
  const ended = { ...structuredClone(made), ...ending, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } };
  vandalize(made);
  for (const { scopesUsed } of entries) Object.assign(scopesUsed, { 'a:b': 9 });
  await holds(ended, 'after the objects that were given are changed');
}

/** Catches: a store that hands out its own rows. */
async function handsOutCopies({ store, add, holds, list }: Setting): Promise<void> {
  const made = await add({ metadata: { a: 'b' }, scopesUsed: { 'a:b': 1 } });
  const { keyId, digest } = made;
  const answers = [
    await store.findById(keyId),
    ...(await store.findByDigest([digest])),
    ...(await list()),
  ];
  for (const answer of answers) if (answer !== null) vandalize(answer);
  await holds(made, 'after the objects that were returned are changed');
}

/** Changes whatever can be changed; frozen parts refuse, which is just as good. */
function vandalize(record: KeyRecord): void {
  const changes: readonly (() => unknown)[] = [
    () => (record.scopes as string[]).push('users:delete'),
    () => (record.accessibleEntities as string[]).splice(0, 1, uuid()),
    () => Object.assign(record.metadata, { a: 'changed', more: 'x' }),
    () => Object.assign(record.scopesUsed, { 'a:b': 2, 'c:d': 3 }),
    () => Object.assign(record, { revokedAt: 1, name: 'changed', scopes: [] }),
  ];
  for (const change of changes) {
    try {
      change();
    } catch {
      // Frozen.
    }
  }
}

/**
 * Catches: an upsert, a second key id that is silently ignored, a half-written record, a digest
 * that is used up.
 */
async function refusesSecondKeyId({ store, record, add, holds, list }: Setting): Promise<void> {
  const first = await add();
  const second = record({
    keyId: first.keyId,
    name: 'second',
    entityUuid: uuid(),
    scopes: ['users:delete'],
  });
  check(!(await succeeds(() => store.insert(second))), 'insert must throw on a key id that exists');
  await holds(first, 'after a second insert of its key id');
  same(await store.findByDigest([second.digest]), [], 'the digest of the record that was refused');
  same(
    await list({ entityUuid: second.entityUuid }),
    [],
    'the entity of the record that was refused',
  );
  const again = { ...second, keyId: uuid() };
  await store.insert(again);
  await holds(again, 'the digest that was refused, under a key id that is free');
}

/**
 * Catches: a digest without a unique index, an insert that throws but has written, a key id that is
 * used up.
 */
async function refusesSecondDigest({ store, record, add, holds, list }: Setting): Promise<void> {
  const first = await add({ revokedAt: T });
  const second = record({ digest: first.digest, name: 'second', createdAt: T + 1 });
  check(!(await succeeds(() => store.insert(second))), 'insert must throw on a digest that exists');
  check(
    !(await succeeds(() => store.insert({ ...first, revokedAt: null }))),
    'insert must throw on a known record',
  );
  await holds(first, 'after a second insert of its digest');
  same(await store.findById(second.keyId), null, 'the key id of the record that was refused');
  same(await list(), [first], 'list');
  const again = { ...second, digest: record().digest };
  await store.insert(again);
  await holds(again, 'the key id that was refused, with a digest that is free');
}

/** Catches: a check before the write instead of a constraint. */
async function insertsOnce({ store, record, list }: Setting): Promise<void> {
  for (const field of ['digest', 'keyId'] as const) {
    const shared = record();
    const rivals = Array.from({ length: 20 }, (_, i) =>
      record({ [field]: shared[field], name: `rival ${i}` }),
    );
    const wrote = await parallel(20, (i) => succeeds(() => store.insert(rivals[i] ?? shared)));
    same(wrote.filter(Boolean).length, 1, `of 20 parallel inserts of one ${field} that succeed`);
    const winner = rivals[wrote.indexOf(true)] ?? shared;
    same(await store.findById(winner.keyId), winner, 'the record of the one that succeeded');
    for (const rival of rivals) {
      const expected = rival === winner || rival.digest === winner.digest ? [winner] : [];
      same(await store.findByDigest([rival.digest]), expected, 'the digests of those that failed');
    }
    const listed = (await list()).filter((row) => row[field] === shared[field]);
    same(listed, [winner], 'list');
  }
}

/** Catches: writes that overwrite each other, as with one document for all keys. */
async function insertsInParallel({ store, record, holds }: Setting): Promise<void> {
  const records = Array.from({ length: 20 }, (_, i) =>
    record({ createdAt: T + i, name: `key ${i}` }),
  );
  await Promise.all(records.map(async (made) => store.insert(made)));
  for (const made of records) await holds(made, 'after 20 parallel inserts of different keys');
}

// ── findByDigest, findById ────────────────────────────────────────────────────────────────────────────

/**
 * Catches: case-insensitive collations, padding, patterns, C strings, comparisons of text with
 * numbers.
 */
async function comparesDigestsExactly({ store, record, add, holds }: Setting): Promise<void> {
  const made = await add();
  const { digest, keyId } = made;
  same(await store.findByDigest([record().digest]), [], 'a digest that nothing has');
  for (const near of [...nearTexts(digest), keyId])
    await misses(near, () => store.findByDigest([near]));
  for (const odd of oddValues(digest)) await misses(odd, () => store.findByDigest([odd as string]));
  await holds(made, 'after look-ups with what is like its digest');
}

/**
 * Catches: a unique index that folds case or pads with spaces, and so refuses the second key; a
 * truncated column.
 */
async function keepsDigestsApart({ store, add, holds }: Setting): Promise<void> {
  const made = await add();
  const { digest } = made;
  const others = [
    `${digest.slice(0, -1)}e`,
    digest.replace('$ab', '$aB'),
    `${digest.slice(0, -1)}D`,
    digest.toUpperCase(),
    `${digest} `,
    `${digest}  `,
    ` ${digest}`,
  ];
  const twins: KeyRecord[] = [made];
  for (const other of others) twins.push(await add({ digest: other }));
  for (const twin of twins)
    await holds(twin, `beside digests that differ little, ${show(twin.digest)}`);
  const found = await store.findByDigest(twins.map((twin) => twin.digest));
  const ids = (rows: readonly KeyRecord[]) => rows.map(({ keyId }) => keyId).sort();
  same(ids(found), ids(twins), 'all of them in one look-up');
}

/**
 * Catches: one answer for look-ups made together, whether in a batch, a pipeline or one prepared
 * statement.
 */
async function answersEachLookUp({ store, record, add }: Setting): Promise<void> {
  const known = await parallel(5, (i) => add({ name: `key ${i}` }));
  const unknown = record().digest;
  // Twenty at once: each asks for its own digest and one that nothing has, and some also for one
  // that others ask for.
  const asked = Array.from({ length: 20 }, (_, i) =>
    known.filter((_row, k) => k === i % 5 || (i > 14 && k === 0)),
  );
  const answers = await parallel(20, (i) =>
    store.findByDigest([unknown, ...(asked[i] ?? []).map((k) => k.digest)]),
  );
  const byName = (rows: readonly KeyRecord[]) =>
    [...rows].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const [i, rows] of answers.entries())
    same(byName(rows), asked[i], `look-up ${i} of 20 at once`);
  const ids = await parallel(20, (i) => store.findById(known[i % 5]?.keyId ?? ''));
  for (const [i, row] of ids.entries()) same(row, known[i % 5], `findById ${i} of 20 at once`);
}

/**
 * Catches: a look-up that is answered with the result of another one, which was sent before a
 * write.
 */
async function seesWhatWasAcknowledged({ store, record, holds }: Setting): Promise<void> {
  const made = record();
  const { keyId, digest } = made;
  const writes: readonly (readonly [() => Awaitable<unknown>, Partial<KeyRecord>])[] = [
    [() => store.insert(made), {}],
    [() => store.markEnded(keyId, { retireAt: T + 2 }), { retireAt: T + 2 }],
    [() => store.markEnded(keyId, { revokedAt: T + 1 }), { revokedAt: T + 1 }],
  ];
  let expected = made;
  for (const [write, change] of writes) {
    // In progress during the write: they may return either state.
    const early = Promise.allSettled(
      [async () => store.findById(keyId), async () => store.findByDigest([digest])].map((ask) =>
        ask(),
      ),
    );
    await write();
    expected = { ...expected, ...change };
    await holds(expected, 'after a write, while look-ups from before it are under way');
    await early;
  }
}

const byDigest = (rows: readonly KeyRecord[]) =>
  [...rows].sort((a, b) => (a.digest < b.digest ? -1 : 1));

/**
 * Catches: a look-up of only the first digest, an empty list that means everything, ended keys left
 * out.
 */
async function findsSeveralDigests({ store, record, add }: Setting): Promise<void> {
  const known = [
    await add(),
    await add({ revokedAt: T }),
    await add({ expiresAt: 0, entityUuid: uuid() }),
  ];
  await add();
  const ask = async (digests: readonly string[], expected: readonly KeyRecord[]) =>
    same(
      byDigest(await store.findByDigest(digests)),
      byDigest(expected),
      `with ${digests.length} digests`,
    );
  const digests = known.map(({ digest }) => digest);
  await ask([], []);
  await ask(digests, known);
  await ask([...digests].reverse(), known);
  await ask([record().digest, ...digests.slice(0, 1)], known.slice(0, 1));
  await ask([record().digest, record().digest, record().digest], []);
  await ask([...Array.from({ length: 40 }, () => record().digest), ...digests], known);
}

/**
 * Catches: a throw where null is expected, and the collations of {@link comparesDigestsExactly}.
 */
async function findsByIdExactly({ store, add, holds }: Setting): Promise<void> {
  const made = await add({ keyId: lettered() });
  const { keyId, digest, entityUuid } = made;
  same(await store.findById(uuid()), null, 'a key id that nothing has');
  for (const near of [...nearTexts(keyId), digest, entityUuid])
    await misses(near, () => store.findById(near));
  for (const odd of oddValues(keyId)) await misses(odd, () => store.findById(odd as string));
  await holds(made, 'after look-ups with what is like its id');
}

// ── list ──────────────────────────────────────────────────────────────────────────────────────────────

const newestFirst = (a: ListPosition, b: ListPosition): number =>
  b.createdAt - a.createdAt || (a.keyId < b.keyId ? 1 : a.keyId > b.keyId ? -1 : 0);

/**
 * Twelve keys at six times, so that key ids decide between the two of each, added in no particular
 * order.
 */
async function addTwelve(
  { add }: Setting,
  given: Partial<KeyRecord> = {},
): Promise<readonly KeyRecord[]> {
  const made: KeyRecord[] = [];
  for (let i = 0; i < 12; i++)
    made.push(await add({ createdAt: T + ((i * 5) % 6) * 1000, ...given }));
  return made.sort(newestFirst);
}

/** Catches: unordered ties, times ordered as text, a limit that is ignored or has a ceiling. */
async function listsNewestFirst(s: Setting): Promise<void> {
  const { entityUuid, add, list } = s;
  const all = await addTwelve(s);
  // Times that sort differently as text: 9 after 10, and a negative one.
  const old = [
    await add({ createdAt: 10 }),
    await add({ createdAt: 9 }),
    await add({ createdAt: -5 }),
  ];
  // A key that addresses this entity but belongs to another is the other's.
  await add({ entityUuid: uuid(), accessibleEntities: [entityUuid] });
  const expected = [...all, ...old];
  for (const limit of [1, 2, 7, 15, 16, 1001])
    same(await list({ limit }), expected.slice(0, limit), `list with limit ${limit}`);
}

/** Catches: another tenant's keys in a listing. */
async function listsOneEntity(s: Setting): Promise<void> {
  const { entityUuid, list } = s;
  const mine = await addTwelve(s);
  const other = uuid();
  const others = await addTwelve(s, { entityUuid: other });
  same(await list(), mine, 'the first entity');
  same(await list({ entityUuid: other }), others, 'the second entity');
  const after = others[5] ?? null;
  const following = mine.filter((row) => behind(row, after));
  same(await list({ after }), following, 'a page');
  same(await list({ entityUuid: uuid() }), [], 'an entity without keys');
  for (const odd of [...nearTexts(entityUuid), ...oddValues(entityUuid)])
    await misses(odd, () => list({ entityUuid: odd as string }));
}

const behind = (row: KeyRecord, after: ListPosition | null): boolean =>
  after === null || newestFirst(after, row) < 0;

/** Catches: a listing of only live keys. */
async function listsEndedOnes({ add, list }: Setting): Promise<void> {
  const live = await add({ createdAt: T + 4 });
  const revoked = await add({ createdAt: T + 3, revokedAt: T + 5 });
  const retired = await add({ createdAt: T + 2, retireAt: T + 5 });
  const expired = await add({ createdAt: T + 1, expiresAt: T + 2 });
  same(await list(), [live, revoked, retired, expired], 'ended keys in a listing');
}

/**
 * Every record that follows `from`, in pages of `limit`, as a service goes through a listing. There
 * are at most `most`: a listing without an end would be a test without one.
 */
async function inPages(
  { list }: Setting,
  limit: number,
  most: number,
  { from = null, between }: { from?: ListPosition | null; between?: () => Awaitable<unknown> } = {},
): Promise<readonly KeyRecord[]> {
  const seen: KeyRecord[] = [];
  for (let after = from; ; await between?.()) {
    const rows = await list({ after, limit });
    seen.push(...rows);
    check(rows.length <= limit, `list answered ${rows.length} records to a limit of ${limit}`);
    check(
      seen.length <= most,
      `pages of ${limit} hold more than the ${most} records that there are`,
    );
    const last = rows.at(-1);
    if (last === undefined) return seen;
    after = { createdAt: last.createdAt, keyId: last.keyId };
  }
}

/** Those of `rows` that are among `all`. */
function among(rows: readonly KeyRecord[], all: readonly KeyRecord[]): readonly KeyRecord[] {
  const known = new Set(all.map(({ keyId }) => keyId));
  return rows.filter(({ keyId }) => known.has(keyId));
}

/** Catches: paging by offset, and by time only. */
async function pagesWhileKeysAreAdded(s: Setting): Promise<void> {
  const all = await addTwelve(s);
  let added = 0;
  const between = () => s.add({ createdAt: T + DAY + added++ });
  for (const limit of [1, 2, 5]) {
    const seen = await inPages(s, limit, all.length + added, { between });
    same(among(seen, all), all, `pages of ${limit} while keys are added`);
    same(
      new Set(seen.map(({ keyId }) => keyId)).size,
      seen.length,
      `different records in pages of ${limit}`,
    );
  }
}

/** Catches: a listing that is rebuilt, locked or without its rows while keys are added. */
async function pagesWhileInsertsRun(s: Setting): Promise<void> {
  const all = await addTwelve(s);
  let running = true;
  // Before, among and after the twelve; and at their times, so that ids decide.
  const offsets = [DAY, 0, 5000, 2500, -DAY];
  const adder = async (from: number) => {
    for (let i = from; i < 40 && running; i += 2)
      await s.add({ createdAt: T + (offsets[i % 5] ?? 0) });
  };
  const added = Promise.all([adder(0), adder(1)]);
  // Awaited below, where it throws.
  added.catch(() => {});
  try {
    for (const limit of [3, 1, 100]) {
      const seen = await inPages(s, limit, all.length + 40);
      same(among(seen, all), all, `pages of ${limit} while inserts run`);
      const ordered = seen.every((row, i) => i === 0 || newestFirst(seen[i - 1] ?? row, row) < 0);
      check(ordered, `pages of ${limit} while inserts run repeat a record or are out of order`);
    }
  } finally {
    running = false;
    await added;
  }
}

/** Catches: a page that looks for its start among the first few records of a millisecond. */
async function pagesThroughTies(s: Setting): Promise<void> {
  const tied = await parallel(24, () => s.add());
  const all = [...tied, await s.add({ createdAt: T + 1 }), await s.add({ createdAt: T - 1 })].sort(
    newestFirst,
  );
  for (const limit of [1, 4, 25]) {
    const seen = await inPages(s, limit, all.length, { from: { createdAt: T * 2, keyId: uuid() } });
    same(seen, all, `pages of ${limit} through 24 keys of one millisecond`);
  }
}

/** Catches: a cursor that is looked up as a record. */
async function listsBehindAnyPosition(s: Setting): Promise<void> {
  const all = await addTwelve(s);
  // Every third: alternately the first and the second of a millisecond.
  const some = all.filter((_, i) => i % 3 === 0);
  const positions = some.flatMap(({ createdAt, keyId }) => [
    { createdAt, keyId },
    // Positions that no record has: records are never deleted, but a cursor may be made up.
    { createdAt: createdAt - 1, keyId },
    { createdAt: createdAt + 1, keyId },
    { createdAt, keyId: '00000000-0000-4000-8000-000000000000' },
    { createdAt, keyId: 'ffffffff-ffff-4fff-bfff-ffffffffffff' },
  ]);
  for (const after of positions) {
    const following = all.filter((row) => behind(row, after));
    same(await s.list({ after }), following, `list after ${after.createdAt} ${after.keyId}`);
  }
}

// ── markEnded ─────────────────────────────────────────────────────────────────────────────────────────

/** Catches: any condition other than the two marks, and any other field that is written. */
async function endsByItsConditions({ store, add, holds }: Setting): Promise<void> {
  const marks = [null, T + 1];
  for (const revokedAt of marks) {
    for (const retireAt of marks) {
      for (const ending of [{ revokedAt: T + 9 }, { retireAt: T + 9 }] as const) {
        // Used, with a past or future expiry: neither is a condition, and nothing else is written.
        for (const expiresAt of [0, Number.MAX_SAFE_INTEGER]) {
          const made = await add({
            revokedAt,
            retireAt,
            expiresAt,
            lastUsedAt: T,
            scopesUsed: { 'a:b': T },
          });
          const may = revokedAt === null && ('revokedAt' in ending || retireAt === null);
          const when = `markEnded ${show(ending)} where revokedAt is ${revokedAt} and retireAt ${retireAt}`;
          same(await store.markEnded(made.keyId, ending), may, when);
          await holds(may ? { ...made, ...ending } : made, when);
        }
      }
    }
  }
}

/** Catches: a later call that moves the time of the first, and 0 taken for no mark. */
async function endsOnce({ store, add, holds }: Setting): Promise<void> {
  for (const time of [T, 0]) {
    const made = await add();
    const end = (ending: Ending) => store.markEnded(made.keyId, ending);
    same(await end({ retireAt: time }), true, 'the first to retire');
    same(await end({ retireAt: time - 10 }), false, 'the second to retire');
    same(await end({ retireAt: time + 10 }), false, 'the third to retire');
    await holds({ ...made, retireAt: time }, 'retired three times');
    same(await end({ revokedAt: time }), true, 'the first to revoke, after it was retired');
    same(await end({ revokedAt: time - 4 }), false, 'the second to revoke');
    same(await end({ revokedAt: time }), false, 'to revoke again at the very same time');
    same(await end({ retireAt: time + 1 }), false, 'to retire what is revoked');
    await holds({ ...made, retireAt: time, revokedAt: time }, 'retired and revoked twice');
  }
}

/** Catches: a check before the write: two rotations would both hand out a successor. */
async function endsOnceInParallel({ store, add, holds }: Setting): Promise<void> {
  for (const mark of ['revokedAt', 'retireAt'] as const) {
    const made = await add();
    const ending = (i: number) => ({ [mark]: T + i }) as unknown as Ending;
    const wrote = await parallel(20, (i) => store.markEnded(made.keyId, ending(i)));
    const winners = wrote.filter((w) => w !== false);
    same(winners, [true], `of 20 parallel calls with ${mark} that wrote`);
    await holds(
      { ...made, ...ending(wrote.indexOf(true)) },
      'the time is that of the call that wrote',
    );
  }
}

/** Catches: a retirement that undoes a revocation, or prevents it. */
async function retiresAndRevokesInParallel({ store, add, holds }: Setting): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const made = await add();
    const wrote = await parallel(20, (i) =>
      store.markEnded(made.keyId, i % 2 === round % 2 ? { retireAt: T + i } : { revokedAt: T + i }),
    );
    const winner = (parity: number) => wrote.findIndex((w, i) => w && i % 2 === parity % 2);
    same(
      wrote.filter((w, i) => w && i % 2 !== round % 2).length,
      1,
      'of 10 parallel calls to revoke that wrote',
    );
    check(
      wrote.filter((w, i) => w && i % 2 === round % 2).length <= 1,
      'at most one of 10 parallel calls retires',
    );
    const retirer = winner(round);
    const retireAt = retirer === -1 ? null : T + retirer;
    await holds({ ...made, revokedAt: T + winner(round + 1), retireAt }, 'after parallel calls');
  }
}

/**
 * Catches: a write that counts as done because the row has its value already, as in two
 * simultaneous rotations.
 */
async function endsOnceInPairs({ store, add }: Setting): Promise<void> {
  const ROUNDS = 50;
  const keys = await parallel(2 * ROUNDS, () => add());
  const retire = { retireAt: T + 1 };
  const rivals: readonly (readonly [Ending, Ending])[] = [
    [retire, retire],
    [retire, { revokedAt: T + 1 }],
    [{ revokedAt: T + 1 }, retire],
  ];
  const ended = await parallel(2 * ROUNDS, async (i) => {
    const key = keys[i] as KeyRecord;
    // Half of them retire against retire; in the other half, the two alternate in being called
    // first.
    const [one, two] = rivals[i < ROUNDS ? 0 : 1 + (i % 2)] as (typeof rivals)[number];
    const wrote = await parallel(2, (side) => store.markEnded(key.keyId, side === 0 ? one : two));
    const written = [one, two].filter((_, side) => wrote[side] === true);
    const what = `${show(one)} against ${show(two)}`;
    const revoked = written.some((ending) => 'revokedAt' in ending);
    if (one === two) same(written.length, 1, `${what}: calls that wrote`);
    else check(revoked, `${what}: a retirement kept the revocation out`);
    return Object.assign({ ...key }, ...written) as KeyRecord;
  });
  // One look-up instead of two hundred.
  same(
    byDigest(await store.findByDigest(keys.map(({ digest }) => digest))),
    byDigest(ended),
    'after 100 races',
  );
}

/** Catches: a deadline that is moved to the store's own time, or compared with it. */
async function takesTimesAsGiven({ store, scheme, add, holds, summaryOf }: Setting): Promise<void> {
  const ends = INSTANTS.filter((_, i) => i % 2 === 0);
  const made = await parallel(ends.length, (i) =>
    add({ createdAt: -(ends[i] ?? 0), expiresAt: ends[i] ?? null }),
  );
  const others = await parallel(ends.length, (i) => add({ createdAt: ends[i] ?? 0 }));
  for (const [i, time] of ends.entries()) {
    const [one, other] = [made[i], others[i]] as [KeyRecord, KeyRecord];
    same(await store.markEnded(other.keyId, { retireAt: time }), true, `to retire at ${time}`);
    await store.touch([{ keyId: other.keyId, lastUsedAt: time, scopesUsed: { 'a:b': time } }]);
    await holds(
      { ...other, retireAt: time, lastUsedAt: time, scopesUsed: { 'a:b': time } },
      `ended at ${time}`,
    );
    await holds(one, `with an expiry at ${time}`);
  }
  // The newest use is that of live keys, however far the clock that asks is from the one that
  // wrote.
  const clocks = [
    ...ends.map((time, i) => time - (i % 2)),
    -Number.MAX_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER,
  ];
  for (const now of takesTime(store) ? clocks : []) {
    const live = ends.filter((time) => time > now);
    const expected =
      live.length === 0 ? [] : [{ scheme, live: 2 * live.length, lastUsedAt: Math.max(...live) }];
    same(await summaryOf(now), expected, `live at ${now}`);
  }
  for (const { keyId } of made)
    same(await store.markEnded(keyId, { revokedAt: T }), true, 'to revoke what is long over');
}

/** Catches: an upsert, a throw, and values that a driver reads as a condition. */
async function endsNothingUnknown({ store, entityUuid, add, holds, list }: Setting): Promise<void> {
  const made = await add({ keyId: lettered() });
  for (const ending of [{ revokedAt: T }, { retireAt: T }]) {
    same(await store.markEnded(uuid(), ending), false, 'markEnded of an unknown key id');
    const values = [...nearTexts(made.keyId), ...oddValues(made.keyId), made.digest, entityUuid];
    for (const value of values) await misses(value, () => store.markEnded(value as string, ending));
  }
  await holds(made, 'after others were to be ended');
  same(await list(), [made], 'no record was made');
}

// ── touch ─────────────────────────────────────────────────────────────────────────────────────────────

/** Catches: late batches that move a time back, and times compared as text. */
async function touchesForward({ store, add, holds }: Setting): Promise<void> {
  const made = await add();
  const { keyId } = made;
  const steps: readonly (readonly [number, number])[] = [
    // A time like any other, and later than never.
    [0, 0],
    [T + 50, T + 50],
    [T + 40, T + 50],
    [T + 50, T + 50],
    [T + 51, T + 51],
    [0, T + 51],
    [9, T + 51],
    [T * 5, T * 5],
  ];
  for (const [time, expected] of steps) {
    same(
      await succeeds(() => store.touch([{ keyId, lastUsedAt: time, scopesUsed: {} }])),
      true,
      'touch succeeds',
    );
    await holds({ ...made, lastUsedAt: expected }, `lastUsedAt after touch at ${time}`);
  }
}

/** Catches: a table of scopes that is replaced, and one condition for all of them. */
async function touchesEachScopeForward({ store, add, holds }: Setting): Promise<void> {
  const made = await add({ lastUsedAt: T + 10, scopesUsed: { 'a:read': T + 10, 'b:read': T + 5 } });
  const { keyId } = made;
  await store.touch([
    { keyId, lastUsedAt: T + 8, scopesUsed: { 'a:read': T + 8, 'b:read': T + 8, 'c:read': T + 1 } },
  ]);
  const once = { 'a:read': T + 10, 'b:read': T + 8, 'c:read': T + 1 };
  await holds(
    { ...made, scopesUsed: once },
    'older for one scope, newer for another, new for a third',
  );
  await store.touch([
    { keyId, lastUsedAt: T + 20, scopesUsed: { 'constructor:read': 9, 'z:z': 0 } },
  ]);
  const twice = { ...once, 'constructor:read': 9, 'z:z': 0 };
  await holds(
    { ...made, lastUsedAt: T + 20, scopesUsed: twice },
    'scopes that are not mentioned stay',
  );
  await store.touch([
    { keyId, lastUsedAt: T + 21, scopesUsed: { 'constructor:read': 10, 'x:y': 2 ** 53 - 1 } },
  ]);
  const last = { ...twice, 'constructor:read': 10, 'x:y': 2 ** 53 - 1 };
  await holds({ ...made, lastUsedAt: T + 21, scopesUsed: last }, 'times are numbers, not texts');
}

/**
 * Catches: a batch that fails because of one unknown key, and one that takes the last of two
 * entries.
 */
async function touchesManyKeys({ store, add, holds, list }: Setting): Promise<void> {
  const made = await add({ keyId: lettered() });
  const other = await add();
  const unknown = uuid();
  const entry = (keyId: string, lastUsedAt: number, scopesUsed = {}) => ({
    keyId,
    lastUsedAt,
    scopesUsed,
  });
  await store.touch([]);
  await store.touch([
    entry(unknown, T + 1, { 'a:b': T }),
    entry(made.keyId, T + 3, { 'a:b': T + 3, 'c:d': T }),
    entry(unknown, T + 2),
    entry(other.keyId, T + 7, { 'a:b': T + 7 }),
    // Twice in one batch, the older one last.
    entry(made.keyId, T + 2, { 'a:b': T + 2, 'e:f': T + 2 }),
  ]);
  await holds(
    { ...made, lastUsedAt: T + 3, scopesUsed: { 'a:b': T + 3, 'c:d': T, 'e:f': T + 2 } },
    'a batch',
  );
  await holds({ ...other, lastUsedAt: T + 7, scopesUsed: { 'a:b': T + 7 } }, 'a batch');
  for (const odd of [...nearTexts(made.keyId), ...oddValues(made.keyId), made.digest]) {
    await succeeds(() => store.touch([entry(odd as string, T + 9)]));
  }
  await holds(
    { ...made, lastUsedAt: T + 3, scopesUsed: { 'a:b': T + 3, 'c:d': T, 'e:f': T + 2 } },
    'ids like it',
  );
  same(await store.findById(unknown), null, 'an unknown key id in a batch');
  same((await list()).length, 2, 'records after a batch');
}

/** Catches: a table of scopes that is read, changed and written back. */
async function touchesInParallel({ store, add, holds }: Setting): Promise<void> {
  const made = await add();
  const times = [7, 3, 19, 0, 11, 15, 1, 18, 5, 13, 9, 2, 17, 4, 16, 6, 14, 8, 12, 10];
  await parallel(20, (i) => {
    const time = T + (times[i] ?? 0);
    return store.touch([
      { keyId: made.keyId, lastUsedAt: time, scopesUsed: { 'a:b': time, [`only:s${i}`]: time } },
    ]);
  });
  const own = Object.fromEntries(times.map((time, i) => [`only:s${i}`, T + time]));
  await holds(
    { ...made, lastUsedAt: T + 19, scopesUsed: { 'a:b': T + 19, ...own } },
    '20 parallel calls',
  );
}

/**
 * How a touch `t` and an ending `e` of one key meet; `-` is neither, but a pause. Mostly with
 * nothing after them: a later touch that reads the mark would write it back.
 */
const MEETINGS = ['te', 'tte', 'tttte', 'et', 'e-t', 'e---t', 'ttett'] as const;

/** Catches: a whole record, or a mark, that is read and then written back over a revocation. */
async function touchUndoesNoEnding({ store, add, holds }: Setting): Promise<void> {
  const meet = async (meeting: string, ending: Ending) => {
    const made = await add();
    const { keyId } = made;
    const touch = (lastUsedAt: number) =>
      store.touch([{ keyId, lastUsedAt, scopesUsed: { 'a:b': T + 6 } }]);
    const calls = {
      t: () => touch(T + 6),
      e: () => store.markEnded(keyId, ending),
      '-': () => undefined,
    };
    await overlap(
      store,
      [...meeting].map((letter) => calls[letter as keyof typeof calls]),
    );
    const ended = { ...made, ...ending, lastUsedAt: T + 6, scopesUsed: { 'a:b': T + 6 } };
    await holds(ended, `use recorded while the key is ended, ${meeting}`);
    await touch(T + 7);
    await holds({ ...ended, lastUsedAt: T + 7 }, 'use recorded after the key is ended');
  };
  // Not all at once: if calls wait for a free connection, they no longer meet.
  for (const meeting of MEETINGS)
    await Promise.all([meet(meeting, { revokedAt: T + 5 }), meet(meeting, { retireAt: T + 5 })]);
}

// ── summarize ─────────────────────────────────────────────────────────────────────────────────────────

/**
 * Whether the store counts at the time it is given. One without that parameter uses its own clock.
 */
const takesTime = (store: KeyStore): boolean => store.summarize.length > 0;

/** Catches: rows of other schemes included, counts as text, 0 for never. */
async function summarizesByScheme({ scheme, add, summaryOf }: Setting): Promise<void> {
  const other = `${scheme}2`;
  same(await summaryOf(), [], 'a scheme without keys');
  await add();
  same(await summaryOf(), [{ scheme, live: 1, lastUsedAt: null }], 'one key, never used');
  await add({ lastUsedAt: 0 });
  same(await summaryOf(), [{ scheme, live: 2, lastUsedAt: 0 }], 'two keys, one used at time 0');
  await add({ lastUsedAt: 9, entityUuid: uuid() });
  await add({ lastUsedAt: 10 });
  await add({ digest: `${other}$${hex()}`, lastUsedAt: T + 99 });
  same(await summaryOf(), [{ scheme, live: 4, lastUsedAt: 10 }], 'four keys of two entities');
  same(
    await summaryOf(T, other),
    [{ scheme: other, live: 1, lastUsedAt: T + 99 }],
    'a second scheme',
  );
  const plain = async () => (await summaryOf(T, 's1'))[0]?.live ?? 0;
  const before = await plain();
  await add({ digest: `s1$${hex()}` });
  same(await plain(), before + 1, 'keys without a pepper');
}

/** Catches: deadlines a millisecond off, 0 taken for none, and the database's own clock. */
async function summarizesLiveKeys(s: Setting): Promise<void> {
  const { store, scheme, add, summaryOf } = s;
  if (!takesTime(store)) return summarizesLiveKeysNow(s);
  const row = (live: number) => [{ scheme, live, lastUsedAt: null }];
  await add({ revokedAt: T - 1 });
  await add({ revokedAt: T + DAY, expiresAt: T + DAY });
  for (const field of ['revokedAt', 'retireAt', 'expiresAt']) await add({ [field]: 0 });
  same(await summaryOf(T), [], 'a scheme whose keys are revoked, be it at a time to come');
  await add({ expiresAt: T });
  await add({ retireAt: T });
  await add({ expiresAt: T + 5, retireAt: T });
  await add({ expiresAt: T, retireAt: T + 5 });
  same(await summaryOf(T - 1), row(4), 'a millisecond before the deadline');
  same(await summaryOf(T), [], 'at the deadline');
  same(await summaryOf(T + 1), [], 'a millisecond after the deadline');
  await add();
  // Decades apart: whichever clock the database has, one of the two is not its time.
  same(await summaryOf(0), row(5), 'in 1970');
  same(await summaryOf(T * 5), row(1), 'in 2128');
}

/** The same for a store that uses its own clock, which is less than a day off. */
async function summarizesLiveKeysNow({ scheme, add, summaryOf }: Setting): Promise<void> {
  const now = Date.now();
  const [past, ahead] = [now - DAY, now + DAY];
  for (const field of ['revokedAt', 'retireAt', 'expiresAt'])
    for (const time of [past, 0]) await add({ [field]: time });
  await add({ revokedAt: ahead, expiresAt: ahead });
  await add({ retireAt: ahead, expiresAt: past });
  await add({ retireAt: past, expiresAt: ahead });
  same(await summaryOf(now), [], 'a scheme whose keys are over, or revoked at a time to come');
  for (const given of [{}, { expiresAt: ahead }, { retireAt: ahead }]) await add(given);
  same(
    await summaryOf(now),
    [{ scheme, live: 3, lastUsedAt: null }],
    'beside them, keys that end in a day or never',
  );
}

// ── Other records ─────────────────────────────────────────────────────────────────────────────────────

/** Catches: a WHERE that reaches further than one key. */
async function leavesOthersAlone({ store, record, add, holds }: Setting): Promise<void> {
  const target = await add({ keyId: uuid().replace(/..$/, 'aa'), metadata: { a: 'b' } });
  const { keyId, digest, entityUuid } = target;
  const others = [
    await add({ keyId: keyId.replace(/..$/, 'ab') }),
    await add({ digest: `${digest.slice(0, -1)}e`, rotatedFrom: keyId }),
    await add({ ...target, keyId: uuid(), digest: record().digest }),
    await add({ lastUsedAt: T + 1, scopesUsed: { 'a:b': T + 1 } }),
    await add({ retireAt: T + 1 }),
    await add({ revokedAt: T + 1 }),
    await add({ entityUuid: uuid(), accessibleEntities: [entityUuid] }),
  ];
  const used = { lastUsedAt: T + 90, scopesUsed: { 'a:b': T + 90 } };
  const writes: readonly (readonly [string, () => Awaitable<unknown>])[] = [
    ['insert', () => store.insert(record())],
    ['an insert that is refused', () => succeeds(() => store.insert(record({ digest })))],
    ['touch', () => store.touch([{ keyId, ...used }])],
    ['retire', () => store.markEnded(keyId, { retireAt: T + 90 })],
    ['revoke', () => store.markEnded(keyId, { revokedAt: T + 90 })],
    ['revoke again', () => store.markEnded(keyId, { revokedAt: T + 91 })],
    ['touch of an unknown key', () => store.touch([{ keyId: uuid(), ...used }])],
    ['revoke of an unknown key', () => store.markEnded(uuid(), { revokedAt: T })],
    [
      'reads',
      () =>
        Promise.all([store.summarize(T * 5), store.findById(keyId), store.findByDigest([digest])]),
    ],
  ];
  for (const [name, write] of writes) {
    await write();
    for (const other of others) await holds(other, `another record after ${name}`);
  }
  await holds({ ...target, ...used, retireAt: T + 90, revokedAt: T + 90 }, 'the record itself');
}

/** Catches: one document per entity, read and written back over what others have written since. */
async function writesSpareOthers({ store, record }: Setting): Promise<void> {
  const used = { lastUsedAt: T + 6, scopesUsed: { 'a:b': T + 6 } };
  const end = (ending: Ending) =>
    [({ keyId }: KeyRecord) => store.markEnded(keyId, ending), ending] as const;
  /** A write, and what it changes in an existing record; `null` if it makes the record. */
  const writes: readonly (readonly [
    (row: KeyRecord) => Awaitable<unknown>,
    Partial<KeyRecord> | null,
  ])[] = [
    [(row) => store.insert(row), null],
    [({ keyId }) => store.touch([{ keyId, ...used }]), used],
    end({ revokedAt: T + 5 }),
    end({ retireAt: T + 5 }),
  ];
  // Each write at once with each other one, each time in a new entity: nothing follows that could
  // make it good.
  await parallel(writes.length ** 2, async (i) => {
    const entityUuid = uuid();
    const four = Array.from({ length: 4 }, (_, k) => {
      const [write, change] = writes[
        (k === 0 ? i >> 2 : i + k) % writes.length
      ] as (typeof writes)[number];
      const row = record({ entityUuid, accessibleEntities: [entityUuid] });
      return { row, change, call: () => write(row) };
    });
    for (const { row, change } of four) if (change !== null) await store.insert(row);
    await overlap(
      store,
      four.map(({ call }) => call),
    );
    const found = await store.findByDigest(four.map(({ row }) => row.digest));
    const expected = four.map(({ row, change }) => ({ ...row, ...change }));
    same(
      byDigest(found),
      byDigest(expected),
      'keys of one entity, each written to while others were',
    );
  });
}

/**
 * Catches: a limit of the database or its client on rows, values or entries; pages that go wrong;
 * deadlocks.
 */
async function holdsForManyKeys({ store, scheme, record, list }: Setting): Promise<void> {
  // Two per millisecond, each under its own scheme.
  const digest = (i: number) => `${scheme}${i}$${hex()}`;
  const made = Array.from({ length: 150 }, (_, i) =>
    record({ createdAt: T + (i >> 1), digest: digest(i) }),
  );
  await Promise.all(made.map(async (row) => store.insert(row)));
  const all = made.sort(newestFirst);
  for (const limit of [101, 1001])
    same(await list({ limit }), all.slice(0, limit), `list with limit ${limit}`);
  for (let at = 0; at <= 150; at += 61) {
    const page = await list({ after: all[at - 1] ?? null, limit: 61 });
    same(page, all.slice(at, at + 61), `a page of 61, behind ${at} keys`);
  }

  // Known ones are at both ends of what is asked or written; nobody has what is between them.
  const around = <A>(own: readonly A[], unknown: readonly A[]) => [
    ...own.slice(0, 75),
    ...unknown,
    ...own.slice(75),
  ];
  const asked = around(
    all.map((row) => row.digest),
    Array.from({ length: 851 }, (_, i) => `${scheme}$${String(i).padStart(64, '0')}`),
  );
  same(byDigest(await store.findByDigest(asked)), byDigest(all), 'findByDigest with 1,001 digests');

  const many = Array.from({ length: 256 }, (_, i) => [
    `${'r'.repeat(64)}:${'a'.repeat(60)}${i}`,
    T + i,
  ]);
  const used = (i: number) => ({
    lastUsedAt: T + i,
    scopesUsed: i < 149 ? { 'a:b': T + i } : Object.fromEntries(many),
  });
  const entries = all.map(({ keyId }, i) => ({ keyId, ...used(i) }));
  const unknown = Array.from({ length: 850 }, () => ({ keyId: uuid(), ...used(0) }));
  await store.touch(around(entries, unknown));
  const touched = all.map((row, i) => ({ ...row, ...used(i) }));
  same(
    await list({ limit: 1001 }),
    touched,
    'after a batch of 1,000 entries, the last with 256 scopes',
  );
  // At once and in opposite orders, as two processes may send them: a store that locks key by key
  // deadlocks.
  const some = entries.slice(0, 100);
  await Promise.all([some, [...some].reverse()].map(async (batch) => store.touch(batch)));

  const lines = (await store.summarize(T)).filter((line) => line.scheme.startsWith(scheme));
  const newest = ({ lastUsedAt: a }: SchemeSummary, { lastUsedAt: b }: SchemeSummary) =>
    Number(a) - Number(b);
  const line = (row: KeyRecord) => ({
    scheme: row.digest.split('$')[0] ?? '',
    live: 1,
    lastUsedAt: row.lastUsedAt,
  });
  same([...lines].sort(newest), touched.map(line), 'summarize of 150 schemes');
}

const CONTRACT: readonly (readonly [string, (setting: Setting) => Promise<void>])[] = [
  ['insert keeps every field exactly', keepsEveryField],
  ['insert keeps 256 scopes and 1,000 entities', keepsLongLists],
  ['insert keeps hostile texts as they are, and so does touch', keepsHostileTexts],
  ['insert keeps a text whole or refuses the record', keepsTextsWholeOrNot],
  ['insert keeps every millisecond, whatever the calendar says', keepsEveryMillisecond],
  ['arguments are copied and left as they are', copiesWhatItIsGiven],
  ['insert refuses a second key id and leaves the first record', refusesSecondKeyId],
  ['insert refuses a second digest and leaves the first record', refusesSecondDigest],
  ['insert in parallel: one of 20 with the same digest or key id succeeds', insertsOnce],
  ['insert in parallel: 20 different keys are all there', insertsInParallel],
  ['answers are copies', handsOutCopies],
  ['findByDigest compares byte for byte', comparesDigestsExactly],
  ['findByDigest tells digests apart by case and by spaces', keepsDigestsApart],
  ['findByDigest takes any number of digests', findsSeveralDigests],
  ['findByDigest in parallel: each call gets its own records', answersEachLookUp],
  ['findByDigest sees what was acknowledged, whatever is under way', seesWhatWasAcknowledged],
  ['findById answers null for any other id', findsByIdExactly],
  ['list answers newest first, up to the limit', listsNewestFirst],
  ['list answers the keys of one entity', listsOneEntity],
  ['list answers ended keys too', listsEndedOnes],
  ['list neither repeats nor skips while keys are added', pagesWhileKeysAreAdded],
  ['list in parallel with inserts neither repeats nor skips', pagesWhileInsertsRun],
  ['list pages through keys of one millisecond', pagesThroughTies],
  ['list takes a position that no record has', listsBehindAnyPosition],
  ['markEnded writes where its condition holds, and nothing else', endsByItsConditions],
  ['markEnded is true to the one that wrote', endsOnce],
  ['markEnded in parallel: true to one of 20', endsOnceInParallel],
  ['markEnded in parallel: revoked once and retired at most once', retiresAndRevokesInParallel],
  ['markEnded in parallel: 100 races of two, one winner each', endsOnceInPairs],
  ['markEnded takes times as they are given, however far', takesTimesAsGiven],
  ['markEnded is false for any other id', endsNothingUnknown],
  ['touch writes lastUsedAt only forward', touchesForward],
  ['touch writes each scope only forward and leaves the others', touchesEachScopeForward],
  ['touch takes a batch and ignores unknown ids', touchesManyKeys],
  ['touch in parallel loses nothing', touchesInParallel],
  ['touch undoes no ending', touchUndoesNoEnding],
  ['summarize answers one row a digest scheme', summarizesByScheme],
  ['summarize counts the keys that are live at the time given', summarizesLiveKeys],
  ['a write leaves every other record as it is', leavesOthersAlone],
  ['writes in parallel leave each other’s records as they are', writesSpareOthers],
  ['150 keys are listed, found, touched and summarized as one is', holdsForManyKeys],
];
