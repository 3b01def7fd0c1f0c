/** Tests of the options `signal` and `fresh`, the last argument of every method. */
import type { KeyRecord } from '../../core/record.js';
import type { Awaitable, CallOptions } from '../../core/store.js';
import { check, same, show } from '../assertions.js';
import { LAST, type StoreFixture, TIME, uuid } from './fixture.js';
import { after, revokeAt, withdrawAt } from './marks.js';

/** A read and its expected answer. */
interface Read {
  readonly name: string;
  readonly call: (options: CallOptions) => Awaitable<unknown>;
  readonly expected: unknown;
}

/** Every way to read a record. The record must address another entity, listed last. */
function readsOf({ store, prefix }: StoreFixture, row: KeyRecord): readonly Read[] {
  const { keyId, digest, entityId, rootKeyId, accessibleEntities } = row;
  const query = { prefix, entityId, after: null, limit: 10 };
  const guest = accessibleEntities.at(-1) ?? '';
  const addressing = { ...query, entityId: guest, addressing: true };
  return [
    {
      name: 'findByDigest',
      call: (options) => store.findByDigest([digest], options),
      expected: [row],
    },
    { name: 'findById', call: (options) => store.findById(keyId, options), expected: row },
    { name: 'list', call: (options) => store.list(query, options), expected: [row] },
    {
      name: 'list with addressing',
      call: (options) => store.list(addressing, options),
      expected: [row],
    },
    {
      name: 'listLineage',
      call: (options) => store.listLineage({ rootKeyId, after: null, limit: 10 }, options),
      expected: [row],
    },
  ];
}

/** A record that belongs to one new entity and addresses another. */
function recordOfTwo({ record }: StoreFixture): KeyRecord {
  const entityId = uuid();
  return record({ entityId, accessibleEntities: [entityId, uuid()] });
}

// ── Options that change nothing ─────────────────────────────────────────────────────────────────

/** The options that callers may pass. */
function everyOptions(): readonly CallOptions[] {
  const { signal } = new AbortController();
  return [{}, { signal }, { fresh: true }, { signal, fresh: false }, { signal: undefined }];
}

/**
 * Calls every method with every combination of options and no abort. The answers must be the same
 * as without options.
 *
 * Catches: mistaking the options for another argument, and requiring a signal.
 */
export async function takesOptions(fixture: StoreFixture): Promise<void> {
  const { store, holds } = fixture;
  for (const options of everyOptions()) {
    const what = `with ${Object.keys(options).join(' and ') || 'empty options'}`;
    const made = recordOfTwo(fixture);
    const { keyId, accessibleEntities } = made;
    await store.insert(made, options);
    await holds(made, `insert ${what}`);
    const mark = withdrawAt(TIME, accessibleEntities[1] ?? '');
    same(await store.mark(keyId, mark, options), true, `mark ${what}`);
    same(await store.mark(keyId, mark, options), false, `mark ${what}, again`);
    await store.touch([{ keyId, lastUsedAt: TIME, scopesUsed: {} }], options);
    const used = { ...after(made, mark), lastUsedAt: TIME };
    await holds(used, `mark and touch ${what}`);
    for (const { name, call, expected } of readsOf(fixture, used)) {
      same(await call(options), expected, `${name} ${what}`);
    }
  }
  // Once only, because a report reads every record in the database.
  const { signal } = new AbortController();
  await reportsWith(fixture, { signal, fresh: true });
}

async function reportsWith(
  { store, scheme, summaryOf }: StoreFixture,
  options: CallOptions,
): Promise<void> {
  const what = 'with signal and fresh';
  const rows = (await store.summarize?.(TIME, options)) ?? [];
  const own = rows.filter((row) => row.scheme === scheme);
  same(own, await summaryOf(TIME), `summarize ${what}`);
  const expiring = await store.listExpiring?.({ before: LAST, after: null, limit: 1 }, options);
  const all = await store.listAll?.({ after: null, limit: 1 }, options);
  const changed = await store.listChanged?.({ since: -LAST, limit: 1 }, options);
  const lengths = [expiring?.items.length, all?.items.length, changed?.length];
  const longest = Math.max(...lengths.map((length) => length ?? 0));
  check(longest <= 1, `a listing with limit 1 returned ${longest} records ${what}`);
}

