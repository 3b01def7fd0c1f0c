/** Parsing of the command line. */
import { describe, expect, it } from 'vitest';
import { readArguments } from '../../../src/tools/cli/arguments.js';
import { CommandError } from '../../../src/tools/cli/command-error.js';
import { OPTIONS } from '../../../src/tools/cli/options.js';
import { SUBCOMMANDS } from '../../../src/tools/cli/subcommands.js';

const ENTITY = '0a0a0a0a-0000-4000-8000-00000000000a';

function refusal(...argv: readonly string[]): string {
  try {
    readArguments(argv);
  } catch (error) {
    if (error instanceof CommandError && error.exit === 2) return error.message;
    throw error;
  }
  throw new Error(`${argv.join(' ')} was taken`);
}

const named = (name: string) => SUBCOMMANDS[name];

describe('readArguments', () => {
  it('returns the subcommand, its operand and its options', () => {
    const argv = ['show', ENTITY, '--entity', ENTITY, '--json', '--reason=-1'];
    const request = readArguments(argv);
    if (request.kind !== 'run') throw new Error(request.kind);
    const { subcommand, given } = request;
    expect(subcommand).toBe(named('show'));
    expect(given.operand).toBe(ENTITY);
    expect(given.required('entity')).toBe(ENTITY);
    expect(given.text('reason')).toBe('-1');
    expect(given.text('actor')).toBeUndefined();
    expect([given.flag('json'), given.flag('yes')]).toEqual([true, false]);
  });

  it('collects the values of an option that may be repeated', () => {
    const on = ['--entity', ENTITY, '--name', 'CI', '--scopes', '', '--expires', 'never'];
    const claims = ['--claim', 'ref=a', '--claim=-x=b', '--claim', 'ref=a'];
    const request = readArguments(['trust', ...claims, ...on]);
    if (request.kind !== 'run') throw new Error(request.kind);
    expect(request.given.texts('claim')).toEqual(['ref=a', '-x=b', 'ref=a']);
    expect(request.given.texts('issuer')).toEqual([]);
    expect([request.given.flag('claim'), request.given.flag('issuer')]).toEqual([true, false]);
  });

  it.each([[[]], [['--help']], [['-h']], [['help']]])('returns a request for help: %j', (argv) => {
    expect(readArguments(argv)).toEqual({ kind: 'help', subcommand: null });
  });

  it('returns a request for help on a subcommand, even without its required options', () => {
    const asked = { kind: 'help', subcommand: named('issue') };
    expect(readArguments(['issue', '--help'])).toEqual(asked);
    expect(readArguments(['issue', '-h'])).toEqual(asked);
    expect(readArguments(['-h', 'issue'])).toEqual(asked);
    expect(readArguments(['help', 'issue'])).toEqual(asked);
    expect(readArguments(['--version'])).toEqual({ kind: 'version' });
  });

  it.each([
    [['lst'], 'Did you mean list?'],
    [['constructor'], 'Unknown subcommand constructor.'],
    [['list', '--entitty', ENTITY], 'Did you mean --entity?'],
    [['list', '-e', ENTITY], 'Unknown option -e.'],
    [['list', '--entity'], '--entity needs a value: --entity <id>'],
    [['list', '--entity', '--json'], 'If the value begins with a dash, write --entity=-…'],
    [['list', '--entity', ENTITY, '--json=yes'], '--json takes no value'],
    [['list', '--entity', ENTITY, '--entity', ENTITY], '--entity is given twice'],
    [['list', '--entity', ENTITY, '--lineage'], 'keyscope list has no option --lineage'],
    [['unused'], 'keyscope unused needs --entity <id>'],
    [['list', '-j'], 'Unknown option -j.'],
    [['list', ENTITY, '--entity', ENTITY], 'keyscope list takes only options, no arguments'],
    [['issue', '--name', 'a', 'b'], 'Put quotes around a value with spaces'],
    [['show', '--entity', ENTITY], 'Write keyscope show <key id>'],
    [['issue', '--entity', ENTITY], 'needs --name <text>, --scopes <list>, --expires <when>'],
  ])('throws an error that says what to write: %j', (argv, instead) => {
    expect(refusal(...argv)).toContain(instead);
  });
});

describe('an API key on the command line', () => {
  const secret = `${'a1B2'.repeat(8)}`;

  it.each([
    [['show', `acme_${secret}`]],
    [['whois', `acme_${secret}`]],
    [['issue', '--name', `for acme_live_${secret}.`]],
    [[`--acme_${secret}`]],
    [[`--name=acme_${secret}`]],
  ])('is an error that says why and does not repeat it: %#', (argv) => {
    const message = refusal(...argv);
    expect(message).toContain('your shell history and the process list');
    expect(message).not.toContain(secret.slice(0, 8));
  });

  it('is not suspected in an id or a hash', () => {
    expect(refusal('show', `x_${'0a'.repeat(16)}`)).not.toContain('history');
  });
});

describe('a typo', () => {
  it.each([
    [['postgres://ada:hunter2@db/keys']],
    [['list', '--postgres://ada:hunter2@db/keys']],
    [['list', '--entity', ENTITY, 'hunter2']],
  ])('is not repeated in the error if it may contain a password: %j', (argv) => {
    expect(refusal(...argv)).not.toContain('hunter2');
  });
});

describe('the tables of subcommands and options', () => {
  it('use every option, and each of a subcommand once', () => {
    const used = Object.values(SUBCOMMANDS).map(({ needs = [], takes = [] }) => [
      ...needs,
      ...takes,
    ]);
    for (const names of used) expect(names).toEqual([...new Set(names)]);
    const common = ['config', 'json', 'timeout', 'help', 'version'];
    expect([...new Set([...used.flat(), ...common])].sort()).toEqual(Object.keys(OPTIONS).sort());
  });

  it.each(Object.entries(SUBCOMMANDS))(
    'contain %s under its own name, and load it',
    async (name, each) => {
      expect(each.usage.split(' ')[0]).toBe(name);
      expect(await each.load()).toBeTypeOf('function');
    },
  );
});
