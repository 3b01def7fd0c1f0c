/** How often a scan looks up the keys that it finds. */
import { generateKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { lookUpsOf } from '../../../../src/tools/cli/scan/known-keys.js';
import { callOf } from '../../../support/calls.ts';
import { issue, recording, setUp } from '../../../support/keyring.ts';

describe('lookUpsOf', () => {
  it('looks up a repeated key once, and remembers at most 1,000 keys', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const { call } = callOf({ store, keyring }, '', {});
    const lookUp = lookUpsOf(call, keyring);
    const { key, info } = await issue(keyring);
    const others = Array.from({ length: 999 }, () => generateKey({ prefix: 'acme' }));
    calls.length = 0;
    const all = [key, ...others];
    for (const each of [...all, ...all]) {
      const known = await lookUp(each);
      expect(known?.keyId).toBe(each === key ? info.keyId : undefined);
    }
    expect(calls).toHaveLength(1_000);
    await lookUp(generateKey({ prefix: 'acme' }));
    await lookUp(key);
    expect(calls).toHaveLength(1_002);
  });
});
