import { digestKey, generateKey, isAccessError, isStoreError, type KeyRecord } from 'keyscope';
import { postgresStore } from 'keyscope/stores/postgres';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  AUTHORITY,
  HOUR,
  issue,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  START,
  setUp,
} from '../../support/keyring.ts';
import { sharedPglite } from '../../support/postgres.ts';
import { alone, describeKind, FIXED, using } from '../../support/postgres-place.ts';

// It takes seconds to start.
beforeAll(sharedPglite, 60_000);

/** A key that whoever edits a row knows. */
const attackers = generateKey({ prefix: 'acme' });
const HUGE = '9223372036854775807';

/**
 * Column → SQL values that widen a key, or that are merely wrong. What the type refuses is in the
 * tests of the table.
 */
const EDITS: Readonly<Record<string, readonly string[]>> = {
  key_id: [`'${OTHER}'`, 'NULL'],
  name: ["'other'", "''", 'upper(name)', "name || ' '", 'NULL'],
  digest: [
    `'${digestKey(attackers, PEPPER)}'`,
    `'${digestKey(attackers)}'`,
    "''",
    'upper(digest)',
    "digest || ' '",
    'left(digest, -1)',
    'left(digest, 20)',
    'NULL',
  ],
  seal: ['NULL', "''", 'upper(seal)', 'left(seal, -1)', 'reverse(seal)'],
  entity_uuid: [`'${OTHER}'`, 'NULL'],
  accessible_entities: [
    `'{${OWN},${OTHER}}'`,
    "'{}'",
    `'{${OTHER}}'`,
    `'{NULL,${OWN}}'`,
    `'{{${OWN}},{${OTHER}}}'`,
    'NULL',
  ],
  scopes: [
    "'{threats:read,threats:write}'",
    "'{threats:*}'",
    "'{*:*}'",
    "'{}'",
    "'{NULL}'",
    "'{nothing:known}'",
    "'{threats:read,threats:read}'",
    "'{{threats:read}}'",
    "'{Threats:read}'",
    'NULL',
  ],
  justification: ["'because'", "''"],
  metadata: [
    `'{"team":"blue"}'`,
    `'{"a":5}'`,
    `'{"__proto__":"x"}'`,
    "'[]'",
    "'5'",
    "'null'",
    `'"text"'`,
    'NULL',
  ],
  created_at: ['created_at + 1', '0', '-1', HUGE, 'NULL'],
  expires_at: ['NULL', 'expires_at + 1', '0', HUGE],
  rotated_from: [`'${OTHER}'`],
};

async function outcome(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
    return 'passed';
  } catch (error) {
    if (isStoreError(error)) return 'StoreError';
    return isAccessError(error) ? `${error.code} ${error.reason}` : String(error);
  }
}

const TAMPERED = 'invalid_token record_tampered';
const REFUSED = [TAMPERED, 'invalid_token unknown_key', 'StoreError'];
/** As a migration that went wrong may leave the table: no trigger, no constraint. */
const SAFEGUARDS_OFF = `
  ALTER TABLE keyscope_keys DISABLE TRIGGER USER, DROP CONSTRAINT keyscope_keys_pkey,
    DROP CONSTRAINT keyscope_keys_metadata_check, DROP CONSTRAINT keyscope_keys_scopes_used_check;
  ALTER TABLE keyscope_keys
    ${[...FIXED, 'scopes_used'].map((column) => `ALTER ${column} DROP NOT NULL`).join(', ')}`;

