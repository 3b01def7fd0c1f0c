/** Ids of entities, UUIDs or not: kept and compared byte for byte, in every client. */
import { generateKey, type KeyStore } from 'keyscope';
import { postgresStore, purgeEnded } from 'keyscope/stores/postgres';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isEntityId } from '../../../src/core/entity.ts';
import { HOSTILE_IDS } from '../../support/entity-ids.ts';
import { entitySuite } from '../../support/entity-suite.ts';
import { OTHER, OWN } from '../../support/keyring.ts';
import { type Opened, sharedPglite } from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describeKind,
  KINDS,
  openPlace,
  RECORD,
} from '../../support/postgres-place.ts';

/** Of both kinds, because a service may have changed from one to the other. */
const IDS = [...HOSTILE_IDS, OWN, OWN.toUpperCase(), '-', 'x'.repeat(64)];

/** Not ids, but near one for a comparison that folds, trims, pads or ignores something. */
const NEAR = [
  'org_2abc ',
  ' org_2abc',
  'org_2abc\t',
  'org_2abc\n',
  'org_2abc\u200b',
  'org_2abç',
  'org_2abc\u0327',
  'ｏrg_2abc',
  'ﬁ',
  '٧',
  '७',
  'a,b',
  'a\\b',
  "a'b",
  'a b',
  '',
  '.',
  '..',
  `${'x'.repeat(64)}x`,
];

const CHECKS = ['entity_id', 'accessible_entities', 'withdrawn'];

/** Quotes a text for SQL, whatever it contains. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The same as a list. */
function listOf(...texts: readonly string[]): string {
  return `ARRAY[${texts.map(quoted).join()}]::text[]`;
}

/** Writes a row past the store, with columns as SQL. */
function insertRow(sql: Opened['sql'], number: number, columns: Readonly<Record<string, string>>) {
  const { keyId, digest } = another(number);
  const all = {
    format: '1',
    key_id: quoted(keyId),
    prefix: "'acme'",
    hint: "'KrPP'",
    name: "'x'",
    digest: quoted(digest),
    entity_id: quoted(OTHER),
    accessible_entities: "'{}'",
    scopes: "'{}'",
    metadata: "'{}'",
    created_at: '1',
    root_key_id: quoted(keyId),
    withdrawn: "'{}'",
    scopes_used: "'{}'",
    ...columns,
  };
  return sql(`
    INSERT INTO keyscope_keys (${Object.keys(all).join()}) VALUES (${Object.values(all).join()})`);
}

/** Writes the place of a key in the listing of another entity. */
function insertPair(sql: Opened['sql'], number: number, entityId: string) {
  return sql(`
    INSERT INTO keyscope_addressing (entity_id, prefix, created_at, key_id)
    VALUES (${quoted(entityId)}, 'acme', 1, '${another(number).keyId}')`);
}

/** The ids of the keys of an entity, or of those that address it, in order. */
async function listed(store: KeyStore, entityId: string, addressing = false): Promise<string[]> {
  const rows = await store.list({ prefix: 'acme', entityId, addressing, after: null, limit: 100 });
  return rows.map(({ keyId }) => keyId).sort();
}

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

describe.each(KINDS)('with %s', (kind) => {
  describeKind(kind)('ids that a service already has', () => {
    entitySuite(async () => {
      const { client, end } = await openPlace(kind);
      onTestFinished(async () => {
        await end();
      });
      const purge = (endedBefore: Date) => purgeEnded(client, { endedBefore });
      return { store: postgresStore(client), purge };
    });

    // In the text of an array, an unquoted null is not a text.
    test('may be the text null, in a list, too', async () => {
      await alone(kind, async ({ client, sql }) => {
        const store = postgresStore(client);
        const record = {
          ...RECORD,
          entityId: 'null',
          accessibleEntities: ['null', 'NULL', 'nUlL'],
        };
        await store.insert(record);
        const withdraw = { kind: 'withdraw', at: 5, entityId: 'NULL' } as const;
        expect(await store.mark(RECORD.keyId, withdraw)).toBe(true);
        expect(await store.findById(RECORD.keyId)).toEqual({
          ...record,
          withdrawn: ['NULL'],
          changedAt: 5,
        });
        const lists = 'SELECT accessible_entities, withdrawn FROM keyscope_keys';
        expect(await sql(lists)).toEqual([
          { accessible_entities: ['null', 'NULL', 'nUlL'], withdrawn: ['NULL'] },
        ]);
        const unquoted = insertRow(sql, 1, { accessible_entities: "'{null}'" });
        await expect(unquoted).rejects.toThrow('keyscope_keys_accessible_entities_check');
      });
    });
  });
});

