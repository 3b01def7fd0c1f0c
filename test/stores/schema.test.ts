import { MIGRATIONS, type SchemaOptions, schemaSql } from 'keyscope/stores/schema';
import { describe, expect, it } from 'vitest';
import { MIN_READERS, minReaderOf } from '../../src/stores/schema/versions.ts';

const DIALECTS = ['postgres', 'mysql', 'sqlite'] as const;

describe('schemaSql', () => {
  it('returns text for each dialect, and rejects others with the supported names', () => {
    for (const dialect of DIALECTS) {
      expect(schemaSql(dialect)).toMatch(
        /^CREATE TABLE[^;]+keyscope_schema[\s\S]+INSERT INTO keyscope_schema[^;]+;\n$/,
      );
    }
    for (const other of ['d1', 'constructor']) {
      expect(() => schemaSql(other as 'sqlite')).toThrow(/pass 'postgres', 'mysql' or 'sqlite'/);
    }
  });

  it('omits the triggers of mysql if asked to', () => {
    const sql = schemaSql('mysql', { triggers: false });
    expect(sql).not.toContain('TRIGGER');
    expect(schemaSql('mysql')).toContain('TRIGGER');
    expect(schemaSql('mysql').startsWith(sql.slice(0, sql.indexOf('INSERT')))).toBe(true);
  });

  it.each(['postgres', 'sqlite'] as const)('omits no triggers for %s', (dialect) => {
    const told =
      `schemaSql: triggers: only 'mysql' has this option, and ${dialect} always has triggers; ` +
      'leave it out';
    // @ts-expect-error The types have this option only for mysql.
    const without = () => schemaSql(dialect, { triggers: false });
    expect(without).toThrow(new TypeError(told));
    expect(schemaSql(dialect)).toContain('TRIGGER');
  });

  it('consists of plain statements, none of which builds another', () => {
    for (const dialect of DIALECTS) {
      expect(schemaSql(dialect)).not.toMatch(/\bDO \$|EXECUTE (?!FUNCTION)/);
    }
  });

  it.each([{ trigger: false }, { triggers: 0 }, null])('rejects the options %j', (options) => {
    for (const dialect of DIALECTS) {
      const wrong = () => schemaSql(dialect as 'mysql', options as SchemaOptions);
      expect(wrong).toThrow(TypeError);
      expect(wrong).toThrow(/^schemaSql: /);
    }
  });

  it('ends with the version that migrate would write, and the oldest that works with it', () => {
    for (const dialect of DIALECTS) {
      const { length } = MIGRATIONS[dialect];
      const values = `(id, version, min_reader) VALUES (1, ${length}, ${MIN_READERS[length - 1]})`;
      expect(schemaSql(dialect).endsWith(`keyscope_schema ${values};\n`), dialect).toBe(true);
    }
  });
});

describe('the oldest version whose releases work with another', () => {
  it('is listed for every version, and never comes after it', () => {
    for (const dialect of DIALECTS) {
      for (const version of MIGRATIONS[dialect].keys()) {
        const oldest = MIN_READERS[version] ?? Number.NaN;
        expect(oldest, dialect).toBeGreaterThan(0);
        expect(oldest, dialect).toBeLessThanOrEqual(version + 1);
      }
    }
  });

  // Otherwise a version without an entry would let every release write to its tables.
  it('defaults to that version itself', () => {
    const next = MIN_READERS.length + 1;
    expect(minReaderOf(next)).toBe(next);
    expect(minReaderOf(1)).toBe(1);
  });
});