describe.each(['PGlite', 'pg Pool of 10', 'postgres.js with ten'])(
  'a row edited by hand, read with %s',
  (kind) => {
    describeKind(kind)('never passes', () => {
      const used = using(kind);
      beforeAll(async () => {
        await used.store.summarize(0);
        await used.sql(SAFEGUARDS_OFF);
      });

      /** A key of its own, whose row alone is edited. */
      async function victim() {
        const ring = setUp({ store: used.store });
        const { key, info } = await ring.keyring.issue(
          { ...PLAIN, expiresAt: new Date(START + HOUR) },
          AUTHORITY,
        );
        expect(await outcome(() => ring.keyring.verify(key))).toBe('passed');
        const { digest } = (await used.store.findById(info.keyId)) as KeyRecord;
        const edit = (column: string, to: string) =>
          used.sql(`UPDATE keyscope_keys SET ${column} = ${to} WHERE key_id = '${info.keyId}'`);
        const remove = () =>
          used.sql(`
            DELETE FROM keyscope_keys WHERE entity_uuid IN ('${OWN}', '${OTHER}')
              OR entity_uuid IS NULL OR digest = '${digest}'`);
        return { ...ring, key, keyId: info.keyId, edit, remove };
      }

      test('every column that never changes is tried', () => {
        expect(Object.keys(EDITS)).toEqual(FIXED);
      });

      test.each(FIXED)('%s', async (column) => {
        for (const to of EDITS[column] ?? []) {
          const { keyring, key, keyId, edit, remove } = await victim();
          await edit(column, to);
          const why = `${column} = ${to}`;
          const said = await outcome(() => keyring.verify(key));
          // What is found by its digest is reported as tampering, not as a broken store.
          expect(column === 'digest' ? REFUSED : [TAMPERED], why).toContain(said);
          // Nor the key that whoever edited the digest knows.
          expect(REFUSED, why).toContain(await outcome(() => keyring.verify(attackers)));
          for (const entityUuid of [OWN, OTHER]) {
            const rotated = await outcome(() =>
              keyring.rotate(keyId, { overlapMs: 0 }, { entityUuid }),
            );
            expect([...REFUSED, 'not_found no_such_key'], `${why}, rotated`).toContain(rotated);
            const shown = await outcome(() => keyring.list({}, { entityUuid }));
            expect(['passed', 'StoreError'], `${why}, listed`).toContain(shown);
          }
          // Every other key works on.
          const { keyring: others } = setUp({ store: used.store });
          const other = await issue(others);
          expect(await outcome(() => others.verify(other.key)), why).toBe('passed');
          await remove();
        }
      });

      test('marks, use and scopes used beyond what a number holds, or that are none', async () => {
        const damages = [
          ['revoked_at', HUGE],
          ['retire_at', HUGE],
          ['last_used_at', HUGE],
          ['scopes_used', `'{"a:b":"text"}'`],
          ['scopes_used', `'{"a:b":1.5}'`],
          ['scopes_used', "'[]'"],
          ['scopes_used', "'null'"],
          ['scopes_used', 'NULL'],
        ] as const;
        for (const [column, to] of damages) {
          const { keyring, key, edit, remove } = await victim();
          await edit(column, to);
          const why = `${column} = ${to}`;
          expect(await outcome(() => keyring.verify(key)), why).toBe(TAMPERED);
          expect(await outcome(() => keyring.list({}, AUTHORITY)), why).toBe('StoreError');
          await remove();
        }
      });

      test('a summary quotes nothing of a digest without a scheme', async () => {
        const { keyId, edit, remove } = await victim();
        for (const digest of ['no-scheme-at-all', '', '$', '$$']) {
          await edit('digest', `'${digest}'`);
          expect(await used.store.summarize(START)).toEqual([
            { scheme: '', live: 1, lastUsedAt: null },
          ]);
        }
        expect(await used.store.findById(keyId)).toMatchObject({ digest: '$$' });
        await remove();
      });
    });
  },
);

describe('what is stored', () => {
  test('holds no key', async () => {
    await alone('PGlite', async ({ client, sql }) => {
      const { keyring } = setUp({ store: postgresStore(client) });
      const { key, info } = await issue(keyring);
      const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
      const all = JSON.stringify(await sql('SELECT * FROM keyscope_keys'));
      expect(all).toContain(info.keyId);
      for (const secret of [key, next.key]) {
        expect(all).not.toContain(secret.slice('acme_'.length, -6));
      }
    });
  });
});
