/** Standard output: closed pipes, full disks, colours and endless lists. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { ENTITY, issueIn, openPlace, type Place, sqliteConfig } from '../../support/command.ts';

let place: Place;
afterEach(() => place.remove());

const ON = ['--entity', ENTITY];
const ISSUE = ['issue', ...ON, '--name', 'CI', '--scopes', '', '--expires', 'never'];

/** A keyring that lists `count` keys, generated on demand. */
function many(count: number): string {
  return `
    let listed = 0;
    const real = store;
    store = { ...real, async list({ limit, prefix, entityId }) {
      const rows = [];
      for (; rows.length < limit && listed < ${count}; listed += 1) {
        const keyId = \`0c0c0c0c-0000-4000-8000-\${String(listed).padStart(12, '0')}\`;
        rows.push({ keyId, prefix, entityId, createdAt: 1_000_000 - listed, format: 1 });
      }
      if (rows.length > 1 && rows.length === limit) listed -= 1;
      return rows;
    } };
    process.on('exit', () => console.error('listed ' + listed));`;
}

/** Runs a line in a shell and returns its exit code. */
async function shell(line: string): Promise<{ readonly code: number; readonly stderr: string }> {
  const env = { ...process.env, NO_COLOR: '1' };
  const run = promisify(execFile);
  try {
    const { stderr } = await run('bash', ['-c', line], { cwd: place.file(''), env });
    return { code: 0, stderr };
  } catch (error) {
    return error as { readonly code: number; readonly stderr: string };
  }
}

describe('standard output', () => {
  // The audit log of a service once ended up in `KEY=$(npx keyscope issue …)`.
  it('contains only results, whatever the config and its listeners print', async () => {
    const listener = "peppers: 'none', onEvent: (event) => console.log(JSON.stringify(event)), ";
    const config = sqliteConfig("console.log('connected'); console.info('ready');");
    place = openPlace(config.replace(/peppers, deployment/, `${listener}deployment`));
    const { exit, stdout, stderr } = await place.run(ISSUE);
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    expect(stdout).toMatch(/^acme_[0-9A-Za-z]{32}\n$/);
    for (const said of ['connected', 'ready', '"type":"key.issued"'])
      expect(stderr).toContain(said);
  });
});

describe('a reader that stops early', () => {
  it('ends a list quietly with 0, and stops reading', async () => {
    place = openPlace(sqliteConfig(many(100_000)));
    const line = `${place.line(['list', ...ON])} | head -1 >/dev/null; exit \${PIPESTATUS[0]}`;
    const { code, stderr } = await shell(line);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/^listed \d+\n$/);
    expect(Number(stderr.match(/\d+/)?.[0])).toBeLessThan(50_000);
  });
});

describe('a key that cannot be written', () => {
  it.skipIf(!existsSync('/dev/full'))('is reported with the command that revokes it', async () => {
    place = openPlace();
    const { code, stderr } = await shell(`${place.line(ISSUE)} >/dev/full`);
    expect(code).toBe(4);
    const [, keyId = ''] = /Revoke it: keyscope revoke (\S+) --entity/.exec(stderr) ?? [];
    expect((await place.run(['show', keyId, ...ON, '--json'])).exit).toBe(0);
  });
});

describe('a list of 100,000 keys', () => {
  it('takes no more memory than one of a thousand', async () => {
    const config = `${many(100_000)}
      process.on('exit', () => console.error('peak ' + process.resourceUsage().maxRSS));`;
    place = openPlace(sqliteConfig(config));
    const peak = async (limit: number): Promise<number> => {
      const args = ['list', ...ON, '--json', '--limit', String(limit)];
      const { code, stderr } = await shell(`${place.line(args)} >/dev/null`);
      expect(code).toBe(0);
      return Number(/peak (\d+)/.exec(stderr)?.[1]);
    };
    const few = await peak(1_000);
    const all = await peak(100_000);
    console.log(`list: ${few} KiB for 1,000 keys, ${all} KiB for 100,000`);
    // All keys at once would take about 100 MiB more.
    expect(all - few).toBeLessThan(64 * 1024);
  });
});

describe('colours', () => {
  it('appear only if wanted', async () => {
    place = openPlace();
    await issueIn(place);
    const forced = await place.run(['list', ...ON], '', { FORCE_COLOR: '1' });
    expect(forced.stdout).toContain('\u001b[32mlive');
    for (const env of [{}, { FORCE_COLOR: '0' }]) {
      const { stdout } = await place.run(['list', ...ON], '', env);
      expect(stdout).not.toContain('\u001b');
    }
  });
});

describe('with --json', () => {
  it('an error is JSON as well, on standard error', async () => {
    place = openPlace();
    const { stdout, stderr, exit } = await place.run(['show', ENTITY, ...ON, '--json']);
    expect(stdout).toBe('');
    expect(exit).toBe(1);
    const { error } = JSON.parse(stderr) as { readonly error: { readonly message: string } };
    expect(error).toMatchObject({ exit: 1, code: 'not_found' });
    expect(error.message).toContain('There is no such key.');
  });
});
