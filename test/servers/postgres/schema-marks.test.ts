import { beforeAll, describe, expect, test } from 'vitest';
import { OTHER, OWN, THIRD } from '../../support/keyring.ts';
import { sharedPglite } from '../../support/postgres-clients.ts';
import { another, describeKind, using } from '../../support/postgres-place.ts';

const NEVER_CHANGES = 'keyscope: only the marks and the usage of a key ever change';
const MARKS_STAY = 'keyscope: revoked_at, retire_at and withdrawn are never undone';
const WITH_A_MARK =
  'keyscope: ended_by, end_reason and changed_at change only together with a mark';
const NOT_OWN = 'keyscope_keys_own_entity';
const NOT_IDS = 'keyscope_keys_withdrawn_check';

/** An edit of a row, after others that pass, and its error, if any. */
interface Edit {
  readonly after: readonly string[];
  readonly set: string;
  readonly refused: string | null;
}

function refused(set: string, why: string, ...after: readonly string[]): Edit {
  return { after, set, refused: why };
}

function fine(set: string, ...after: readonly string[]): Edit {
  return { after, set, refused: null };
}

const REVOKED =
  "revoked_at = 5, changed_at = 5, ended_by = 'ada', end_reason = 'lost', seal = 'ef'";
const SUSPENDED = "suspended_at = 5, changed_at = 5, ended_by = 'ada', end_reason = 'odd'";
const RETIRED = 'retire_at = 5, changed_at = 5';
const WITHDRAWN = `withdrawn = withdrawn || '${OTHER}'::text, changed_at = 6`;

