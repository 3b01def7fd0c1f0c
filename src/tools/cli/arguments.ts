/** Parses the command line with the tables of subcommands and options. */
import { parseArgs } from 'node:util';
import { looksLikeKey } from '../../core/masking.js';
import { type CommandError, suggest, usageError } from './command-error.js';
import {
  COMMON,
  type Given,
  isOption,
  OPTIONS,
  type Option,
  type OptionName,
  shownOption,
} from './options.js';
import { SUBCOMMANDS, type Subcommand } from './subcommands.js';

/** A valid command line. */
export type Request =
  | { readonly kind: 'help'; readonly subcommand: Subcommand | null }
  | { readonly kind: 'version' }
  | { readonly kind: 'run'; readonly subcommand: Subcommand; readonly given: Given };

/**
 * Parses a command line. No error repeats anything that could be a secret.
 *
 * @throws CommandError that says what to write instead.
 */
export function readArguments(argv: readonly string[]): Request {
  if (argv.some(looksLikeKey)) {
    throw usageError(
      'Do not pass an API key as an argument: your shell history and the process list keep ' +
        'arguments. Pass its key id, or pipe the key into `keyscope whois`. ' +
        'If the key is in use, replace it with `keyscope rotate`.',
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

/** The values of each option that is given; none for a switch. */
type Values = ReadonlyMap<OptionName, readonly string[]>;

function hasValue(name: OptionName): boolean {
  const { value }: Option = OPTIONS[name];
  return value !== undefined;
}

function readTokens(argv: readonly string[]) {
  const types = Object.keys(OPTIONS).map((name): [string, { type: 'string' | 'boolean' }] => [
    name,
    { type: isOption(name) && hasValue(name) ? 'string' : 'boolean' },
  ]);
  const options = { ...Object.fromEntries(types), help: { type: 'boolean', short: 'h' } } as const;
  // Not strict: the errors of strict mode quote the argument.
  const read = {
    args: argv,
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  } as const;
  const { tokens, positionals } = parseArgs(read);
  const values = new Map<OptionName, readonly string[]>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const isWritten = rawName.startsWith('--') || rawName === '-h';
    if (!isOption(name) || !isWritten) throw unknownOption(rawName);
    const before = values.get(name);
    const { isList }: Option = OPTIONS[name];
    if (before !== undefined && isList !== true) {
      throw usageError(`--${name} is given twice. Remove one.`);
    }
    values.set(name, [...(before ?? []), ...readValue(name, value, inlineValue)]);
  }
  return { positionals, values };
}

function readValue(
  name: OptionName,
  value: unknown,
  isInline: boolean | undefined,
): readonly string[] {
  if (!hasValue(name)) {
    if (isInline === true) throw usageError(`--${name} takes no value.`);
    return [];
  }
  if (typeof value !== 'string') throw usageError(`--${name} needs a value: ${shownOption(name)}`);
  // Otherwise an option without its value would swallow the next option.
  const isInput = name === 'against' && value === '-';
  if (isInline !== true && value.startsWith('-') && !isInput) {
    throw usageError(
      `--${name} needs a value. If the value begins with a dash, write --${name}=-…`,
    );
  }
  return [value];
}

function unknownOption(rawName: string): CommandError {
  const known = Object.keys(OPTIONS).map((name) => `--${name}`);
  const nearest = suggest(rawName, known);
  return usageError(`Unknown option${shown(rawName)}.${nearest} ${SEE_HELP}`);
}

function findSubcommand(name: string): Subcommand {
  const found = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (found !== undefined) return found;
  const nearest = suggest(name, Object.keys(SUBCOMMANDS));
  throw usageError(`Unknown subcommand${shown(name)}.${nearest} ${SEE_HELP}`);
}

const SEE_HELP = 'Run `keyscope --help` for a list.';

/** Quotes a mistyped word. Quotes nothing else, because an address may contain a password. */
function shown(text: string): string {
  return /^-{0,2}[a-z-]{1,20}$/i.test(text) ? ` ${text}` : '';
}

/** In `usage`, `<…>` means one operand, `[…]` one or none, and `…]` any number. */
function requireShape({ usage }: Subcommand, operands: readonly string[]): void {
  if (usage.endsWith('…]')) return;
  const isRequired = usage.includes(' <');
  const takesOperand = isRequired || usage.includes(' [');
  const [operand = '', ...more] = operands;
  if (isRequired && operand === '') throw usageError(`Write keyscope ${usage}.`);
  if (more.length === 0 && (takesOperand || operand === '')) return;
  const taken = takesOperand ? 'one argument' : 'only options, no arguments';
  const quoted = 'Put quotes around a value with spaces.';
  throw usageError(`keyscope ${usage} takes ${taken}. ${quoted}`);
}

function requireOptions({ usage, needs = [], takes = [] }: Subcommand, values: Values): void {
  const taken: readonly OptionName[] = [...needs, ...takes, ...COMMON];
  const stray = [...values.keys()].find((option) => !taken.includes(option));
  if (stray !== undefined) {
    const names = taken.map((option) => `--${option}`);
    const nearest = suggest(`--${stray}`, names);
    throw usageError(`keyscope ${usage} has no option --${stray}.${nearest} See its --help.`);
  }
  const missing = needs.filter((option) => !values.has(option));
  if (missing.length === 0) return;
  throw usageError(`keyscope ${usage} needs ${missing.map(shownOption).join(', ')}.`);
}

function createGiven(operands: readonly string[], values: Values): Given {
  const texts = (name: OptionName): readonly string[] => values.get(name) ?? [];
  const text = (name: OptionName): string | undefined => texts(name)[0];
  return {
    operand: operands[0] ?? '',
    operands,
    text,
    texts,
    required: (name) => text(name) ?? '',
    flag: (name) => values.has(name),
  };
}
