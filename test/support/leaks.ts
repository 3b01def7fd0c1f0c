/** What a store must not give away: keys in what it keeps, digests and seals in what it says. */
import { inspect } from 'node:util';
import type { KeyRecord, KeyStore } from 'keyscope';
import { expect } from 'vitest';
import { AUTHORITY, PLAIN } from './keyring.ts';
import { keyringOver } from './patient-keyring.ts';

/** Checks that all that a store has written of two keys holds neither of them. */
export async function expectNoKeyIn(
  store: KeyStore,
  readAll: () => string | Promise<string>,
): Promise<void> {
  const keyring = keyringOver(store);
  const { key, info } = await keyring.issue(PLAIN, AUTHORITY);
  const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
  const stored = await readAll();
  expect(stored).toContain(info.keyId);
  for (const secret of [key, next.key]) {
    expect(stored).not.toContain(secret.slice('acme_'.length, -6));
  }
}

/** Everything that an error holds: its own properties, hidden ones too, and the chain of causes. */
export function everythingIn(error: unknown): string {
  const all = { showHidden: true, depth: null, maxStringLength: null, maxArrayLength: null };
  return inspect(error, all);
}

/** Checks that an error over a record quotes neither its digest nor its seal. */
export function expectNoSecretIn(error: unknown, { digest, seal }: KeyRecord): void {
  const said = everythingIn(error);
  for (const secret of [digest, String(seal)]) {
    expect(said).not.toContain(secret.replace('s1$', '').slice(0, 16));
  }
}