const RULES: Readonly<Record<string, readonly Edit[]>> = {
  'a seal changes only in a revocation, or on a revoked key': [
    fine(REVOKED),
    fine('revoked_at = 5, seal = NULL'),
    fine('revoked_at = 5'),
    fine("revoked_at = 5, suspended_at = NULL, seal = 'ef'", SUSPENDED),
    refused("seal = 'ef'", NEVER_CHANGES),
    refused('seal = NULL', NEVER_CHANGES),
    refused("suspended_at = 5, seal = 'ef'", NEVER_CHANGES),
    refused("retire_at = 5, seal = 'ef'", NEVER_CHANGES),
    refused(`${WITHDRAWN}, seal = 'ef'`, NEVER_CHANGES),
    fine("seal = 'aa'", REVOKED),
    fine('seal = NULL', REVOKED),
    refused("seal = 'cd', revoked_at = NULL", MARKS_STAY, REVOKED),
    fine("seal = 'ef'", REVOKED),
    refused("seal = 'ef'", NEVER_CHANGES, 'revoked_at = 5, seal = NULL'),
    refused("seal = 'ef', ended_by = 'bob'", NEVER_CHANGES, 'revoked_at = 5, seal = NULL'),
  ],
  'a revocation is written once, and its time stays, whatever the seal': [
    refused('revoked_at = NULL', MARKS_STAY, REVOKED),
    refused('revoked_at = 4', MARKS_STAY, REVOKED),
    refused('revoked_at = 6', MARKS_STAY, REVOKED),
    refused('revoked_at = 6, changed_at = 6', MARKS_STAY, REVOKED),
    refused("revoked_at = 4, seal = 'aa'", MARKS_STAY, REVOKED),
    refused("revoked_at = 6, changed_at = 6, seal = 'aa'", MARKS_STAY, REVOKED),
    refused('revoked_at = NULL, seal = NULL', MARKS_STAY, REVOKED),
    // A row marked by hand is revoked again, with another seal.
    fine("ended_by = 'bob', end_reason = NULL, changed_at = 6, seal = 'aa'", REVOKED),
    fine("ended_by = 'bob', end_reason = 'why', changed_at = 6, seal = NULL", REVOKED),
    fine("ended_by = 'bob', seal = 'aa'", 'revoked_at = 6'),
    fine("changed_at = 6, seal = 'aa'", REVOKED),
    fine('revoked_at = 5', REVOKED),
  ],
  'a retirement is written once': [
    fine(RETIRED),
    refused('retire_at = NULL', MARKS_STAY, RETIRED),
    refused('retire_at = 4', MARKS_STAY, RETIRED),
    refused('retire_at = 6, revoked_at = 6', MARKS_STAY, RETIRED),
    fine('retire_at = 5', RETIRED),
    fine(REVOKED, RETIRED),
  ],
  'a suspension may begin and end until the key is revoked': [
    fine(SUSPENDED),
    fine('suspended_at = NULL, ended_by = NULL, end_reason = NULL, changed_at = 6', SUSPENDED),
    fine(SUSPENDED, SUSPENDED, 'suspended_at = NULL'),
    fine(SUSPENDED, RETIRED),
    fine(RETIRED, SUSPENDED),
    fine(REVOKED, SUSPENDED),
    refused('suspended_at = NULL', MARKS_STAY, SUSPENDED, 'revoked_at = 6'),
    refused(SUSPENDED, MARKS_STAY, 'revoked_at = 6'),
  ],
  'a revoked key accepts no mark except a withdrawal': [
    refused('retire_at = 6', MARKS_STAY, REVOKED),
    refused('suspended_at = 6', MARKS_STAY, REVOKED),
    refused('suspended_at = 6, changed_at = 6', MARKS_STAY, REVOKED),
    refused("ended_by = 'bob'", WITH_A_MARK, REVOKED),
    refused('end_reason = NULL', WITH_A_MARK, REVOKED),
    refused('changed_at = 6', WITH_A_MARK, REVOKED),
    refused('changed_at = NULL', WITH_A_MARK, REVOKED),
    refused(`${WITHDRAWN}, ended_by = 'bob'`, WITH_A_MARK, REVOKED),
    refused(`${WITHDRAWN}, end_reason = NULL`, WITH_A_MARK, REVOKED),
    fine(WITHDRAWN, REVOKED),
    fine(`${WITHDRAWN}, ended_by = 'bob', seal = 'aa'`, REVOKED),
    fine("last_used_at = 9, scopes_used = '{}'", REVOKED),
  ],
  'author, reason and time of a mark change only with a mark': [
    refused("ended_by = 'bob'", WITH_A_MARK),
    refused("end_reason = 'why'", WITH_A_MARK),
    refused('changed_at = 6', WITH_A_MARK),
    refused("last_used_at = 6, ended_by = 'bob'", WITH_A_MARK),
    // Otherwise the people of one organization would be shown to another.
    refused(`${WITHDRAWN}, ended_by = 'bob'`, WITH_A_MARK),
    refused(`${WITHDRAWN}, end_reason = NULL`, WITH_A_MARK, SUSPENDED),
    refused("suspended_at = 5, ended_by = 'bob'", WITH_A_MARK, SUSPENDED),
    fine("ended_by = 'ada'", SUSPENDED),
    fine("retire_at = 6, ended_by = 'bob'", SUSPENDED),
    fine(WITHDRAWN),
  ],
  'a withdrawal is never undone': [
    fine(`withdrawn = '{${OTHER}}'`),
    fine(`withdrawn = '{${OTHER},${THIRD}}'`),
    fine(`withdrawn = '{${OTHER},${THIRD}}'`, WITHDRAWN),
    refused("withdrawn = '{}'", MARKS_STAY, WITHDRAWN),
    refused(`withdrawn = '{${THIRD}}'`, MARKS_STAY, WITHDRAWN),
    refused(`withdrawn = '{${THIRD},${OTHER}}'`, MARKS_STAY, WITHDRAWN),
    refused("withdrawn = '{NULL}'", NOT_IDS, WITHDRAWN),
    refused(`withdrawn = '[0:1]={${OTHER},${THIRD}}'`, NOT_IDS, WITHDRAWN),
    refused(
      'withdrawn = array_replace(withdrawn, withdrawn[1], upper(withdrawn[1]))',
      MARKS_STAY,
      WITHDRAWN,
    ),
    refused("withdrawn = '{}', revoked_at = 9", MARKS_STAY, WITHDRAWN),
  ],
  'an entity cannot withdraw from its own key': [
    refused(`withdrawn = '{${OWN}}'`, NOT_OWN),
    refused(`withdrawn = withdrawn || '${OWN}'::text`, NOT_OWN, WITHDRAWN),
  ],
  'one update may do exactly what several consecutive ones may': [
    fine(`${REVOKED}, retire_at = 4, suspended_at = 3, withdrawn = '{${OTHER}}'`),
    fine(`${REVOKED}, suspended_at = NULL`, SUSPENDED),
    refused('retire_at = 6, suspended_at = NULL, withdrawn = withdrawn', MARKS_STAY, REVOKED),
    refused(`${WITHDRAWN}, suspended_at = 7`, MARKS_STAY, REVOKED),
    refused(`${WITHDRAWN}, revoked_at = NULL, seal = 'cd'`, MARKS_STAY, REVOKED),
  ],
};

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

