/**
 * What `npm run test:sabotage` switches off is still there: a text that moved would stop the run.
 */
import { describe, expect, it } from 'vitest';
import { SAFEGUARDS } from '../long/sabotage/safeguards.ts';
import { readProjectFile } from '../support/source.ts';

describe('the safeguards that are switched off one by one', () => {
  it('stand in their files, each exactly once', () => {
    const moved = SAFEGUARDS.filter(({ file, text }) => {
      const parts = readProjectFile(file).split(text);
      return parts.length !== 2;
    });
    expect(moved.map(({ name, file }) => `${name}: ${file}`)).toEqual([]);
  });

  it('have names that tell them apart', () => {
    const names = SAFEGUARDS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });
});
