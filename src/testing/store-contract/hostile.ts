/** Tests that a store treats hostile texts as ordinary text. */
import { same, show } from '../assertions.js';
import { succeeds } from './calls.js';
import { nameable } from './fields.js';
import { type StoreFixture, TIME } from './fixture.js';
import { FRAGMENTS } from './hostile-values.js';

const HOSTILE = ['constructor', 'toString', 'hasOwnProperty', 'length', '', '0', ...FRAGMENTS];

/**
 * Puts texts that have a meaning elsewhere, two at a time, wherever a record can contain a text:
 * names, justifications, who and why, metadata, scopes and scopes used. They must be returned
 * unchanged, and a record that was there before must not change.
 *
 * Catches: texts concatenated into a statement, a script, a pattern or a path, and names that
 * reach a prototype.
 */
export async function keepsHostileTexts(fixture: StoreFixture): Promise<void> {
  const { add, holds } = fixture;
  const rest = await add();
  for (let index = 0; index < HOSTILE.length; index += 2) {
    await keepsBothTexts(fixture, HOSTILE[index] ?? '', HOSTILE[index + 1] ?? '');
  }
  await holds(rest, 'beside hostile texts');
}

/** Inserts and touches a record with two of them in its texts, names and scopes. */
async function keepsBothTexts(fixture: StoreFixture, text: string, other: string): Promise<void> {
  const { store, add, holds, list } = fixture;
  const name = nameable(text);
  const otherName = nameable(other);
  // More than the core allows: in scopes it accepts letters, digits, `-`, `_` and one colon.
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
  await holds(made, `with ${show(text)} and ${show(other)} in its texts`);
  const later = { [`${name}:read`]: TIME + 1, [`${otherName}:new`]: TIME + 1 };
  await store.touch([{ keyId, lastUsedAt: TIME + 1, scopesUsed: later }]);
  const touched = { ...made, lastUsedAt: TIME + 1, scopesUsed: { ...used, ...later } };
  await holds(touched, `with ${show(name)} and ${show(otherName)} in the scopes used`);
  const listed = (await list()).filter((row) => row.keyId === keyId);
  same(listed, [touched], 'list');
}

/**
 * Inserts texts that the core never sends, because they are too long or contain a NUL. A store may
 * refuse such a record, but then nothing of it may be stored; if it accepts the record, it must
 * keep all of it.
 *
 * Catches: text truncated because it is too long, or at a NUL, and a half-written record.
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
    // The core sends neither, so a store may refuse them.
    if (await succeeds(() => store.insert(made))) {
      await holds(made, `${Object.keys(given).join()} that is long or has a NUL`);
    } else {
      same(await store.findById(made.keyId), null, 'the key id of a record that was refused');
      same(await store.findByDigest([made.digest]), [], 'the digest of a record that was refused');
    }
  }
}
