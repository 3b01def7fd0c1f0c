/** What docs/testing.md says about the fake clock of a test runner. */
import { createKeyring } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, expect, test, vi } from 'vitest';
import { AUTHORITY, catalog } from '../support/keyring.ts';

afterEach(() => void vi.useRealTimers());

test('the fake clock of a test runner moves a keyring that was made before', async () => {
  const keyring = createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' });
  const expiresAt = new Date(Date.now() + 60_000);
  const { info } = await keyring.issue({ name: 'CI', scopes: [], expiresAt }, AUTHORITY);
  vi.useFakeTimers({ now: Date.now() + 3_600_000 });
  expect(await keyring.get(info.keyId, AUTHORITY)).toMatchObject({ state: 'expired' });
});
