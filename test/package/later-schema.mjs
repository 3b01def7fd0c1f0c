// `package.mjs` runs this in a project that has the package installed. After an additive migration
// of a later release, processes of this one still work. After any other, they refuse and say why.
// The first argument is the folder of PGlite, a database without a server.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { causeOf, createKeyring, defineScopes } from 'keyscope';
import { migrate, postgresStore } from 'keyscope/stores/postgres';

const { PGlite } = await import(pathToFileURL(join(process.argv[2], 'dist/index.js')).href);

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const peppers = [{ id: 'p1', secret: 'a pepper of at least 32 bytes, for this test' }];
const authority = { entityId: '0a0a0a0a-0000-4000-8000-00000000000a', scopes: 'all' };
const input = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' };

const db = new PGlite();
/** Starts a process, which reads the version of the schema before its first use. */
const start = () => createKeyring({ prefix: 'acme', catalog, peppers, store: postgresStore(db) });

await migrate(db);
const before = await start().issue(input, authority);

// An additive version 2.
await db.exec(`
  ALTER TABLE keyscope_keys ADD COLUMN later text;
  UPDATE keyscope_schema SET version = 2;
`);
const during = start();
assert.equal((await during.verify(before.key)).keyId, before.info.keyId);
const after = await during.issue(input, authority);
await during.revoke(before.info.keyId, authority);
assert.equal((await during.get(before.info.keyId, authority)).state, 'revoked');
await migrate(db);
const { rows } = await db.query('SELECT version, min_reader FROM keyscope_schema');
assert.deepEqual(rows, [{ version: 2, min_reader: 1 }]);

// A later version that this release cannot work with.
await db.exec('UPDATE keyscope_schema SET version = 3, min_reader = 3');
await assert.rejects(start().verify(after.key), (error) => /Upgrade/.test(causeOf(error).message));
await db.close();
console.log('works with an additive later schema, and refuses any other with an explanation');
