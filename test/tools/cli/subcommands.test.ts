/** Help, and the docs that match it. */
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/tools/cli/command-error.js';
import { OPTIONS } from '../../../src/tools/cli/options.js';
import { helpFor, SUBCOMMANDS } from '../../../src/tools/cli/subcommands.js';
import { readProjectFile } from '../../support/source.ts';

const page = readProjectFile('docs/command.md');

describe('help', () => {
  it('lists every subcommand within 80 columns', () => {
    const help = helpFor(null);
    for (const [name, { summary }] of Object.entries(SUBCOMMANDS)) {
      expect(help).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
      expect(help).toContain(summary);
    }
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each(Object.entries(SUBCOMMANDS))('lists the options of %s', (_, each) => {
    const help = helpFor(each);
    const { usage, needs = [], takes = [] } = each;
    expect(help).toContain(`Usage: keyscope ${usage}`);
    for (const name of [...needs, ...takes]) expect(help).toContain(OPTIONS[name].help);
  });
});

describe('docs/command.md', () => {
  it.each(Object.keys(SUBCOMMANDS))('shows %s in use', (name) => {
    expect(page).toContain(`$ npx keyscope ${name}`);
  });

  it('has every exit code', () => {
    for (const code of [...Object.values(EXIT), 129, 130, 143]) {
      expect(page).toMatch(new RegExp(`^\\| .*\\b${code}\\b.*\\|.*\\|$`, 'm'));
    }
  });

  it('names only options that exist', () => {
    // Without the options of git and tsc.
    const others = /^git [^|\n]*|`--no-textconv --no-ext-diff`|`tsc --init`/gm;
    const own = page.replace(others, '');
    const named = [...own.matchAll(/(?<![\w-])--([a-z]+(?:-[a-z]+)*)/g)].map(
      ([, name = '']) => name,
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !Object.hasOwn(OPTIONS, name))).toEqual([]);
  });
});
