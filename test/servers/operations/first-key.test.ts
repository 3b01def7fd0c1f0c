/** The first key of a fresh database, created with the commands in docs/operations.md. */
import { readFileSync, statSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPlace, PEPPER, type Place } from '../../support/command.ts';
import { blocksUnder } from '../../support/pages.ts';
import { emptySchema, type Schema, url } from '../../support/postgres-clients.ts';
import { describePostgres } from '../../support/postgres-place.ts';
import { ROOT } from '../../support/source.ts';

const [COMMANDS = ''] = blocksUnder('docs/operations.md', '## The first key', 'sh');

/** As in docs/command.md, over a pool that reads `DATABASE_URL`. */
const CONFIG = `
  import pg from '${ROOT}/node_modules/pg/esm/index.mjs';
  import { createKeyring, defineScopes } from 'keyscope';
  import { defineConfig } from 'keyscope/cli';
  import { migrate, postgresStore } from 'keyscope/stores/postgres';
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
  const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
  const store = postgresStore(pool);
  const peppers = [{ id: '2026-11', secret: '${PEPPER}' }];
  const deployment = 'acme production';
  const keyring = createKeyring({ prefix: 'acme', deployment, catalog, store, peppers });
  export default defineConfig({
    keyring, store, catalog,
    peppers: ['2026-11'],
    migrate: () => migrate(pool),
    sql: { dialect: 'postgres', query: async (sql) => (await pool.query(sql)).rows },
    connections: pool.options.max,
    close: () => pool.end(),
  });`;

describePostgres('the first key', () => {
  let schema: Schema;
  let place: Place;
  beforeAll(async () => {
    schema = await emptySchema();
    place = openPlace(CONFIG);
  });
  afterAll(async () => {
    place.remove();
    await schema.drop();
  });

  /** The address, with a role whose search path is a schema. */
  function address(): string {
    const own = new URL(url);
    own.searchParams.set('options', `-c search_path=${schema.name}`);
    return own.href;
  }

  test('is created by the printed commands, and doctor finds no problem', async () => {
    const lines = COMMANDS.replaceAll('\\\n', '').trim().split('\n');
    expect(lines).toHaveLength(3);
    const ran: string[] = [];
    for (const line of lines) {
      expect(line).toMatch(/^(?:DATABASE_URL=\$OWNER_URL )?npx keyscope /);
      const words = [...line.replace(/.*npx keyscope /, '').matchAll(/'([^']*)'|(\S+)/g)];
      const args = words.map(([, quoted, plain = '']) => quoted ?? plain);
      const { exit, stdout, stderr } = await place.run(args, '', { DATABASE_URL: address() });
      expect({ line, exit, stderr: exit === 0 ? '' : stderr }).toEqual({
        line,
        exit: 0,
        stderr: '',
      });
      ran.push(stdout + stderr);
    }
    const file = place.file('first.key');
    expect(readFileSync(file, 'utf8').trim()).toMatch(/^acme_[0-9A-Za-z]{32}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(ran.join('\n')).not.toContain(readFileSync(file, 'utf8').trim());
    expect(ran.at(-1)).not.toContain('to do');
    expect(ran.at(-1)).toContain('the seals of 1 keys match');
  });
});
