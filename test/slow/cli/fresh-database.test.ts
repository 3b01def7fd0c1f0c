/** The command over a database without tables, and over a store in memory. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { ENTITY, issueIn, openPlace, type Place, sqliteConfig } from '../../support/command.ts';

const ON = ['--entity', ENTITY];
const ISSUE = ['issue', ...ON, '--name', 'CI', '--scopes', 'threats:read', '--expires', '1d'];

let place: Place;
afterEach(() => place.remove());

/** Returns how many objects the file contains: 0 even if the config has opened it. */
function tables(): unknown {
  const db = new DatabaseSync(place.file('keys.db'));
  const { count } = db.prepare('SELECT count(*) AS count FROM sqlite_master').all()[0] ?? {};
  db.close();
  return count;
}

describe('a SQLite file without tables', () => {
  // `doctor` once created the tables and then reported them as ok.
  it('is not changed by doctor, which says what to run', async () => {
    for (const more of ['', 'sql: undefined,']) {
      place = openPlace(sqliteConfig('', more));
      const { exit, stdout } = await place.run(['doctor']);
      expect(exit).not.toBe(0);
      expect(stdout).toMatch(/to do +.*[Rr]un `?keyscope migrate/);
      expect(stdout).not.toMatch(/(triggers|peppers|schema) +ok/);
      expect(tables()).toBe(0);
      expect(existsSync(place.file('keys.db-wal'))).toBe(false);
      if (more === '') place.remove();
    }
  });

  it('gets its tables on first use, as in a service', async () => {
    place = openPlace();
    expect(await place.run(['list', ...ON])).toMatchObject({ exit: 0 });
    expect(tables()).not.toBe(0);
    expect(await place.run(['doctor'])).toMatchObject({ exit: 0 });
  });

  it('gets its tables from migrate, and from the first key', async () => {
    place = openPlace();
    expect(await place.run(['migrate'])).toMatchObject({ exit: 0 });
    expect(await place.run(['list', ...ON])).toMatchObject({ exit: 0 });
    expect(await place.run(['doctor'])).toMatchObject({ exit: 0 });
    place.remove();
    place = openPlace();
    await issueIn(place);
    expect(await place.run(['doctor'])).toMatchObject({ exit: 0 });
  });
});

describe.each([
  ['memoryStore', "store = (await import('keyscope/stores/memory')).memoryStore();"],
  ['SQLite in memory', "store = sqliteStore(new DatabaseSync(':memory:'));"],
  ['a temporary file of SQLite', "store = sqliteStore(new DatabaseSync(''));"],
  [
    'a cache over memory',
    `const { cacheStore } = await import('keyscope/cache');
    store = cacheStore(sqliteStore(new DatabaseSync(':memory:')), {
      cache: new Map(), maxStalenessMs: 1_000,
    });`,
  ],
])('%s', (_name, lines) => {
  // A printed key once worked nowhere, because it was lost with the command.
  it('gets no key, and doctor says why', async () => {
    place = openPlace(sqliteConfig(lines, 'sql: undefined, migrate: undefined,'));
    const { exit, stdout, stderr } = await place.run(ISSUE);
    expect({ exit, stdout }).toEqual({ exit: 3, stdout: '' });
    expect(stderr).toContain('No key was created: the store in your config is in memory');
    const rotated = await place.run(['rotate', ENTITY, ...ON, '--overlap', '1d', '--yes']);
    expect(rotated).toMatchObject({ exit: 3, stdout: '' });
    const listed = await place.run(['list', ...ON]);
    expect(listed.stderr).toContain('cannot see keys of other processes');
    const doctor = await place.run(['doctor']);
    expect(doctor.exit).toBe(1);
    expect(doctor.stdout).toMatch(/records +to do +they are lost when the process ends/);
  });
});
