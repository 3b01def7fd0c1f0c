/** Tests that a store treats hostile texts as ordinary text. */
import { same, show } from '../assertions.js';
import { succeeds } from './calls.js';
import { nameable } from './fields.js';
import { type StoreFixture, TIME } from './fixture.js';
import { FRAGMENTS } from './hostile-values.js';

const HOSTILE = ['constructor', 'toString', 'hasOwnProperty', 'length', '', '0', ...FRAGMENTS];

/**
 * Puts hostile texts, two at a time, into every text of a record: names, justifications, who and
 * why, metadata, scopes and scopes used. The store must return them unchanged, and an earlier
 * record must not change.
 *
 * Catches: texts concatenated into a statement, a script, a pattern or a path, and names that reach
 * a prototype.
 */
export async function keepsHostileTexts(fixture: StoreFixture): Promise<void> {
  const { add, holds } = fixture;
  const rest = await add();
  for (let index = 0; index < HOSTILE.length; index += 2) {
    await keepsBothTexts(fixture, HOSTILE[index] ?? '', HOSTILE[index + 1] ?? '');
  }
  await holds(rest, 'an earlier record, after hostile texts in others');
}

/** Inserts and touches a record with two hostile texts in its texts, names and scopes. */
async function keepsBothTexts(fixture: StoreFixture, text: string, other: string): Promise<void> {
  const { store, add, holds, list } = fixture;
  const name = nameable(text);
  const otherName = nameable(other);
  // The core would reject these scopes: it accepts letters, digits, `-`, `_` and one colon.
  const used = { [`${name}:read`]: TIME, [`a-b_c:${otherName}`]: TIME };
  const made = await add({
    name: text + other,
    justification: other,
    createdBy: text,
    endedBy: other,
    endReason: text + other,
    metadata: { [name]: other, [otherName]: text, both: text + other },
    scopes: [`${text}:read`, `a-b_c:${other}`],
    scopesUsed: used,
  });
  const { keyId } = made;
  await holds(made, `a record with ${show(text)} and ${show(other)} in its texts`);
  const later = { [`${name}:read`]: TIME + 1, [`${otherName}:new`]: TIME + 1 };
  await store.touch([{ keyId, lastUsedAt: TIME + 1, scopesUsed: later }]);
  const touched = { ...made, lastUsedAt: TIME + 1, scopesUsed: { ...used, ...later } };
  await holds(touched, `a record with ${show(name)} and ${show(otherName)} in scopesUsed`);
  const listed = (await list()).filter((row) => row.keyId === keyId);
  same(listed, [touched], `list, with ${show(text)} and ${show(other)} in a record`);
}

/**
 * Inserts texts that the core never sends, because they are too long or contain a NUL. The store
 * must either keep the whole record, or throw and store nothing.
 *
 * Catches: text truncated by length or at a NUL, and a half-written record.
 */
export async function keepsTextsWholeOrNot(fixture: StoreFixture): Promise<void> {
  const { store, record, holds } = fixture;
  const long = 'ab 🦊'.repeat(2 ** 15);
  const variants = [
    { name: long },
    { justification: long },
    { name: 'a\0b' },
    { justification: '\0' },
    { createdBy: long },
    { endedBy: long },
    { endReason: long },
    { createdBy: 'a\0b' },
    { endedBy: '\0' },
    { endReason: 'a\0' },
  ];
  for (const given of variants) {
    const made = record(given);

    if (await succeeds(() => store.insert(made))) {
      await holds(made, `a record whose ${Object.keys(given).join()} is long or has a NUL`);
    } else {
      same(await store.findById(made.keyId), null, 'findById, after insert threw');
      same(await store.findByDigest([made.digest]), [], 'findByDigest, after insert threw');
    }
  }
}
