/** Help, from the tables of subcommands and options. */
import { COMMON, OPTIONS, type OptionName, shownOption } from './options.js';
import { SUBCOMMANDS, type Subcommand } from './subcommands.js';

const EXITS = `Exit codes: 0 done, 1 refused or not found (scan: found), 2 wrong usage,
3 config, 4 store, input or output, 5 a fault; 129, 130 and 143 after a signal.`;

/** What `keyscope --help` prints, or `keyscope <subcommand> --help`. */
export function helpFor(subcommand: Subcommand | null): string {
  return subcommand === null ? helpForAll() : helpForOne(subcommand);
}

function helpForAll(): string {
  const lines = Object.entries(SUBCOMMANDS).map(([name, { summary }]): [string, string] => [
    name,
    summary,
  ]);
  return `Usage: keyscope <subcommand> [options]

${columns(lines)}

keyscope <subcommand> --help lists its options. Every one takes:

${optionsOf(COMMON)}

${EXITS}
`;
}

function helpForOne({ usage, summary, needs = [], takes = [] }: Subcommand): string {
  const words = ['keyscope', usage, ...needs.map(shownOption), '[options]'];
  return `Usage: ${words.join(' ')}

  ${summary}

${optionsOf([...needs, ...takes, ...COMMON])}
`;
}

function optionsOf(names: readonly OptionName[]): string {
  return columns(names.map((name): [string, string] => [shownOption(name), OPTIONS[name].help]));
}

function columns(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