describe.each(['PGlite', 'pg Pool of 10'])('with %s', (kind) => {
  describeKind(kind)('the table', () => {
    test('refuses in every column what cannot be an id', async () => {
      await alone(kind, async ({ client, sql }) => {
        await postgresStore(client).findById(OWN);
        for (const id of NEAR) {
          const refused = 'keyscope_keys_entity_id_check';
          await expect(insertRow(sql, 1, { entity_id: quoted(id) }), id).rejects.toThrow(refused);
          const pair = 'keyscope_addressing_entity_id_check';
          await expect(insertPair(sql, 1, id), id).rejects.toThrow(pair);
          for (const column of ['accessible_entities', 'withdrawn']) {
            for (const list of [[id], ['a', id], [id, 'a'], [id, id]]) {
              const row = insertRow(sql, 1, { [column]: listOf(...list) });
              await expect(row, `${column} ${list.join()}`).rejects.toThrow(
                `keyscope_keys_${column}_check`,
              );
            }
          }
        }
        // A text of the server cannot have a NUL.
        const zero = "'org_2abc' || chr(0)";
        await expect(insertRow(sql, 1, { entity_id: zero })).rejects.toThrow('null character');
        for (const id of IDS) await insertPair(sql, 1, id);
      });
    });

    test('accepts the same characters as isEntityId, and the text of a key', async () => {
      await alone(kind, async ({ client, sql }) => {
        const store = postgresStore(client);
        await store.findById(OWN);
        const isTaken = (write: Promise<unknown>): Promise<boolean> =>
          write.then(
            () => true,
            () => false,
          );
        for (let code = 1; code < 256; code += 1) {
          const text = `a${String.fromCharCode(code)}`;
          const pair = insertPair(sql, 1, text);
          expect(await isTaken(pair), text).toBe(isEntityId(text));
          const row = insertRow(sql, code, { accessible_entities: listOf('b', text) });
          expect(await isTaken(row), text).toBe(isEntityId(text));
        }
        // SQL cannot recognize a key by its checksum. The store never asks for one.
        const key = generateKey({ prefix: 'acme' });
        await insertPair(sql, 1, key);
        expect(await listed(store, key, true)).toEqual([]);
      });
    });

    test('refuses a list with a null, with more dimensions, or that begins elsewhere', async () => {
      await alone(kind, async ({ client, sql }) => {
        await postgresStore(client).findById(OWN);
        const odd = ["'{NULL}'", "'{a,NULL}'", "'{{a},{b}}'", "'{{a,b}}'", "'[0:1]={a,b}'"];
        for (const list of odd) {
          for (const column of ['accessible_entities', 'withdrawn']) {
            const row = insertRow(sql, 1, { [column]: list });
            await expect(row, list).rejects.toThrow(`keyscope_keys_${column}_check`);
          }
        }
      });
    });

    // Without its checks, so that the comparison alone decides.
    test('takes no text for another', async () => {
      await alone(kind, async ({ client, sql }) => {
        const store = postgresStore(client);
        await store.findById(OWN);
        for (const column of CHECKS) {
          await sql(`ALTER TABLE keyscope_keys DROP CONSTRAINT keyscope_keys_${column}_check`);
        }
        await sql(`
          ALTER TABLE keyscope_addressing DROP CONSTRAINT keyscope_addressing_entity_id_check`);
        const texts = [...IDS, ...NEAR];
        for (const [i, text] of texts.entries()) {
          await insertRow(sql, i, {
            entity_id: quoted(text),
            accessible_entities: listOf(...texts),
          });
          await insertPair(sql, i, text);
        }
        for (const [i, id] of IDS.entries()) {
          expect(await listed(store, id), id).toEqual([another(i).keyId]);
          expect(await listed(store, id, true), id).toEqual([another(i).keyId]);
          // Nor does a withdrawal of one count for another.
          const { keyId } = another(texts.length - 1);
          expect(await store.mark(keyId, { kind: 'withdraw', at: 5, entityId: id }), id).toBe(true);
        }
        const [row] = await sql(`
          SELECT withdrawn FROM keyscope_keys WHERE key_id = '${another(texts.length - 1).keyId}'`);
        expect(row).toEqual({ withdrawn: IDS });
      });
    });
  });
});
