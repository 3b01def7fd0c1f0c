import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import type { D1Client } from 'keyscope/stores/d1';
import { d1Store, migrate, purgeEnded } from 'keyscope/stores/d1';
import { expect, test } from 'vitest';
import { complaint } from '../../../support/complaint.ts';
import { another, RECORD, revokeAt, WHOSE } from '../../../support/d1-records.ts';
import { spyOn, spyOnStore } from '../../../support/d1-spy.ts';
import { OTHER } from '../../../support/keyring.ts';
import { databases, describeWithWorkerd, FOLDER, SLOW } from '../../../support/workerd.ts';

const NO_BINDING = 'd1Store: pass the D1 binding itself, such as env.DB, not a session';

describeWithWorkerd('a binding', SLOW, () => {
  const fresh = databases();

  test('is rejected if it is not one, or is a session, which may read from a replica', async () => {
    const db = await fresh();
    const session = db.withSession?.('first-primary');
    const half = [{ prepare() {} }, { batch() {} }];
    const odd = [undefined, null, 'DB', {}, ...half, () => {}, d1Store, session];
    for (const client of odd) {
      const make = () => d1Store(client as D1Client);
      expect(complaint(make), inspect(client)).toBe(NO_BINDING);
      await expect(migrate(client as D1Client)).rejects.toThrow(NO_BINDING);
      const purge = purgeEnded(client as D1Client, { endedBefore: new Date(0) });
      await expect(purge).rejects.toThrow(NO_BINDING);
    }
  });

  test('is asked at the primary, in a session of each method', async () => {
    const { asked, store } = await spyOnStore(await fresh(), RECORD);
    await store.findByDigest([RECORD.digest]);
    await store.findById(RECORD.keyId);
    await store.list(WHOSE);
    await store.listLineage({ rootKeyId: RECORD.keyId, after: null, limit: 10 });
    await store.summarize(0);
    await store.listExpiring({ before: 1, after: null, limit: 5 });
    await store.listAll({ after: null, limit: 5 });
    await store.listChanged({ since: 0, limit: 5 });
    await store.insert(another(1));
    await store.mark(RECORD.keyId, revokeAt(1));
    await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: {} }]);
    expect(asked.sessions).toEqual(Array.from({ length: 11 }, () => 'first-primary'));
  });

  test('may be one from before there were sessions', async () => {
    const { client, asked } = spyOn(await fresh());
    const { withSession: _none, ...old } = client;
    expect(await d1Store(old).findById(OTHER)).toBe(null);
    expect(asked.sessions).toEqual([]);
  });
});

const OWN_OPTIONS = {
  noEmit: true,
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  module: 'esnext',
  moduleResolution: 'bundler',
  target: 'es2023',
  lib: ['es2023'],
  skipLibCheck: false,
  types: ['@cloudflare/workers-types'],
};

const USE = `
import { d1Store, migrate, purgeEnded } from './stores/sqlite/d1/index.js';
export const use = async (env: { DB: D1Database }) => [await migrate(env.DB), d1Store(env.DB)];
export const purge = (env: { DB: D1Database }) => purgeEnded(env.DB, { endedBefore: new Date() });
// @ts-expect-error no client at all
export const no = (env: { DB: KVNamespace }) => d1Store(env.DB);
`;

/** The output of the compiler. */
function compile(...args: readonly string[]): string {
  const options = { encoding: 'utf8', timeout: 120_000 } as const;
  return spawnSync('npx', ['--no-install', 'tsc', ...args], options).stdout;
}

describeWithWorkerd('the types', SLOW, () => {
  test('accept the bindings of Cloudflare, under the strictest settings', () => {
    const folder = mkdtempSync(join(fileURLToPath(FOLDER), 'node_modules', '.types-'));
    try {
      // Declarations, as a service has them: the source does not compile with Cloudflare's types.
      const project = fileURLToPath(new URL('../../tsconfig.build.json', FOLDER));
      const said = compile('-p', project, '--outDir', folder);
      expect(said).toBe('');
      const config = { compilerOptions: OWN_OPTIONS, files: ['use.ts'] };
      writeFileSync(join(folder, 'use.ts'), USE);
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
      expect(compile('-p', folder)).toBe('');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
