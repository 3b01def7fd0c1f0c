/**
 * Every subcommand and output format, over rows, files and errors with text that could control a
 * terminal, a code host, a viewer or a CI runner.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ENTITY,
  hasTerminal,
  issueIn,
  openPlace,
  type Place,
  sqliteConfig,
  talk,
} from '../../support/command.ts';
import {
  expectPlainLine,
  expectPlainLines,
  expectPlainMarkdown,
  expectPlainMessage,
  HOSTILE_TEXTS,
} from '../../support/hostile-texts.ts';

const ON = ['--entity', ENTITY];
const WHO = [...ON, '--actor', 'ada'];

/** All of them at once, so that one process per format is enough. */
const ALL = HOSTILE_TEXTS.join(' ');
/** The same as a record can contain it. */
const TEXT = ALL.toWellFormed();

/** Unsealed rows of a database that an attacker writes; one of them cannot be read. */
const ROWS = `
  const ALL = ${JSON.stringify(ALL)};
  peppers = 'none';
  const real = store;
  const text = ALL.toWellFormed();
  const said = { name: text, hint: text, justification: text, createdBy: text, endReason: text };
  const spoil = (row) => row && { ...row, ...said, endedBy: text, metadata: { [text]: text } };
  const broken = (row) => ({ ...row, name: ALL, keyId: ALL, scopes: ['threats:read', ALL] });
  store = {
    ...real,
    findByDigest: async (...given) => (await real.findByDigest(...given)).map(spoil),
    findById: async (...given) => spoil(await real.findById(...given)),
    list: async (...given) => (await real.list(...given)).map(spoil),
    listExpiring: async (...given) => {
      const { items, next } = await real.listExpiring(...given);
      return { items: items.map(spoil), next };
    },
    listAll: async (...given) => {
      const { items, next } = await real.listAll(...given);
      return { items: [...items.map(spoil), ...items.map(broken)], next };
    },
    summarize: async () => [{ scheme: 'h1.' + ALL, live: 1, lastUsedAt: null }],
  };`;

const FIELDS = `
  prefixes: ['acme'],
  routes: async () => [{ method: 'GET', path: '/threats', operations: ['list', ALL] }],`;

const TABLE = "{ list: ['threats:read'], [ALL]: ['threats:read'] }";
const CONFIG = sqliteConfig(ROWS, FIELDS, TABLE).replace("peppers: ['p1'],", "peppers: 'none',");

/** A lock that an attacker wrote. */
const OTHER_LOCK = JSON.stringify({
  version: 1,
  scopes: { 'threats:read': 'open', 'threats:write': 'open' },
  routes: Object.fromEntries(
    HOSTILE_TEXTS.map((text) => [`GET /${text}`, { operations: [text, 'b'], scopes: [] }]),
  ),
});

let place: Place;
let key: string;
let keyId: string;
beforeAll(async () => {
  place = openPlace(CONFIG);
  ({ key, keyId } = await issueIn(place));
  place.write('other.lock.json', OTHER_LOCK);
});
afterAll(() => place.remove());

async function run(args: readonly string[], input = '') {
  const ran = await place.run(args, input);
  expectPlainLines(ran.stdout.replace(/\n$/, ''));
  expectPlainLines(ran.stderr.replace(/\n$/, ''));
  return ran;
}

