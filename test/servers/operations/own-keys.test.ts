/**
 * The keys by hand on docs/comparison.md: what the printed code does, and what the page says that
 * it lets happen.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type RequestHandler } from 'express';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { close, exchange } from '../../examples/http-harness.ts';
import { emptySchema, pgPool, type Schema } from '../../support/postgres-clients.ts';
import { describePostgres } from '../../support/postgres-place.ts';
import { type Recipes, writeRecipes } from '../../support/recipes.ts';
import { readProjectFile } from '../../support/source.ts';

const PAGE = 'docs/comparison.md';
const FAR = new Date('2100-01-01T00:00:00Z');

interface Row {
  readonly id: string;
  readonly name: string;
}

interface Keys {
  create(
    org: string,
    name: string,
    scopes: readonly string[],
    ends: Date | string,
  ): Promise<string>;
  verify(key: string): Promise<{ org: string; scopes: string[] } | undefined>;
  list(org: string): Promise<readonly Row[]>;
  revoke(org: string, id: string): Promise<unknown>;
  rotate(org: string, id: string, overlapEnds: Date, ends: Date): Promise<string>;
  guard(scope: string): RequestHandler;
}

describePostgres('the keys by hand of docs/comparison.md', () => {
  let recipes: Recipes;
  let schema: Schema;
  let pool: Pool;
  let keys: Keys;
  let server: Server;

  beforeAll(async () => {
    recipes = writeRecipes(PAGE, 'test/servers/operations', ['keys.ts']);
    const printed = (await recipes.load('keys.ts')) as {
      TABLE: string;
      createKeys(pool: Pool): Keys;
    };
    schema = await emptySchema();
    pool = pgPool(schema.settings);
    await pool.query(printed.TABLE);
    keys = printed.createKeys(pool);
    const app = express();
    app.get('/invoices', keys.guard('invoices:read'), (_, res) => res.json(res.locals));
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    await close(server);
    await pool.end();
    await schema.drop();
    recipes.remove();
  });
  beforeEach(() => pool.query('DELETE FROM api_keys'));

  async function answerTo(...credentials: readonly string[]): Promise<string> {
    const { port } = server.address() as AddressInfo;
    const lines = credentials.map((credential) => `Authorization: Bearer ${credential}\r\n`);
    const head = 'GET /invoices HTTP/1.1\r\nHost: a\r\nConnection: close\r\n';
    const request = `${head}${lines.join('')}\r\n`;
    const { status, body } = await exchange(port, request);
    return `${status} ${body}`;
  }

  async function idOf(name: string): Promise<string> {
    const listed = await keys.list('org_1');
    return listed.find((row) => row.name === name)?.id ?? '';
  }

  it('compile, and have as many lines as the page says', () => {
    expect(recipes.complaints()).toEqual([]);
    const page = readProjectFile(PAGE);
    const [, said, code = ''] =
      /<summary>(\d+) lines, [\s\S]*?```ts\n\/\/ keys\.ts\n([\s\S]*?)```/.exec(page) ?? [];
    expect(code.split('\n').filter((line) => line.trim() !== '')).toHaveLength(Number(said));
  });

  it('let in a key with the scope, until it ends', async () => {
    const key = await keys.create('org_1', 'a', ['invoices:read'], 'infinity');
    expect(await answerTo(key)).toBe('200 {"org":"org_1"}');
    expect(await answerTo(`${key}0`)).toMatch(/^401 /);
    expect(await answerTo()).toMatch(/^401 /);
    expect(await answerTo(await keys.create('org_1', 'b', [], FAR))).toMatch(/^403 /);
    expect(await answerTo(await keys.create('org_1', 'c', [], new Date(0)))).toMatch(/^401 /);
    const id = await idOf('a');
    await expect(keys.revoke('org_2', id)).rejects.toThrow('no such key');
    const next = await keys.rotate('org_1', id, FAR, FAR);
    expect([await answerTo(key), await answerTo(next)].map((each) => each.slice(0, 3))).toEqual([
      '200',
      '200',
    ]);
    await keys.revoke('org_1', id);
    expect(await answerTo(key)).toMatch(/^401 /);
    expect(await answerTo(next)).toMatch(/^200 /);
  });

  it('let in an edited row and a copied one', async () => {
    const key = await keys.create('org_1', 'a', [], FAR);
    await pool.query(`UPDATE api_keys SET scopes = '{invoices:read}'`);
    expect(await answerTo(key)).toBe('200 {"org":"org_1"}');
    await pool.query(`INSERT INTO api_keys (org, name, digest, scopes, ends)
      SELECT 'org_2', name, encode(sha256('mine'), 'hex'), scopes, ends FROM api_keys`);
    expect(await answerTo('mine')).toBe('200 {"org":"org_2"}');
  });

  it('answer by the first of two Authorization lines', async () => {
    const key = await keys.create('org_1', 'a', ['invoices:read'], FAR);
    expect(await answerTo(key, 'another')).toMatch(/^200 /);
  });
});
