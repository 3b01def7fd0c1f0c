/**
 * Runs every command of docs/runbooks in a terminal, in the printed order, and compares the output.
 * A `diff` changes a file of `keyscope init`. A block with the name of a file becomes that file.
 */
import { chmodSync, readFileSync, symlinkSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { ENTITY, hasTerminal, OTHER, openPlace, PEPPER, talk } from '../../support/command.ts';
import { emptySchema, url } from '../../support/postgres-clients.ts';
import { describePostgres } from '../../support/postgres-place.ts';
import { filesUnder, ROOT, readProjectFile } from '../../support/source.ts';
import { NODE_ARGUMENTS } from '../../support/store-process.ts';

/** The commands that each page but the first begins with. */
const BEFORE = [
  'migrate',
  `issue --name CI --entity ${OTHER} --expires 10d --scopes invoices:read --actor ada`,
  `issue --name SIEM --entity ${ENTITY} --expires 90d --scopes *:* --actor ada --out SIEM.key`,
  `issue --name Portal --entity ${ENTITY} --expires 180d --scopes invoices:read --actor ben`,
];

/** Opens a folder with a shell in which `npx keyscope` and `node` run the source. */
function openShell(address: string) {
  const place = openPlace(null);
  onTestFinished(() => place.remove());
  const folder = place.file('');
  place.write('package.json', '{ "name": "acme", "type": "module" }');
  symlinkSync(`${ROOT}/node_modules`, place.file('node_modules'));
  const node = [process.execPath, ...NODE_ARGUMENTS].join(' ');
  const programs = { npx: `shift; ${place.line([])} "$@"`, node: `${node} "$@"`, npm: '' };
  for (const [name, text] of Object.entries(programs)) {
    place.write(name, `#!/bin/sh\n${text}\n`);
    chmodSync(place.file(name), 0o755);
  }
  const addresses = `DATABASE_URL='${address}' OWNER_URL='${address}'`;
  place.write('.session', `export PATH='${folder}':$PATH PEPPER='${PEPPER}' ${addresses}\n`);

  async function run(line: string, printed = ''): Promise<string> {
    const session = `cd ${folder}; set -a; . ./.session; ${line}\nexport -p > .session`;
    const isAsked = printed.includes('(not shown)');
    const key = isAsked ? readFileSync(place.file('SIEM.key'), 'utf8') : '';
    const { stdout } = await talk(session, [isAsked ? ['(not shown)', key] : ['[y/N]', 'y\n']]);
    // Without progress, and without the audit log, which the starter's `onEvent` prints.
    const lines = stdout.split('\r\n').map((text) => text.split('\r\u001b[K').at(-1) ?? '');
    return lines.filter((text) => !text.startsWith('{"type":')).join('\n');
  }
  return { place, run };
}

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;

/** An id, a hint, a day, a duration, `…` for a part that is left out, and white space. */
const VARIES = new RegExp(`(${UUID.source}|_…\\w{4}|\\d{4}-\\d\\d-\\d\\d|\\d+ ms|^…$|\\s+)`, 'm');

/** Compares, and notes for which ids those on the page stand. */
function compare(actual: string, printed: string, ids: Map<string, string>): void {
  const found: string[] = [];
  const parts = printed.trim().split(VARIES);
  const pattern = parts.map((part, at) => {
    if (at % 2 === 0) return part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    if (part === '…') return '[\\s\\S]*';
    if (part.trim() === '') return '\\s+';
    if (part.length < 36) return part.replaceAll(/\w+/g, (word) => (word === 'ms' ? word : '\\w+'));
    if (ids.has(part)) return ids.get(part);
    if (found.includes(part)) return `\\${found.indexOf(part) + 1}`;
    found.push(part);
    return '([\\da-f-]{36})';
  });
  const match = new RegExp(`^\\s*${pattern.join('')}\\s*$`).exec(actual);
  if (match === null) expect(actual).toBe(printed);
  for (const [at, id] of found.entries()) ids.set(id, match?.[at + 1] ?? '');
}

function applyDiff(text: string, diff: string): string {
  const lines = diff.split('\n').slice(1);
  const [before, after] = ['-', '+'].map((sign) =>
    lines.flatMap((line) => (line.startsWith(sign) ? line.slice(1) : [])).join('\n'),
  );
  return text.replace(before ?? '', () => after ?? '');
}

async function follow(text: string, { place, run }: ReturnType<typeof openShell>): Promise<void> {
  const ids = new Map([ENTITY, OTHER].map((id) => [id, id]));
  // A page may print them after the step that runs them.
  for (const [, block = '', path = ''] of text.matchAll(/^```\ws\n(\/\/ (\S+)\n[\s\S]*?)^```$/gm)) {
    place.write(path, block);
  }
  for (const [, kind, block = ''] of text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
    const [, path = ''] = /^--- (\S+)\n/.exec(block) ?? [];
    if (kind === 'diff')
      place.write(path, applyDiff(readFileSync(place.file(path), 'utf8'), block));
    const steps = kind === 'console' ? block.split(/^\$ /m).slice(1) : [];
    for (const step of steps) {
      const [line = ''] = /^(?:.*\\\n)*.*\n/.exec(step) ?? [];
      const typed = line.replaceAll(UUID, (id) => ids.get(id) ?? id);
      const printed = step.slice(line.length);
      compare(await run(typed, printed), printed, ids);
    }
  }
}

describePostgres('the commands of the runbooks', () => {
  test.runIf(hasTerminal).each(filesUnder('docs/runbooks', '.md'))('work in %s', async (page) => {
    const { name, drop } = await emptySchema();
    onTestFinished(async () => void (await drop()));
    const own = new URL(url);
    own.searchParams.set('options', `-c search_path=${name}`);
    const shell = openShell(own.href);
    const text = readProjectFile(page);
    if (!text.includes('keyscope init')) {
      const database = text.includes('postgresStore') ? 'postgres' : 'sqlite';
      await shell.run(`npx keyscope init --yes --framework none --database ${database}`);
      for (const line of BEFORE) await shell.run(`npx keyscope ${line}`);
    }
    await follow(text, shell);
  });
});
