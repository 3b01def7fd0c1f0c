/** The supported driver versions are the same wherever they are named, and they are tested. */
import { describe, expect, it } from 'vitest';
import { readProjectFile } from './support/source.ts';

const PAGE = readProjectFile('docs/stores.md');

/** The packages installed in `test/drivers`, by the name in its package.json. */
const { dependencies: INSTALLED } = JSON.parse(readProjectFile('test/drivers/package.json')) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

/** The name and version of a package that is installed under an alias. */
function packageOf(alias: string): readonly [name: string, version: string] {
  const target = INSTALLED[alias] ?? '';
  const [, name = alias, version = target] = /^npm:(.+)@(.+)$/.exec(target) ?? [];
  return [name, version];
}

const aliases = Object.keys(INSTALLED);
/** pg's `Client` has a separate range, which the page describes in words. */
const LOWEST = new Map(
  aliases.filter((alias) => /^(?!pg-client).*-lowest$/.test(alias)).map(packageOf),
);

/** The versions in a text, such as `pg` 8.0.3 or `redis` 5.0, padded to three numbers. */
function promisedIn(text: string): readonly (readonly [string, string])[] {
  const named = text.matchAll(/`([@\w/-]+)`\s(?:\*\s)?(\d+\.\d+)(\.\d+)?/g);
  return Array.from(named, ([, name = '', start = '', patch = '.0']) => [name, start + patch]);
}

const [, TABLE = ''] = /<!-- drivers -->\n([\s\S]+?)\n\n/.exec(PAGE) ?? [];
/** Without the header rows. */
const ROWS = TABLE.split('\n').slice(2);
const STORES = ['sqlite', 'postgres', 'mysql', 'redis'] as const;

describe('the lowest version of a driver', () => {
  it("is on the stores' page, for each driver that is tested", () => {
    const [, table = ''] = /(\| store [\s\S]+?)\n\n/.exec(PAGE) ?? [];
    expect(new Map(promisedIn(table))).toEqual(LOWEST);
    expect(table).toContain('since 8.21 a `Client`');
    expect(packageOf('pg-client-lowest')).toEqual(['pg', '8.21.0']);
  });

  it("is the same at the top of each store's source", () => {
    const named = STORES.flatMap((store) => {
      const source = readProjectFile(`src/stores/${store}/store.ts`);
      return promisedIn(source.slice(0, source.indexOf('*/')).replaceAll(/\n \*/g, ''));
    });
    expect(new Map(named)).toEqual(LOWEST);
  });

  it('is in the table of tested versions, next to the newest', () => {
    for (const alias of aliases.filter((name) => name.endsWith('-lowest'))) {
      const [name, lowest] = packageOf(alias);
      const [, newest] = packageOf(alias.replace(/(?:-client)?-lowest$/, ''));
      const own = ROWS.filter((row) => {
        const cells = row.split(' | ');
        const isNamed = row.startsWith(`| \`${name}`);
        return isNamed && cells.includes(String(lowest)) && cells.includes(String(newest));
      });
      expect(own, `${name} ${lowest}`).not.toEqual([]);
    }
  });
});

describe('the table of drivers', () => {
  it('contains no failure', () => {
    const isWhole = (row: string) => / (\d+) of \1 \| [\d.]+ \| (\d+) of \2 \|$/.test(row);
    expect(ROWS.filter((row) => !isWhole(row))).toEqual([]);
    expect(ROWS.length).toBeGreaterThan(30);
  });
});
