/** Every subcommand as a real process, over a SQLite file. */
import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { keyInfoSchema } from 'keyscope/schemas';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ENTITY,
  issueIn,
  OTHER,
  openPlace,
  PEPPER,
  type Place,
  sqliteConfig,
} from '../../support/command.ts';

let place: Place;
beforeAll(() => {
  place = openPlace();
});
afterAll(() => place.remove());

const ON = ['--entity', ENTITY];
const KEY = /^acme_[0-9A-Za-z]{32}$/;
const NEW = ['--name', 'CI', '--scopes', 'threats:*', '--expires', '90d'];

function parse(text: string): Readonly<Record<string, unknown>> {
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

describe('help', () => {
  it('loads no subcommand, and a subcommand loads no other', async () => {
    place.write(
      'hook.mjs',
      `import { registerHooks } from 'node:module';
      registerHooks({
        load(url, context, next) {
          process.stderr.write(\`\${url}\\n\`);
          return next(url, context);
        },
      });`,
    );
    const loadedBy = async (...args: readonly string[]) => {
      const { stderr } = await place.run(args, '', { NODE_OPTIONS: '--import ./hook.mjs' });
      return [...stderr.matchAll(/\/cli\/((?:commands|subcommands)\b.*)\.ts$/gm)].map(
        ([, path]) => path,
      );
    };
    expect(await loadedBy('--help')).toEqual(['subcommands']);
    expect(await loadedBy('list', '--help')).toEqual(['subcommands']);
    expect(await loadedBy('schema', 'mysql')).toEqual(['subcommands', 'commands/schema']);
  });
});

describe('migrate and schema', () => {
  it('create the tables, also when run twice, and print them', async () => {
    for (let round = 0; round < 2; round += 1) {
      const { stdout, exit } = await place.run(['migrate']);
      expect({ stdout, exit }).toEqual({ stdout: 'The schema is at version 1.\n', exit: 0 });
    }
    const { stdout } = await place.run(['schema', 'mysql', '--triggers', 'no']);
    expect(stdout).toContain('CREATE TABLE');
    expect(stdout).not.toContain('CREATE TRIGGER');
    const without = await place.run(['schema', 'postgres', '--triggers', 'no']);
    expect(without.exit).toBe(2);
    expect(without.stderr).toContain('--triggers no is only for mysql. Remove --triggers.');
    const wrong = await place.run(['schema', 'postgress']);
    expect(wrong.exit).toBe(2);
    expect(wrong.stderr).toContain('Did you mean postgres?');
  });
});

describe('issue', () => {
  it('prints the key alone on standard output, and the rest on standard error', async () => {
    const { stdout, stderr, exit } = await place.run(['issue', ...ON, ...NEW]);
    expect(exit).toBe(0);
    expect(stdout.trim()).toMatch(KEY);
    expect(stderr).toMatch(
      /^acme_…\w{4}, key id [0-9a-f-]{36}\. Copy the key now: you will not see it again\.\n$/,
    );
  });

  it('records the actor and the options', async () => {
    const more = ['--actor', 'ada', '--entities', OTHER, '--metadata', 'team=siem'];
    const { keyId } = await issueIn(place, 'Export', more);
    const { stdout } = await place.run(['show', keyId, ...ON, '--json']);
    const info = keyInfoSchema.parse(JSON.parse(stdout));
    expect(info).toMatchObject({
      name: 'Export',
      createdBy: 'ada',
      accessibleEntities: [ENTITY, OTHER],
      metadata: { team: 'siem' },
      scopes: ['threats:read'],
    });
  });

  it('writes the key to a new file that only its owner can read, and overwrites none', async () => {
    const args = ['issue', ...ON, ...NEW, '--out', 'key.txt', '--json'];
    const { stdout } = await place.run(args);
    expect(readFileSync(place.file('key.txt'), 'utf8').trim()).toMatch(KEY);
    expect(statSync(place.file('key.txt')).mode & 0o777).toBe(0o600);
    expect(parse(stdout)).not.toHaveProperty('key');
    const before = await place.run(['list', ...ON, '--json']);
    const again = await place.run(args);
    expect(again.exit).toBe(2);
    expect(again.stderr).toContain('No key was created');
    const after = await place.run(['list', ...ON, '--json']);
    expect(after.stdout).toBe(before.stdout);
  });

  it('leaves no file behind if the keyring refuses', async () => {
    const reserved = ['--name', 'CI', '--scopes', 'users:delete', '--expires', 'never'];
    const args = ['issue', ...ON, ...reserved, '--out', 'refused.txt'];
    const { exit, stderr } = await place.run(args);
    expect(exit).toBe(2);
    expect(stderr).toContain('justification: say why the key needs users:delete');
    expect(() => statSync(place.file('refused.txt'))).toThrow('ENOENT');
  });
});

describe('keyscope scopes', () => {
  it('lists the catalog, and which scopes are reserved', async () => {
    const { stdout, exit } = await place.run(['scopes']);
    expect({ stdout, exit }).toEqual({
      stdout: [
        'SCOPE          RESERVED  DESCRIPTION',
        'threats:read   no        Read.',
        'threats:write  no        Write.',
        'users:delete   yes       Delete.',
        '',
      ].join('\n'),
      exit: 0,
    });
    const json = await place.run(['scopes', '--json']);
    expect(json.stdout.split('\n')[2]).toBe(
      '{"scope":"users:delete","description":"Delete.","reserved":true}',
    );
  });

  it.each([
    ['treats:read', 'has no scope treats:read. Did you mean threats:read?'],
    ['threats:read,users:remove', 'has no scope users:remove.'],
    ['Threats:Read', 'Did you mean threats:read?'],
    ['treats:*', 'has no scope treats:*.'],
    ['hunter2!', 'has no scope like that.'],
  ])('is named in the error for --scopes %s', async (scopes, said) => {
    const { keyId } = await issueIn(place);
    const issued = await place.run(['issue', ...ON, ...NEW.with(3, scopes)]);
    const rotate = ['rotate', keyId, ...ON, '--overlap', '1d', '--yes', '--scopes', scopes];
    for (const { exit, stdout, stderr } of [issued, await place.run(rotate)]) {
      expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
      expect(stderr).toContain(said);
      expect(stderr).toContain('Run `keyscope scopes` for a list.');
      expect(stderr).not.toContain('hunter2');
    }
  });
});

describe('whois', () => {
  it('reads the key from standard input and prints its owner and state', async () => {
    const { key, keyId } = await issueIn(place);
    await place.run(['suspend', keyId, ...ON, '--yes']);
    const { stdout, exit } = await place.run(['whois', '--json'], `${key}\n`);
    expect(exit).toBe(0);
    expect(parse(stdout)).toMatchObject({ keyId, entityId: ENTITY, state: 'suspended' });
    const other = key.endsWith('x') ? 'y' : 'x';
    const none = await place.run(['whois'], `${key.slice(0, -1)}${other}\n`);
    expect(none.exit).toBe(1);
    expect(none.stdout + none.stderr).not.toContain(key.slice(5, 20));
    const empty = await place.run(['whois']);
    expect(empty.exit).toBe(2);
  });
});

describe('every event', () => {
  /** Returns the events that a run prints. */
  async function eventsOf(args: readonly string[], input = ''): Promise<readonly object[]> {
    const { stderr } = await place.run([...args, '--config', 'events.mjs'], input);
    const lines = stderr.split('\n').filter((line) => line.startsWith('{'));
    return lines.map(parse);
  }

  // The look-ups of `whois` and `scan` once had no actor in the audit log.
  it('names the actor and the reason', async () => {
    const { key, keyId } = await issueIn(place);
    const onEvent = 'onEvent: (event) => console.error(JSON.stringify(event))';
    place.write(
      'events.mjs',
      sqliteConfig('', "prefixes: ['acme'],").replace(
        'peppers, deployment }',
        `peppers, deployment, ${onEvent} }`,
      ),
    );
    const who = { actor: 'ada', reason: 'a look' };
    const as = ['--actor', who.actor, '--reason', who.reason];
    const identified = { type: 'key.identified', keyId };
    expect(await eventsOf(['whois', ...as], key)).toMatchObject([{ ...identified, ...who }]);
    expect(await eventsOf(['scan', '-', ...as], key)).toMatchObject([{ ...identified, ...who }]);
    const actor = userInfo().username;
    expect(await eventsOf(['whois'], key)).toMatchObject([{ ...identified, actor }]);
    expect(await eventsOf(['scan', '-'], key)).toMatchObject([
      { ...identified, actor, reason: 'found by keyscope scan' },
    ]);
    const foreign = ['--entity', OTHER, ...as];
    expect(await eventsOf(['show', keyId, ...foreign])).toMatchObject([
      { type: 'management.denied', action: 'get', ...who },
    ]);
  });
});

describe('suspend, resume, revoke and rotate', () => {
  it('change the state of a key and record actor and reason', async () => {
    const { keyId } = await issueIn(place);
    const stateAfter = async (...args: readonly string[]) => {
      const { stdout, stderr } = await place.run([...args, ...ON, '--json', '--actor', 'ada']);
      expect(stdout, stderr).not.toBe('');
      return parse(stdout);
    };
    const doubt = ['--yes', '--reason', 'doubt'];
    const suspended = await stateAfter('suspend', keyId, ...doubt);
    expect(suspended).toMatchObject({ state: 'suspended', endedBy: 'ada', endReason: 'doubt' });
    expect(await stateAfter('resume', keyId)).toMatchObject({ state: 'live' });
    expect(await stateAfter('revoke', keyId, '--yes')).toMatchObject({ state: 'revoked' });
    const { exit, stderr } = await place.run(['resume', keyId, ...ON]);
    expect({ exit, stderr }).toMatchObject({ exit: 1 });
  });

  it('replace a key with all its entities, and revoke a lineage', async () => {
    const { key, keyId } = await issueIn(place, 'Rotated', ['--entities', OTHER]);
    const args = ['rotate', keyId, ...ON, '--overlap', '7d', '--yes'];
    const { stdout } = await place.run([...args, '--json']);
    const next = JSON.parse(stdout) as { key: string; info: { keyId: string } };
    expect(next.key).not.toBe(key);
    expect(next.info).toMatchObject({ rotatedFrom: keyId, accessibleEntities: [ENTITY, OTHER] });
    const twice = await place.run(args);
    expect(twice.exit).toBe(1);
    const lineage = await place.run(['revoke', keyId, ...ON, '--lineage', '--yes']);
    expect(lineage.stderr).toContain(next.info.keyId);
    const after = await place.run(['show', next.info.keyId, ...ON, '--json']);
    expect(parse(after.stdout)).toMatchObject({ state: 'revoked' });
  });

  it('ask before they end a key, and need --yes without a terminal', async () => {
    const { keyId } = await issueIn(place);
    const ending = [
      ['suspend', keyId],
      ['revoke', keyId],
      ['rotate', keyId, '--overlap', '0'],
    ];
    const ran = await Promise.all(ending.map((args) => place.run([...args, ...ON], 'y\n')));
    for (const { exit, stderr } of ran) {
      expect(exit).toBe(2);
      expect(stderr).toContain('--yes');
    }
    const { stdout } = await place.run(['show', keyId, ...ON, '--json']);
    expect(parse(stdout)).toMatchObject({ state: 'live', retireAt: null });
  });

  it('find no key of another organization', async () => {
    const { keyId } = await issueIn(place);
    const { exit, stderr } = await place.run(['revoke', keyId, '--entity', OTHER, '--yes']);
    expect(exit).toBe(1);
    expect(stderr).toContain('There is no such key.');
  });
});

describe('list, expiring, unused and peppers', () => {
  let own: Place;
  beforeAll(async () => {
    own = openPlace();
    for (const name of ['first', 'second', 'third']) await issueIn(own, name);
  });
  afterAll(() => own.remove());

  it('lists the newest first, as a table or as one JSON object per line', async () => {
    const table = await own.run(['list', ...ON]);
    const lines = table.stdout.trim().split('\n');
    expect(lines[0]).toMatch(/^KEY ID +KEY +STATE +EXPIRES +LAST USED +SCOPES +NAME$/);
    const names = lines.slice(1).map((line) => line.split(/ {2,}/).at(-1));
    expect(names).toEqual(['third', 'second', 'first']);
    const json = await own.run(['list', ...ON, '--json', '--limit', '2']);
    const keys = json.stdout
      .trim()
      .split('\n')
      .map((line) => keyInfoSchema.parse(parse(line)));
    expect(keys.map(({ name }) => name)).toEqual(['third', 'second']);
  });

  it('lists the keys of other organizations that can address one', async () => {
    await issueIn(place, 'Partner', ['--entities', OTHER]);
    const { stdout } = await place.run(['list', '--entity', OTHER, '--addressing', '--json']);
    expect(parse(stdout.split('\n')[0] ?? '')).toMatchObject({ name: 'Partner', entityId: ENTITY });
  });

  it('reports expiring keys, unused scopes and peppers with keys', async () => {
    const soon = await own.run(['expiring', '--json']);
    expect(soon).toMatchObject({ stdout: '', exit: 0 });
    const later = await own.run(['expiring', '--within', '100d']);
    expect(later.stdout).toMatch(/KEY ID.*first.*second/s);
    const unused = await own.run(['unused', ...ON, '--json', '--for', '1d']);
    expect(parse(unused.stdout.split('\n')[0] ?? '')).toMatchObject({ unusedScopes: null });
    const peppers = await own.run(['peppers', '--json']);
    expect(parse(peppers.stdout)).toMatchObject({ pepper: 'p1', configured: true, live: 3 });
  });

  it('names the pepper that is not configured', async () => {
    own.write('other.mjs', sqliteConfig('', `peppers: ['p2'],`));
    const { stdout } = await own.run(['peppers', '--config', 'other.mjs', '--json']);
    expect(parse(stdout)).toMatchObject({ pepper: 'p1', configured: false });
  });
});

describe('doctor', () => {
  const rows = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => parse(line) as { check: string; state: string; what: string });

  it('reports ok for a sound service', async () => {
    await issueIn(place);
    const { stdout, exit } = await place.run(['doctor', '--json']);
    const states = Object.fromEntries(rows(stdout).map(({ check, state }) => [check, state]));
    expect(exit).toBe(0);
    expect(states).toEqual({
      config: 'ok',
      schema: 'ok',
      store: 'ok',
      clock: 'ok',
      primary: 'ok',
      triggers: 'ok',
      pool: 'ok',
      channel: 'ok',
      peppers: 'ok',
      deployment: 'ok',
      records: 'ok',
      rights: 'ok',
      orm: 'ok',
    });
  });

  it('reads the config of an ORM as text, and says which line to add', async () => {
    const own = openPlace();
    try {
      await issueIn(own);
      own.write('drizzle.config.mjs', "throw new Error('it was run');");
      const { stdout, exit } = await own.run(['doctor', '--json']);
      expect(rows(stdout).find(({ state }) => state === 'to do')).toEqual({
        check: 'orm',
        state: 'to do',
        what:
          "drizzle-kit push drops every key: add tablesFilter: ['!keyscope_*'], " +
          'to drizzle.config.mjs',
      });
      expect(exit).toBe(1);
    } finally {
      own.remove();
    }
  });

  it('notices another deployment, a missing trigger and a changed one', async () => {
    // The second was in order as long as its name existed.
    const lines = `deployment = 'acme live'; client.exec(\`
      DROP TRIGGER keyscope_keys_delete;
      DROP TRIGGER keyscope_keys_seal;
      CREATE TRIGGER keyscope_keys_seal BEFORE UPDATE OF seal ON keyscope_keys WHEN 0
      BEGIN SELECT RAISE(ABORT, 'keyscope: never'); END\`);`;
    const own = openPlace();
    try {
      await issueIn(own);
      own.write('other.mjs', sqliteConfig(lines));
      const { stdout, exit } = await own.run(['doctor', '--json', '--config', 'other.mjs']);
      const todo = rows(stdout).filter(({ state }) => state === 'to do');
      expect(exit).toBe(1);
      expect(todo.map(({ check }) => check)).toEqual(['triggers', 'deployment']);
      expect(todo[0]?.what).toMatch(/: keyscope_keys_seal, keyscope_keys_delete;/);
    } finally {
      own.remove();
    }
  });
});

describe('the output of every command', () => {
  it('contains no key, no digest and no pepper', async () => {
    const { key, keyId } = await issueIn(place);
    const calls = [
      ['list', ...ON],
      ['list', ...ON, '--json'],
      ['show', keyId, ...ON],
      ['show', keyId, ...ON, '--json'],
      ['doctor'],
      ['peppers', '--json'],
    ];
    const ran = await Promise.all(calls.map((args) => place.run(args)));
    const all = ran.map(({ stdout, stderr }) => stdout + stderr).join('');
    expect(all).toContain(keyId);
    for (const secret of [key.slice(5, 31), PEPPER, 'h1.p1$', 'digest', 'seal:']) {
      expect(all).not.toContain(secret);
    }
  });
});
