/** `keyscope list` and `revoke` by state and creator, in one organization and in all. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ENTITY,
  hasTerminal,
  issueIn,
  OTHER,
  openPlace,
  type Place,
  sqliteConfig,
  talk,
} from '../../support/command.ts';

const ON = ['--entity', ENTITY];

interface Row {
  readonly name: unknown;
}

/** A service where ada has three keys, one of them suspended and one in another organization. */
async function openService(): Promise<Place> {
  const place = openPlace();
  await issueIn(place, 'ada one', ['--actor', 'ada']);
  const { keyId } = await issueIn(place, 'ada two', ['--actor', 'ada']);
  await place.run(['suspend', keyId, ...ON, '--yes', '--actor', 'bob']);
  await issueIn(place, 'bob one', ['--actor', 'bob']);
  const other = ['--name', 'ada three', '--scopes', 'threats:read', '--expires', '90d'];
  await place.run(['issue', '--entity', OTHER, ...other, '--actor', 'ada']);
  return place;
}

async function namesOf(place: Place, ...args: readonly string[]): Promise<readonly unknown[]> {
  const { stdout, stderr, exit } = await place.run([...args, '--json']);
  const lines = stdout.trim().split('\n').filter(Boolean);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: lines.length === 0 ? 'No keys.\n' : '' });
  return lines.map((line) => (JSON.parse(line) as Row).name);
}

describe('keyscope list', () => {
  let place: Place;
  beforeAll(async () => {
    place = await openService();
  });
  afterAll(() => place.remove());

  it('selects keys by state', async () => {
    expect(await namesOf(place, 'list', ...ON, '--state', 'suspended')).toEqual(['ada two']);
    const both = await namesOf(place, 'list', ...ON, '--state', 'live,suspended');
    expect(both).toEqual(['bob one', 'ada two', 'ada one']);
    expect(await namesOf(place, 'list', ...ON, '--state', 'revoked')).toEqual([]);
  });

  it('selects keys by creator, and counts only those for --limit', async () => {
    expect(await namesOf(place, 'list', ...ON, '--created-by', 'ada')).toEqual([
      'ada two',
      'ada one',
    ]);
    const limited = ['list', ...ON, '--created-by', 'ada', '--limit', '1'];
    expect(await namesOf(place, ...limited)).toEqual(['ada two']);
  });

  it('lists the keys of all organizations without --entity', async () => {
    expect(await namesOf(place, 'list')).toEqual(['bob one', 'ada two', 'ada one', 'ada three']);
    expect(await namesOf(place, 'list', '--created-by', 'ada', '--state', 'live')).toEqual([
      'ada one',
      'ada three',
    ]);
    const { stdout } = await place.run(['list']);
    expect(stdout).toMatch(/^KEY ID .* ORGANIZATION +SCOPES +NAME\n/);
    expect(stdout).toContain(OTHER);
  });

  it('needs --entity if the store cannot list everything', async () => {
    const lines = 'store = { ...store, listAll: undefined };';
    place.write('least.mjs', sqliteConfig(lines));
    const { exit, stdout, stderr } = await place.run(['list', '--config', 'least.mjs']);
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr).toContain('This store cannot list all organizations. Pass --entity <id>.');
  });

  it('shows a key that was rotated as replaced, with its earlier end', async () => {
    const own = openPlace();
    try {
      const { keyId } = await issueIn(own, 'rotated');
      await own.run(['rotate', keyId, ...ON, '--overlap', '7d', '--yes']);
      const { stdout } = await own.run(['list', ...ON]);
      const [, successor = '', predecessor = ''] = stdout.split('\n');
      expect(successor).toMatch(/ live {2,}\d/);
      const end = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10);
      expect(predecessor).toContain(`live, replaced  ${end}`);
    } finally {
      own.remove();
    }
  });

  it.each([
    [['--state', 'alive'], '--state takes live, suspended'],
    [['--state', 'alive'], 'Did you mean live?'],
    [['--state', ''], '--state takes live'],
    [['--addressing'], '--addressing needs --entity <id>'],
    [['--addressing', ...ON, '--created-by', 'ada'], 'Remove --created-by'],
  ])('rejects %j', async (args, said) => {
    const { exit, stderr } = await place.run(['list', ...args]);
    expect(stderr).toContain(said);
    expect(exit).toBe(2);
  });
});