describe.each(['PGlite', 'pg Pool of 10'])('with %s', (kind) => {
  describeKind(kind)('the table ensures that', () => {
    const used = using(kind);
    let made = 0;

    /** A new row with these edits. */
    async function insertEdited(
      after: readonly string[],
      seal: string | null = 'cd',
    ): Promise<string> {
      made += 1;
      const { keyId } = another(made);
      await used.store.insert({ ...another(made), seal });
      for (const set of after) await update(set, keyId);
      return keyId;
    }

    function update(set: string, ...keyIds: readonly string[]): Promise<unknown> {
      const ids = keyIds.map((keyId) => `'${keyId}'`).join();
      return used.sql(`UPDATE keyscope_keys SET ${set} WHERE key_id IN (${ids})`);
    }

    test.each(Object.entries(RULES))('%s', async (_rule, edits) => {
      for (const { after, set, refused: why } of edits) {
        const keyId = await insertEdited(after);
        const before = await used.store.findById(keyId);
        const edit = `${set}, after ${after.join('; ')}`;
        if (why === null) {
          await update(set, keyId);
        } else {
          await expect(update(set, keyId), edit).rejects.toThrow(why);
          expect(await used.store.findById(keyId), edit).toEqual(before);
        }
      }
    });

    test('a seal never appears where there was none', async () => {
      const keyId = await insertEdited([], null);
      const before = await used.store.findById(keyId);
      for (const set of [REVOKED, "seal = ''", "revoked_at = 5, seal = 'ef'"]) {
        await expect(update(set, keyId), set).rejects.toThrow(NEVER_CHANGES);
      }
      expect(await used.store.findById(keyId)).toEqual(before);
      await update("revoked_at = 5, changed_at = 5, ended_by = 'ada', seal = NULL", keyId);
      await expect(update("seal = 'ef', changed_at = 6", keyId)).rejects.toThrow(NEVER_CHANGES);
      await expect(update("seal = NULL, ended_by = 'bob'", keyId)).rejects.toThrow(WITH_A_MARK);
      await update(WITHDRAWN, keyId);
    });

    test('an insert has no withdrawal of its own entity', async () => {
      const record = { ...another(1_000), withdrawn: [OTHER, OWN] };
      await expect(async () => used.store.insert(record)).rejects.toThrow(NOT_OWN);
      await used.store.insert({ ...record, withdrawn: [OTHER] });
    });

    test('an update of many rows fails for one of them, and writes none', async () => {
      const live = await insertEdited([]);
      const revoked = await insertEdited([REVOKED]);
      await expect(update('suspended_at = 7', live, revoked)).rejects.toThrow(MARKS_STAY);
      expect(await used.store.findById(live)).toMatchObject({ suspendedAt: null });
      await update('last_used_at = 7', live, revoked);
      expect(await used.store.findById(revoked)).toMatchObject({ lastUsedAt: 7 });
    });

    test('one statement does not write a row twice', async () => {
      const keyId = await insertEdited([]);
      const twice = `
        WITH first AS (
          UPDATE keyscope_keys SET revoked_at = 5 WHERE key_id = '${keyId}' RETURNING key_id
        )
        UPDATE keyscope_keys SET suspended_at = 6 WHERE key_id = '${keyId}'`;
      await used.sql(twice);
      const row = await used.store.findById(keyId);
      expect([row?.revokedAt, row?.suspendedAt].filter((at) => at !== null)).toHaveLength(1);
    });
  });
});