// ── Signals that are aborted ────────────────────────────────────────────────────────────────────

type Abort = (controller: AbortController) => void;

/** When to abort a call: before sending it, right after, or a turn later. */
interface GivingUp {
  readonly before: Abort;
  readonly after: Abort;
}

const abort: Abort = (controller) => controller.abort();
const wait: Abort = () => {};
const soon: Abort = (controller) => {
  setTimeout(() => controller.abort(), 0);
};

const WAYS: readonly GivingUp[] = [
  { before: abort, after: wait },
  { before: wait, after: abort },
  { before: wait, after: soon },
];

/** The outcome of an aborted call: its answer, or that it threw. */
type Outcome = { readonly answer: unknown } | 'threw';

async function giveUp(
  way: GivingUp,
  call: (options: CallOptions) => Awaitable<unknown>,
): Promise<Outcome> {
  const controller = new AbortController();
  way.before(controller);
  const calling = (async (): Promise<Outcome> => {
    try {
      return { answer: await call({ signal: controller.signal }) };
    } catch {
      return 'threw';
    }
  })();
  way.after(controller);
  return calling;
}

/**
 * Calls methods with a signal that aborts before, right after or soon after the call. A read must
 * return its usual answer or throw. A write must write all or nothing, and may throw; if it reports
 * success, the record must contain the write.
 *
 * Catches: an aborted look-up that returns nothing, and a write that stops halfway.
 */
export async function abortsWholly(fixture: StoreFixture): Promise<void> {
  for (const way of WAYS) {
    for (let round = 0; round < 5; round++) {
      await readsOrThrows(fixture, way);
      await insertsWholly(fixture, way);
      await marksWholly(fixture, way);
    }
  }
}

async function readsOrThrows(fixture: StoreFixture, way: GivingUp): Promise<void> {
  const made = recordOfTwo(fixture);
  await fixture.store.insert(made);
  for (const { name, call, expected } of readsOf(fixture, made)) {
    const outcome = await giveUp(way, call);
    if (outcome !== 'threw') same(outcome.answer, expected, `an aborted ${name}`);
  }
}

async function insertsWholly(fixture: StoreFixture, way: GivingUp): Promise<void> {
  const { store } = fixture;
  const made = recordOfTwo(fixture);
  const outcome = await giveUp(way, (options) => store.insert(made, options));
  // An aborted insert may finish later, so read until two look-ups agree.
  let before = await store.findById(made.keyId);
  for (;;) {
    const answers = readsOf(fixture, made).map(async ({ call }) => show(await call({})));
    const seen = await Promise.all(answers);
    const now = await store.findById(made.keyId);
    const isSettled = (before === null) === (now === null);
    before = now;
    if (!isSettled) continue;
    const isThere = now !== null;
    const isHonest = isThere || outcome === 'threw';
    check(isHonest, 'an aborted insert succeeded, but the record does not exist');
    for (const [index, { name, expected }] of readsOf(fixture, made).entries()) {
      const nothing = name === 'findById' ? null : [];
      same(seen[index], show(isThere ? expected : nothing), `${name}, after an aborted insert`);
    }
    return;
  }
}

async function marksWholly({ store, add }: StoreFixture, way: GivingUp): Promise<void> {
  const made = await add();
  const { keyId } = made;
  const mark = revokeAt(TIME + 1);
  const use = { lastUsedAt: TIME, scopesUsed: { 'a:b': TIME } };
  const marking = giveUp(way, (options) => store.mark(keyId, mark, options));
  const touching = giveUp(way, (options) => store.touch([{ keyId, ...use }], options));
  const marked = await marking;
  const touched = await touching;
  if (marked !== 'threw') same(marked.answer, true, 'the answer of an aborted mark');
  const found = await store.findById(keyId);
  const isMarked = found !== null && found.revokedAt !== null;
  const isUsed = found !== null && found.lastUsedAt !== null;
  const row = isMarked ? after(made, mark) : made;
  same(found, isUsed ? { ...row, ...use } : row, 'findById, after an aborted mark and touch');
  check(isMarked || marked === 'threw', 'an aborted mark returned true, but wrote nothing');
  check(isUsed || touched === 'threw', 'an aborted touch succeeded, but wrote nothing');
}
