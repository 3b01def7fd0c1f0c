/** The complete file for production, as README prints it, run unchanged. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { describeOn, SERVERS } from '../support/servers.ts';

const SCHEMA = `keyscope_production_${process.pid}`;
const HOOKS = fileURLToPath(new URL('../support/typescript.ts', import.meta.url));
const CHILD = fileURLToPath(new URL('../support/production-child.ts', import.meta.url));
const PEPPER = 'a pepper of the test, of at least thirty-two bytes';

interface Running {
  readonly child: ChildProcess;
  readonly lines: readonly string[];
  readonly url: string;
  readonly key: string;
}

function spawnService(env: object): ChildProcess {
  const url = new URL(SERVERS.postgres);
  url.searchParams.set('options', `-c search_path=${SCHEMA}`);
  return spawn(process.execPath, ['--import', HOOKS, CHILD], {
    env: { ...process.env, DATABASE_URL: url.href, PORT: '0', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

async function start(): Promise<Running> {
  const child = spawnService({ PEPPER });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    lines.push(line);
  });
  const isStart = (line: string) => line.startsWith('{"url"');
  await eventually(async () => lines.some(isStart), 'the service listens');
  const { url, key } = JSON.parse(lines.find(isStart) ?? '') as Pick<Running, 'url' | 'key'>;
  return { child, lines, url, key };
}

const get = (url: string, key: string) =>
  fetch(url, { headers: { authorization: `Bearer ${key}` } });

const onPostgres = await describeOn('postgres');

onPostgres('the file for production', { timeout: 60_000 }, () => {
  let client: pg.Client;
  beforeAll(async () => {
    client = new pg.Client(SERVERS.postgres);
    await client.connect();
    await client.query(`CREATE SCHEMA ${SCHEMA}`);
  });
  afterAll(async () => {
    await client.query(`DROP SCHEMA ${SCHEMA} CASCADE`);
    await client.end();
  });

  test('admits keys, learns of revocations elsewhere, writes usage and ends in order', async () => {
    const first = await start();
    const second = await start();
    const me = await get(`${second.url}/me`, first.key);
    expect(me.status).toBe(200);
    expect(await me.json()).toMatchObject({ scopes: ['projects:read'] });
    expect((await get(`${second.url}/projects`, first.key)).status).toBe(200);
    expect((await fetch(`${second.url}/projects`)).status).toBe(401);

    first.child.stdin?.write('revoke\n');
    const isRefused = async () => (await get(`${second.url}/projects`, first.key)).status === 401;
    await eventually(isRefused, 'the other process refuses the key');

    second.child.kill('SIGTERM');
    const [code] = (await once(second.child, 'exit')) as [number | null];
    expect(code).toBe(0);
    const { rows } = await client.query(
      `SELECT last_used_at FROM ${SCHEMA}.keyscope_keys WHERE revoked_at IS NOT NULL`,
    );
    expect(rows).toEqual([{ last_used_at: expect.stringMatching(/^\d+$/) as unknown }]);
    const said = second.lines.join('\n');
    expect(said).toContain('"type":"access.granted"');
    expect(said.split(second.key)).toHaveLength(2); // Where the test asked for it.
    expect(said).not.toContain(first.key);
  });

  test('does not start without its pepper', async () => {
    const child = spawnService({ PEPPER: '' });
    let text = '';
    child.stderr?.on('data', (chunk) => {
      text += String(chunk);
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code).toBe(1);
    expect(text).toContain('pepper 2026-11: the secret has 0 bytes; pass at least 32');
  });
});
