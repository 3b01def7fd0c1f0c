/**
 * An ended key stays ended, whatever an attacker writes into the database. `npm run lab -- edits`
 * tries 10,000 edits on each store.
 */
import { describe, expect, it } from 'vitest';
import { EDITABLE } from '../support/editable-stores.ts';
import { tryEdits } from '../support/random-edits.ts';
import { describeOn } from '../support/servers.ts';

const { KEYSCOPE_TEST_EDITS = '250', KEYSCOPE_TEST_SEED = '1' } = process.env;
const COUNT = Number(KEYSCOPE_TEST_EDITS);
const SEED = Number(KEYSCOPE_TEST_SEED);

const SUITES = {
  memory: describe,
  SQLite: describe,
  PostgreSQL: await describeOn('postgres'),
  MariaDB: await describeOn('mysql'),
  Redis: await describeOn('redis'),
} as const;

for (const [name, open] of Object.entries(EDITABLE)) {
  const suite = SUITES[name.split(' ')[0] as keyof typeof SUITES];
  suite(`an ended key, in ${name}`, () => {
    it('never authenticates again, unless its whole row is restored', {
      timeout: 3_600_000,
    }, async () => {
      const editable = await open();
      const begun = performance.now();
      const tally = await tryEdits(editable, COUNT, SEED);
      await editable.close();
      const { edits, accepted, ended, restored, violations } = tally;
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      console.log(
        `${name}: ${edits} edits, ${accepted} taken, ${ended} keys ended, ` +
          `${restored} put back whole, ${violations.length} lived again; ${seconds} s`,
      );
      expect(violations.slice(0, 3)).toEqual([]);
      expect(ended).toBeGreaterThan(COUNT / 25);
      if (!name.endsWith('with triggers')) expect(accepted).toBeGreaterThan(edits / 2);
    });
  });
}