describe('hostile rows', () => {
  it.each([
    [['list', ...ON]],
    [['list', ...ON, '--addressing']],
    [['expiring', '--within', '900d']],
    [['unused', ...ON]],
    [['peppers']],
    [['doctor']],
  ])('are only shown by %j', async (args) => {
    const { stdout } = await run(args);
    if (!args.includes('--addressing')) expect(stdout.trim().split('\n').length).toBeGreaterThan(1);
    for (const line of (await run([...args, '--json'])).stdout.trim().split('\n')) {
      if (line !== '') expect(JSON.parse(line)).toBeTypeOf('object');
    }
  });

  it('are only shown by commands on one key', async () => {
    expect((await run(['show', keyId, ...ON])).stdout).toContain('\\u001b[2J');
    const { stdout } = await run(['show', keyId, ...ON, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ name: TEXT, metadata: { [TEXT]: TEXT } });
    expect((await run(['whois'], key)).exit).toBe(0);
    expect((await run(['whois', '--json'], key)).exit).toBe(0);
    const other = await issueIn(place);
    for (const args of [['suspend', '--yes'], ['resume'], ['revoke', '--yes']]) {
      const [name = '', ...more] = args;
      expect((await run([name, other.keyId, ...WHO, ...more])).exit).toBe(0);
    }
    const rotated = await run(['rotate', keyId, ...WHO, '--overlap', '7d', '--yes']);
    expect(rotated.stderr).not.toBe('');
  });

  // The question once showed the hint of a key unescaped.
  it.skipIf(!hasTerminal)('are only shown in a question, and do not answer it', async () => {
    const { keyId: asked } = await issueIn(place);
    const line = `cd '${place.file('')}' && ${place.line(['revoke', asked, ...WHO])}`;
    const { stdout, exit } = await talk(line, [['for good? [y/N]', 'n\n']], 200);
    expect(exit).toBe(1);
    expect(stdout).toContain('\\u001b[2J');
    for (const shown of stdout.split('\r\n')) expectPlainLine(shown.replace(/\r$/, ''));
    expect(stdout.length).toBeLessThan(1_000);
  });

  it.each([['--sarif'], ['--json'], ['']])(
    'are escaped in every format of the lock: %s',
    async (form) => {
      const args = ['lock', '--against', 'other.lock.json', '--keys'];
      const { stdout, exit } = await run(form === '' ? args : [...args, form]);
      expect(exit).toBe(0);
      if (form === '--sarif') messagesIn(stdout).forEach(expectPlainMessage);
      else if (form === '--json') expect(JSON.parse(stdout)).toHaveProperty('gains.0.name', TEXT);
      else {
        expect(stdout).toContain('### Live keys that may do more');
        const lines = stdout.split('\n');
        for (const line of lines) expectPlainMarkdown(line.replace(/^(?:- |### )/, ''));
      }
    },
  );
});

function messagesIn(sarif: string): readonly string[] {
  const { runs } = JSON.parse(sarif) as {
    readonly runs: readonly [
      { readonly results: readonly { readonly message: { readonly text: string } }[] },
    ];
  };
  const messages = runs[0].results.map(({ message }) => message.text);
  expect(messages).not.toEqual([]);
  return messages;
}

describe('hostile file names', () => {
  const isName = (text: string) => /^[^/\0]+$/.test(text) && text.trim() !== '' && text.length < 99;

  // A file named `::error::…` once started a line with that.
  it.each([[[]], [['--json']]])('are only shown by a scan: %j', async (format) => {
    mkdirSync(place.file('files'), { recursive: true });
    for (const text of HOSTILE_TEXTS.filter(isName)) {
      writeFileSync(place.file(`files/${text.toWellFormed()}`), `${key}\n`);
    }
    const { exit } = await run(['scan', 'files', '--config', 'keyscope.config.mjs', ...format]);
    expect(exit).toBe(1);
  });

  it('are only shown if they cannot be read', async () => {
    const names = HOSTILE_TEXTS.filter((text) => isName(text) && !text.startsWith('-'));
    const paths = ['::error::no', ...names.map((text) => text.toWellFormed())];
    const { stderr } = await run(['scan', '--prefix', 'acme', ...paths]);
    expect(stderr).toContain('\\u003a:error::no cannot be read: ENOENT');
  });
});

describe('hostile errors', () => {
  it.each([[[]], [['--json']]])('are only shown: %j', async (more) => {
    place.write('throws.mjs', `throw new Error(${JSON.stringify(`\n${ALL}`)});`);
    const failing = sqliteConfig(`
      const fail = async () => { throw new Error('keyscope: ' + ${JSON.stringify(ALL)}); };
      store = { ...store, list: fail, findById: fail, listAll: fail, summarize: fail };`);
    place.write('fails.mjs', failing);
    place.write('odd.lock.json', `{ "version": 1, ${JSON.stringify(ALL)}: 1 }`);
    const calls = [
      ['list', ...ON, '--config', 'throws.mjs'],
      ['list', ...ON, '--config', 'fails.mjs'],
      ['doctor', '--config', 'fails.mjs'],
      ['list', ...ON, '--config', '::error::\u001b[2J.mjs'],
      ['lock', '--check', '--file', '\u001b[2J.json'],
      ['lock', '--against', 'odd.lock.json'],
      ['issue', ...ON, '--name', '\u001b[2J', '--scopes', '\u009b', '--expires', '1d'],
      ['\u001b[2J'],
      ['list', '--\u001b[2J'],
    ];
    const ran = await Promise.all(calls.map((args) => run([...args, ...more])));
    for (const [index, { exit, stderr, stdout }] of ran.entries()) {
      expect(exit, `${calls[index]}: ${stdout}${stderr}`).not.toBe(0);
    }
  });
});
