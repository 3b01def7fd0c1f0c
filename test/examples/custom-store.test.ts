/** The example of a store outside the package: the contract, and what it says of the disk. */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { KeyRecord, Mark } from 'keyscope';
import { storeContract } from 'keyscope/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { jsonFileStore } from '../../examples/custom-store/store.ts';
import { rowOf, setUp } from '../support/keyring.ts';
import { RECORD as BASE } from '../support/records.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'keyscope-custom-'));
  path = join(folder, 'keys.json');
});
afterEach(() => {
  vi.restoreAllMocks();
  fs.rmSync(folder, { recursive: true });
});

/** With a name in its metadata that a file in JSON can lose. */
const RECORD: KeyRecord = { ...BASE, metadata: { ['__proto__']: 'own' } };

const REVOKE: Mark = { kind: 'revoke', at: 5, by: 'ada', reason: 'leaked', seal: null };
const REVOKED: KeyRecord = {
  ...RECORD,
  revokedAt: 5,
  changedAt: 5,
  endedBy: 'ada',
  endReason: 'leaked',
  seal: null,
};

describe('a store in a JSON file', () => {
  storeContract(test, () => jsonFileStore(path));

  test('is short, and imports types alone from the package', () => {
    const source = fs.readFileSync(
      new URL('../../examples/custom-store/store.ts', import.meta.url),
      'utf8',
    );
    const code = source.split('\n').filter((line) => !/^\s*(?:\/\/|\/?\*|$)/.test(line));
    expect(code.length).toBeLessThanOrEqual(100);
    const imports = [...source.matchAll(/^import (type )?.* from '(.*)';$/gm)].map(
      ([, type, from]) => [from, type],
    );
    expect(imports).toEqual([
      ['node:fs', undefined],
      ['node:path', undefined],
      ['keyscope', 'type '],
    ]);
  });

  // It imported `./store.js`, which is not there before it is compiled: where it stands, `node
  // --test` did not find it.
  test('passes its contract where it stands, by the runner of Node', async () => {
    const path = (from: string) => fileURLToPath(new URL(`../../${from}`, import.meta.url));
    const hooks = [
      '--disable-warning=ExperimentalWarning',
      '--import',
      path('test/support/typescript.ts'),
    ];
    const args = [
      ...hooks,
      '--test-reporter=tap',
      '--test',
      path('examples/custom-store/contract.ts'),
    ];
    // A test that is run within a test says so to its children, which then report to it and to
    // nobody else.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(50);
    expect(stdout).toMatch(/^# fail 0$/m);
  });

  test('finds everything again when it is opened again', async () => {
    const store = jsonFileStore(path);
    await store.insert(RECORD);
    await store.mark(RECORD.keyId, REVOKE);
    await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
    const expected = { ...REVOKED, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } };
    expect(await rowOf(jsonFileStore(path), RECORD.keyId)).toEqual(expected);
    expect(fs.statSync(path).mode & 0o777).toBe(0o600);
  });

  test('is on the disk before it answers: file, name, folder', async () => {
    const store = jsonFileStore(path);
    const writes = [
      () => store.insert(RECORD),
      () => store.mark(RECORD.keyId, REVOKE),
      () => store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: {} }]),
    ];
    for (const write of writes) {
      const calls: unknown[] = [];
      const { openSync, fsyncSync, renameSync, writeFileSync } = fs;
      vi.spyOn(fs, 'writeFileSync').mockImplementation((file, content, options) => {
        calls.push(['write', file, options]);
        writeFileSync(file, content, options);
      });
      vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
        calls.push(['rename', from, to]);
        renameSync(from, to);
      });
      const names = new Map<unknown, unknown>();
      vi.spyOn(fs, 'openSync').mockImplementation((...args) => {
        const descriptor = openSync(...args);
        names.set(descriptor, args[0]);
        return descriptor;
      });
      vi.spyOn(fs, 'fsyncSync').mockImplementation((descriptor) => {
        // Whether `flush` shows here is for the version of Node to say.
        if (names.get(descriptor) !== `${path}.new`) calls.push(['sync', names.get(descriptor)]);
        fsyncSync(descriptor);
      });
      await write();
      expect(calls).toEqual([
        // Synced before it takes the name.
        ['write', `${path}.new`, { mode: 0o600, flush: true }],
        ['rename', `${path}.new`, path],
        ['sync', folder],
      ]);
      vi.restoreAllMocks();
    }
  });

  test('a write that fails changes nothing, neither here nor in the file', async () => {
    const store = jsonFileStore(path);
    await store.insert(RECORD);
    // In the place of the temporary file: it cannot be opened.
    fs.mkdirSync(`${path}.new`);
    const other = { ...RECORD, keyId: RECORD.keyId.replace('0e', '0f'), digest: 's1$other' };
    expect(() => store.insert(other)).toThrow(/EISDIR/);
    expect(() => store.mark(RECORD.keyId, REVOKE)).toThrow(/EISDIR/);
    for (const reader of [store, jsonFileStore(path)]) {
      expect(await reader.findById(other.keyId)).toBe(null);
      expect(await rowOf(reader, RECORD.keyId)).toEqual(RECORD);
    }
    fs.rmdirSync(`${path}.new`);
    expect(store.mark(RECORD.keyId, REVOKE)).toBe(true);
  });

  test('a file cut short by a crash is never the one that is read', async () => {
    await jsonFileStore(path).insert(RECORD);
    fs.writeFileSync(`${path}.new`, '[{"keyId":');
    const store = jsonFileStore(path);
    expect(await rowOf(store, RECORD.keyId)).toEqual(RECORD);
    await store.mark(RECORD.keyId, REVOKE);
    expect(await rowOf(jsonFileStore(path), RECORD.keyId)).toEqual(REVOKED);
  });

  test('carries a keyring', async () => {
    const { keyring } = setUp({ store: jsonFileStore(path) });
    const authority = { entityUuid: RECORD.entityUuid, scopes: 'all' } as const;
    const { key, info } = await keyring.issue(
      { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' },
      authority,
    );
    expect((await keyring.verify(key)).keyId).toBe(info.keyId);
    const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, authority);
    expect((await keyring.verify(next.key)).keyId).toBe(next.info.keyId);
    expect(fs.readFileSync(path, 'utf8')).not.toContain(next.key.slice(5, -6));
  });
});
