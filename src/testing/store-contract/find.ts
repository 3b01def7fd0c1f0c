/**
 * Tests of `findByDigest` and `findById`: answers are exact, complete and never stale.
 */
import type { KeyRecord } from '../../core/record.js';
import type { Awaitable } from '../../core/store.js';
import { same, show } from '../assertions.js';
import { parallel } from './calls.js';
import { letteredUuid, type StoreFixture, TIME, uuid } from './fixture.js';
import { misses, nearTexts, oddValues } from './hostile-values.js';
import { after, retireAt, revokeAt, suspendAt } from './marks.js';
import { byDigest } from './order.js';

/**
 * Looks up values that almost match a stored digest or are not text. The store must find nothing: a
 * record returned here would let in a caller without its key.
 *
 * Catches: case-insensitive collations, padding, patterns, C strings, and comparing text with
 * numbers.
 */
export async function comparesDigestsExactly(fixture: StoreFixture): Promise<void> {
  const { store, record, add, holds } = fixture;
  const made = await add();
  const { digest, keyId } = made;
  same(await store.findByDigest([record().digest]), [], 'findByDigest with an unknown digest');
  for (const near of [...nearTexts(digest), keyId]) {
    await misses(near, () => store.findByDigest([near]));
  }
  for (const odd of oddValues(digest)) {
    await misses(odd, () => store.findByDigest([odd as string]));
  }
  await holds(made, 'after look-ups with similar digests');
}

/**
 * Stores digests that differ only in case, in spaces or in one character. The store must accept
 * each and find each as itself.
 *
 * Catches: a unique index that folds case or pads with spaces and so rejects the second key; a
 * truncated column.
 */
export async function keepsDigestsApart(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
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
  for (const other of others) {
    twins.push(await add({ digest: other }));
  }
  for (const twin of twins) {
    await holds(twin, `next to similar digests, ${show(twin.digest)}`);
  }
  const found = await store.findByDigest(twins.map((twin) => twin.digest));
  same(sortedIds(found), sortedIds(twins), 'findByDigest with similar digests at once');
}

function sortedIds(rows: readonly KeyRecord[]): readonly string[] {
  return rows.map(({ keyId }) => keyId).sort();
}

/**
 * Looks up zero, one, several and more than 40 digests, known and unknown ones mixed, in any order.
 * The answer must be exactly the records with those digests, including ended ones.
 *
 * Catches: looking up only the first digest, treating an empty list as everything, and omitting
 * ended keys.
 */
export async function findsSeveralDigests(fixture: StoreFixture): Promise<void> {
  const { store, record, add } = fixture;
  const live = await add();
  const revoked = await add({ revokedAt: TIME });
  const expired = await add({ expiresAt: 0, entityId: uuid() });
  const known = [live, revoked, expired];
  await add();
  const ask = async (digests: readonly string[], expected: readonly KeyRecord[]) => {
    const found = await store.findByDigest(digests);
    same(byDigest(found), byDigest(expected), `findByDigest with ${digests.length} digests`);
  };
  const unknown = Array.from({ length: 40 }, () => record().digest);
  const digests = known.map(({ digest }) => digest);
  await ask([], []);
  await ask(digests, known);
  await ask([...digests].reverse(), known);
  await ask([record().digest, live.digest], [live]);
  await ask(unknown.slice(0, 3), []);
  await ask([...unknown, ...digests], known);
}

/**
 * Sends 20 look-ups at once for different and partly overlapping records. Each must get its own
 * answer.
 *
 * Catches: mixing up the answers of concurrent look-ups in a batch, a pipeline or a prepared
 * statement.
 */
export async function answersEachLookUp(fixture: StoreFixture): Promise<void> {
  const { store, record, add } = fixture;
  const known = await parallel(5, (index) => add({ name: `key ${index}` }));
  const unknown = record().digest;
  // Each look-up has its own digest and an unknown one; some share a digest with others.
  const asked = Array.from({ length: 20 }, (_, index) =>
    known.filter((_row, place) => place === index % 5 || (index > 14 && place === 0)),
  );
  const answers = await Promise.all(
    asked.map(async (rows) => store.findByDigest([unknown, ...rows.map((row) => row.digest)])),
  );
  for (const [index, rows] of answers.entries()) {
    same(byName(rows), asked[index], `findByDigest, call ${index} of 20 at once`);
  }
  const found = await parallel(20, (index) => store.findById(known[index % 5]?.keyId ?? ''));
  for (const [index, row] of found.entries()) {
    same(row, known[index % 5], `findById, call ${index} of 20 at once`);
  }
}

function byName(rows: readonly KeyRecord[]): readonly KeyRecord[] {
  return [...rows].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/**
 * Starts look-ups, writes, and looks up again once the write is acknowledged, while the first
 * look-ups may still be running. The later ones must see the write.
 *
 * Catches: answering a look-up with the result of an earlier one that was sent before the write.
 */
export async function seesWhatWasAcknowledged(fixture: StoreFixture): Promise<void> {
  const { store, record, holds } = fixture;
  let expected = record();
  const { keyId, digest } = expected;
  const askById = async () => store.findById(keyId);
  const askByDigest = async () => store.findByDigest([digest]);
  const writeAndLook = async (write: () => Awaitable<unknown>, written: KeyRecord) => {
    // These run during the write and may return either state.
    const early = Promise.allSettled([askById(), askByDigest()]);
    await write();
    expected = written;
    await holds(expected, 'after a write, while look-ups from before it run');
    await early;
  };
  await writeAndLook(() => store.insert(expected), expected);
  for (const mark of [retireAt(TIME + 2), suspendAt(TIME + 3), revokeAt(TIME + 1)]) {
    await writeAndLook(() => store.mark(keyId, mark), after(expected, mark));
  }
}

/**
 * Looks up values that almost match a stored key id or are not text. The answer must be null or,
 * for such values, an error.
 *
 * Catches: throwing on an unknown id, and the collations of {@link comparesDigestsExactly}.
 */
export async function findsByIdExactly(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const made = await add({ keyId: letteredUuid() });
  const { keyId, digest, entityId } = made;
  same(await store.findById(uuid()), null, 'findById with an unknown key id');
  for (const near of [...nearTexts(keyId), digest, entityId]) {
    await misses(near, () => store.findById(near));
  }
  for (const odd of oddValues(keyId)) {
    await misses(odd, () => store.findById(odd as string));
  }
  await holds(made, 'after look-ups with similar ids');
}
