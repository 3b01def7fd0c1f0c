/** Checks that a store keeps no keys and that its errors quote no digests or seals. */
import { inspect } from 'node:util';
import type { KeyRecord, KeyStore } from 'keyscope';
import { expect } from 'vitest';
import { AUTHORITY, PLAIN } from './keyring.ts';
import { keyringOver } from './patient-keyring.ts';

/** Checks that the stored data of two keys contains neither key. */
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

/** Returns all contents of an error: its own and hidden properties and the chain of causes. */
export function everythingIn(error: unknown): string {
  const all = { showHidden: true, depth: null, maxStringLength: null, maxArrayLength: null };
  return inspect(error, all);
}

/** Checks that an error about a record quotes neither its digest nor its seal. */
export function expectNoSecretIn(error: unknown, { digest, seal }: KeyRecord): void {
  const said = everythingIn(error);
  for (const secret of [digest, String(seal)]) {
    expect(said).not.toContain(secret.replace('s1$', '').slice(0, 16));
  }
}
