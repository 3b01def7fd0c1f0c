import { expect, test, vi } from 'vitest';
import { keyring } from './access.ts';

test('a key ends when it expires', async () => {
  const expiresAt = new Date(Date.now() + 60_000);
  const input = { name: 'Export', scopes: ['projects:read'], expiresAt } as const;
  const { key } = await keyring.issue(input, { entityId: 'org_a', scopes: 'all' });
  await keyring.verify(key);
  vi.useFakeTimers({ toFake: ['Date'] }); // Only the clock: the database needs real timers.
  vi.setSystemTime(expiresAt);
  await expect(keyring.verify(key)).rejects.toMatchObject({ code: 'invalid_token' });
  vi.useRealTimers();
});
