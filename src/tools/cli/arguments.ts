/** Reads the command line by the tables of subcommands and options. */
import { parseArgs } from 'node:util';
import { looksLikeKey } from '../../core/masking.js';
import { type CommandError, suggest, usageError } from './command-error.js';
import {
  COMMON,
  type Given,
  OPTIONS,
  type Option,
  type OptionName,
  shownOption,
} from './options.js';
import { SUBCOMMANDS, type Subcommand } from './subcommands.js';

/** A command line that can be carried out. */
export type Request =
  | { readonly kind: 'help'; readonly subcommand: Subcommand | null }
  | { readonly kind: 'version' }
  | { readonly kind: 'run'; readonly subcommand: Subcommand; readonly given: Given };

/**
 * Reads a command line. No text of an error repeats what could be a secret.
 *
 * @throws CommandError that says what to write instead.
 */
export function readArguments(argv: readonly string[]): Request {
  if (argv.some(looksLikeKey)) {
    throw usageError(
      'An API key is no argument: the history of your shell and the list of processes keep ' +
        'arguments. Give its key id, or pass the key to `keyscope whois` on standard input. ' +
        'If the key is in use, replace it: keyscope rotate',
    );
  }
  const { positionals, values } = readTokens(argv);
  const [name, operand = ''] = positionals;
  if (values.has('version')) return { kind: 'version' };
  if (name === undefined || name === 'help') {
    return { kind: 'help', subcommand: operand === '' ? null : findSubcommand(operand) };
  }
  const subcommand = findSubcommand(name);
  if (values.has('help')) return { kind: 'help', subcommand };
  const operands = positionals.slice(1);
  requireShape(subcommand, operands);
  requireOptions(subcommand, values);
  return { kind: 'run', subcommand, given: createGiven(operands, values) };
}

type Values = ReadonlyMap<OptionName, string | true>;

function isOption(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

function hasValue(name: OptionName): boolean {
  const { value }: Option = OPTIONS[name];
  return value !== undefined;
}

function readTokens(argv: readonly string[]) {
  const types = Object.keys(OPTIONS).map((name): [string, { type: 'string' | 'boolean' }] => [
    name,
    { type: isOption(name) && hasValue(name) ? 'string' : 'boolean' },
  ]);
  const options = Object.fromEntries(types);
  // Not strict: its errors repeat what was written.
  const read = {
    args: argv,
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  } as const;
  const { tokens, positionals } = parseArgs(read);
  const values = new Map<OptionName, string | true>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    if (!isOption(name) || !rawName.startsWith('--')) throw unknownOption(rawName);
    if (values.has(name)) throw usageError(`--${name} is written twice.`);
    values.set(name, readValue(name, value, inlineValue));
  }
  return { positionals, values };
}

function readValue(name: OptionName, value: unknown, isInline: boolean | undefined): string | true {
  if (!hasValue(name)) {
    if (isInline === true) throw usageError(`--${name} takes no value.`);
    return true;
  }
  if (typeof value !== 'string') throw usageError(`Write a value: ${shownOption(name)}`);
  // Else a forgotten value would swallow the option behind it.
  const isInput = name === 'against' && value === '-';
  if (isInline !== true && value.startsWith('-') && !isInput) {
    throw usageError(`A value that begins with a dash is written --${name}=-…`);
  }
  return value;
}

function unknownOption(rawName: string): CommandError {
  const known = Object.keys(OPTIONS).map((name) => `--${name}`);
  return usageError(`There is no option ${shown(rawName)}.${suggest(rawName, known)}`);
}

function findSubcommand(name: string): Subcommand {
  const found = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (found !== undefined) return found;
  const nearest = suggest(name, Object.keys(SUBCOMMANDS));
  const list = 'keyscope --help lists what there is.';
  throw usageError(`There is no subcommand ${shown(name)}.${nearest} ${list}`);
}

/** What was mistyped, if it is a word; an address may hold a password. */
function shown(text: string): string {
  return /^-{0,2}[a-z-]{1,20}$/i.test(text) ? text : 'like that';
}

/** `<…>` stands for one operand, `[…]` for any number. */
function requireShape({ usage }: Subcommand, operands: readonly string[]): void {
  if (usage.includes(' [')) return;
  const takesOperand = usage.includes(' <');
  const [operand = '', ...more] = operands;
  if (takesOperand && operand === '') throw usageError(`Write ${usage}.`);
  if (more.length === 0 && (takesOperand || operand === '')) return;
  const quoted = 'Put quotes around a value with spaces.';
  throw usageError(`Nothing but options stands behind ${usage}. ${quoted}`);
}

function requireOptions({ usage, needs = [], takes = [] }: Subcommand, values: Values): void {
  const taken: readonly OptionName[] = [...needs, ...takes, ...COMMON];
  const stray = [...values.keys()].find((option) => !taken.includes(option));
  if (stray !== undefined) {
    const names = taken.map((option) => `--${option}`);
    throw usageError(`${usage} takes no --${stray}.${suggest(`--${stray}`, names)} See --help.`);
  }
  const missing = needs.filter((option) => !values.has(option));
  if (missing.length === 0) return;
  throw usageError(`${usage} needs ${missing.map(shownOption).join(', ')}.`);
}

function createGiven(operands: readonly string[], values: Values): Given {
  const text = (name: OptionName): string | undefined => {
    const value = values.get(name);
    return typeof value === 'string' ? value : undefined;
  };
  return {
    operand: operands[0] ?? '',
    operands,
    text,
    required: (name) => text(name) ?? '',
    flag: (name) => values.get(name) === true,
  };
}
