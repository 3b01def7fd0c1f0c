import { schemaSql } from 'keyscope/stores/schema';
import { describe, expect, it } from 'vitest';

describe('schemaSql', () => {
  it('is text for each dialect, and refuses others by naming those it has', () => {
    for (const dialect of ['postgres', 'mysql', 'sqlite'] as const) {
      expect(schemaSql(dialect)).toMatch(
        /^CREATE TABLE[^;]+keyscope_schema[\s\S]+INSERT INTO keyscope_schema[^;]+;\n$/,
      );
    }
    for (const other of ['d1', 'constructor']) {
      expect(() => schemaSql(other as 'sqlite')).toThrow(/pass 'postgres', 'mysql' or 'sqlite'/);
    }
  });
});