describe('keyscope revoke without a key id', () => {
  it('shows the selected keys and asks for --yes without a terminal', async () => {
    const place = await openService();
    try {
      const asked = await place.run(['revoke', '--created-by', 'ada'], 'y\n');
      expect({ exit: asked.exit, stdout: asked.stdout }).toEqual({ exit: 2, stdout: '' });
      expect(asked.stderr).toContain('--yes');
      expect(asked.stderr.match(/“ada \w+” \(\w+\), key id [-0-9a-f]{36}, organ/g)).toHaveLength(3);
      expect(asked.stderr).not.toContain('bob one');
      expect(await namesOf(place, 'list', '--state', 'revoked')).toEqual([]);

      const reason = ['--reason', 'left the company', '--actor', 'eve'];
      const one = await place.run(['revoke', ...ON, '--created-by', 'ada', '--yes', ...reason]);
      expect(one.exit).toBe(0);
      expect(await namesOf(place, 'list', '--state', 'revoked')).toEqual(['ada two', 'ada one']);

      const rest = await place.run(['revoke', '--created-by', 'ada', '--yes', ...reason, '--json']);
      const rows = rest.stdout.trim().split('\n');
      expect(rows).toHaveLength(1);
      expect(JSON.parse(rows[0] ?? '')).toMatchObject({
        name: 'ada three',
        state: 'revoked',
        endedBy: 'eve',
        endReason: 'left the company',
      });
      expect(await namesOf(place, 'list', '--state', 'live')).toEqual(['bob one']);

      const none = await place.run(['revoke', '--created-by', 'ada', '--yes']);
      expect(none.exit).toBe(1);
      expect(none.stderr).toContain('No key matches.');
    } finally {
      place.remove();
    }
  });

  it('also ends the lineage of each key', async () => {
    const place = openPlace();
    try {
      const { keyId } = await issueIn(place, 'first', ['--actor', 'ada']);
      const rotate = ['rotate', keyId, ...ON, '--overlap', '7d', '--yes', '--name', 'second'];
      await place.run([...rotate, '--actor', 'bob']);
      await place.run(['revoke', '--created-by', 'ada', '--lineage', '--yes']);
      expect(await namesOf(place, 'list', '--state', 'revoked')).toEqual(['second', 'first']);
    } finally {
      place.remove();
    }
  });

  it.skipIf(!hasTerminal)('revokes nothing after a no on a terminal', async () => {
    const place = await openService();
    try {
      const command = place.line(['revoke', '--created-by', 'ada', '--state', 'suspended']);
      const line = `cd '${place.file('')}' && ${command}`;
      const declined = await talk(line, [['Revoke this key, for good? [y/N]', 'n\n']], 200);
      expect(declined.exit).toBe(1);
      expect(declined.stdout).toContain('“ada two” (suspended)');
      expect(await namesOf(place, 'list', '--state', 'revoked')).toEqual([]);
      const agreed = await talk(line, [['Revoke this key, for good? [y/N]', 'y\n']], 200);
      expect(agreed.exit).toBe(0);
      expect(await namesOf(place, 'list', '--state', 'revoked')).toEqual(['ada two']);
    } finally {
      place.remove();
    }
  });

  // `revoke $ID --entity … --yes` with an empty variable must not end every key.
  it.each([
    [[...ON, '--yes'], 'Write a key id, or select keys with --created-by or --state.'],
    [['', ...ON, '--yes'], 'Write a key id, or select keys'],
    [[ENTITY, ...ON, '--created-by', 'ada'], 'not both'],
    [[ENTITY, OTHER, ...ON], 'keyscope revoke [key id] takes one argument'],
    [[ENTITY], 'keyscope revoke <key id> needs --entity <id>'],
  ])('rejects %j', async (args, said) => {
    const place = openPlace();
    try {
      const { exit, stderr } = await place.run(['revoke', ...args]);
      expect(stderr).toContain(said);
      expect(exit).toBe(2);
    } finally {
      place.remove();
    }
  });
});
