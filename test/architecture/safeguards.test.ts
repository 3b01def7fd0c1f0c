/**
 * The safeguards that `npm run lab -- sabotage` disables must still be in the source: a changed
 * text would stop that run.
 */
import { describe, expect, it } from 'vitest';
import { SAFEGUARDS } from '../long/sabotage/safeguards.ts';
import { readProjectFile } from '../support/source.ts';

describe('the safeguards that `npm run lab -- sabotage` disables', () => {
  it('occur in their files, each exactly once', () => {
    const moved = SAFEGUARDS.filter(({ file, text }) => {
      const parts = readProjectFile(file).split(text);
      return parts.length !== 2;
    });
    expect(moved.map(({ name, file }) => `${name}: ${file}`)).toEqual([]);
  });

  it('have distinct names', () => {
    const names = SAFEGUARDS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });
});
