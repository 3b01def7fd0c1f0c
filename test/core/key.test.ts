/** The shape and the checksum of a key: vectors through the format and through `verify`. */
import { createKeyring, defineScopes, generateKey, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { createKeyFormat } from '../../src/core/key.js';
import { beyondAscii } from '../support/beyond-ascii.ts';
import { complaint } from '../support/complaint.ts';
import { failures, readVectors, type Vector } from '../support/vectors.ts';

type KeyVector = Vector & { readonly prefix: string; readonly key: unknown } & (
    | { readonly result: 'valid'; readonly entropy: string; readonly checksum: string }
    | { readonly result: 'malformed' | 'wrong_checksum' | 'bad_prefix' }
  );

const { tests } = readVectors<{ tests: readonly KeyVector[] }>('keys');
const catalog = defineScopes({ a: { b: 'A sentence.' } });

const FAULTS = {
  valid: null,
  malformed: 'malformed_key',
  wrong_checksum: 'wrong_checksum',
} as const;

async function reasonOf(key: unknown, prefix: string): Promise<string> {
  const keyring = createKeyring({ prefix, catalog, store: memoryStore(), peppers: 'none' });
  try {
    await keyring.verify(key);
  } catch (error) {
    if (isAccessError(error) && error.code === 'invalid_token') return error.reason;
    throw error;
  }
  throw new Error('was let in');
}

describe('the format of keys', () => {
  it('finds the fault of every vector, and completes each entropy to a key', async () => {
    const failed = await failures(tests, (vector) => {
      const { prefix, key, result } = vector;
      if (result === 'bad_prefix') {
        expect(complaint(() => createKeyFormat(prefix))).toMatch(/^prefix: 1 to 20/);
        return;
      }
      const format = createKeyFormat(prefix);
      expect(format.prefix).toBe(prefix);
      expect(format.faultIn(key)).toBe(FAULTS[result]);
      if (vector.result === 'valid') expect(format.complete(vector.entropy)).toBe(key);
    });
    expect(failed).toEqual([]);
    expect(new Set(tests.map(({ result }) => result)).size).toBe(4);
  });

  it('is the first check of verify: the shape, then the checksum', async () => {
    const failed = await failures(tests, async ({ prefix, key, result }) => {
      if (result !== 'bad_prefix') {
        expect(await reasonOf(key, prefix)).toBe(FAULTS[result] ?? 'unknown_key');
      } else await expect(reasonOf(key, prefix)).rejects.toThrow(/^prefix: 1 to 20/);
    });
    expect(failed).toEqual([]);
  });

  it('accepts no character beyond ASCII in any position', async () => {
    const prefix = 'acme_k_s';
    const { faultIn } = createKeyFormat(prefix);
    for (const text of beyondAscii(generateKey({ prefix }))) {
      expect(faultIn(text), text).toBe('malformed_key');
      expect(await reasonOf(text, prefix), text).toBe('malformed_key');
    }
  });

  it('is frozen', () => {
    expect(Object.isFrozen(createKeyFormat('acme'))).toBe(true);
  });
});
