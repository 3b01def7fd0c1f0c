/**
 * The example of a store outside the package: its promises about the disk. It waits for the disk at
 * every write, so `test/slow/custom-store.test.ts` runs the contract.
 */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyRecord, Mark } from 'keyscope';
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

/** A record with a metadata name that JSON can lose. */
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
  test('is short, and imports only types from the package', () => {
    const source = fs.readFileSync(
      new URL('../../examples/custom-store/store.ts', import.meta.url),
      'utf8',
    );
    const code = source.split('\n').filter((line) => !/^\s*(?:\/\/|\/?\*|$)/.test(line));
    expect(code.length).toBeLessThanOrEqual(105);
    const imports = [...source.matchAll(/^import (type )?.* from '(.*)';$/gm)].map(
      ([, type, from]) => [from, type],
    );
    expect(imports).toEqual([
      ['node:fs', undefined],
      ['node:path', undefined],
      ['keyscope', 'type '],
    ]);
  });

  test('finds everything again after it was reopened', async () => {
    const store = jsonFileStore(path);
    await store.insert(RECORD);
    await store.mark(RECORD.keyId, REVOKE);
    await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
    const expected = { ...REVOKED, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } };
    expect(await rowOf(jsonFileStore(path), RECORD.keyId)).toEqual(expected);
    expect(fs.statSync(path).mode & 0o777).toBe(0o600);
  });

  test('syncs the file, its name and the folder before it returns', async () => {
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
        // Synced before the rename.
        ['write', `${path}.new`, { mode: 0o600, flush: true }],
        ['rename', `${path}.new`, path],
        ['sync', folder],
      ]);
      vi.restoreAllMocks();
    }
  });

  test('changes nothing in memory or in the file if a write fails', async () => {
    const store = jsonFileStore(path);
    await store.insert(RECORD);
    // A folder in the place of the temporary file, which cannot be opened.
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

  test('never reads a file that a crash cut short', async () => {
    await jsonFileStore(path).insert(RECORD);
    fs.writeFileSync(`${path}.new`, '[{"keyId":');
    const store = jsonFileStore(path);
    expect(await rowOf(store, RECORD.keyId)).toEqual(RECORD);
    await store.mark(RECORD.keyId, REVOKE);
    expect(await rowOf(jsonFileStore(path), RECORD.keyId)).toEqual(REVOKED);
  });

  test('replaces a revocation only if its seal is as read, and keeps its time', async () => {
    const store = jsonFileStore(path);
    await store.insert(RECORD);
    expect(store.mark(RECORD.keyId, { ...REVOKE, seal: 'one', replaces: RECORD.seal })).toBe(false);
    expect(store.mark(RECORD.keyId, { ...REVOKE, seal: 'one' })).toBe(true);
    const again = { ...REVOKE, at: 4, by: 'grace', seal: 'two' };
    expect(store.mark(RECORD.keyId, again)).toBe(false);
    expect(store.mark(RECORD.keyId, { ...again, replaces: 'two' })).toBe(false);
    expect(store.mark(RECORD.keyId, { ...again, replaces: 'one' })).toBe(true);
    const expected = { ...REVOKED, endedBy: 'grace', seal: 'two' };
    expect(await rowOf(jsonFileStore(path), RECORD.keyId)).toEqual(expected);
  });

  test('works with a keyring', async () => {
    const { keyring } = setUp({ store: jsonFileStore(path) });
    const authority = { entityId: RECORD.entityId, scopes: 'all' } as const;
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
