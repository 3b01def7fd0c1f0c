/** Keyrings that wait: a machine that does ten things at once is slow and not broken. */
import type { KeyStore } from 'keyscope';
import { createKeyring } from 'keyscope';
import { catalog, PEPPER } from './keyring.ts';

/** A keyring over a store, with which a store may take its time. */
export function keyringOver(store: KeyStore, now: () => number = Date.now) {
  const options = { prefix: 'acme', catalog, peppers: [PEPPER], storeTimeoutMs: 60_000 };
  return createKeyring({ ...options, store, now });
}

export type PatientKeyring = ReturnType<typeof keyringOver>;
