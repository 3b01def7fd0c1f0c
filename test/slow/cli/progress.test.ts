/** Progress of long work, on a terminal. */
import { describe, expect, it } from 'vitest';
import {
  hasTerminal,
  issueIn,
  OTHER,
  openPlace,
  sqliteConfig,
  talk,
} from '../../support/command.ts';

/** A store with a slow method. */
function slow(method: string, ms: number): string {
  return `
    const fast = store;
    store = { ...fast, async ${method}(...args) {
      await new Promise((resolve) => setTimeout(resolve, ${ms}));
      return fast.${method}(...args);
    } };`;
}

describe.skipIf(!hasTerminal)('progress on a terminal', () => {
  it.each([
    ['peppers', slow('summarize', 2_500), /^Counting keys \([12] s\)$/],
    ['list', slow('list', 600), /^1 of 2 organizations$/],
  ])('is shown by %s and removed at the end', async (name, lines, shown) => {
    const place = openPlace(sqliteConfig(lines));
    try {
      await issueIn(place);
      const other = ['--name', 'CI', '--scopes', '', '--expires', '1d'];
      await place.run(['issue', '--entity', OTHER, ...other]);
      const { stdout, exit } = await talk(`cd '${place.file('')}' && ${place.line([name])}`, []);
      expect(exit).toBe(0);
      const texts = stdout.split('\r\u001b[K');
      expect(texts).toContainEqual(expect.stringMatching(shown));
      expect(texts.at(-1)).not.toMatch(/organizations|Counting/);
      const { stderr } = await place.run([name]);
      expect(stderr).toBe('');
    } finally {
      place.remove();
    }
  });
});
