/** What docs/testing.md says about the fake clock of a test runner. */
import { createKeyring } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, expect, test, vi } from 'vitest';
import { AUTHORITY, catalog } from '../support/keyring.ts';

afterEach(() => void vi.useRealTimers());

test.each([
  ['does not move a keyring that was made before', {}, 'live'],
  ['moves one with `now: () => Date.now()`', { now: () => Date.now() }, 'expired'],
])('the fake clock of a test runner %s', async (_, options, state) => {
  const own = { prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' } as const;
  const keyring = createKeyring({ ...own, ...options });
  const expiresAt = new Date(Date.now() + 60_000);
  const { info } = await keyring.issue({ name: 'CI', scopes: [], expiresAt }, AUTHORITY);
  vi.useFakeTimers({ now: Date.now() + 3_600_000 });
  expect(await keyring.get(info.keyId, AUTHORITY)).toMatchObject({ state });
});
