/** Keyrings with a long timeout: a machine that does ten things at once is slow, not broken. */
import type { KeyStore } from 'keyscope';
import { createKeyring } from 'keyscope';
import { catalog, PEPPER } from './keyring.ts';

/** A keyring that gives its store plenty of time. */
export function keyringOver(store: KeyStore, now: () => number = Date.now) {
  const options = { prefix: 'acme', catalog, peppers: [PEPPER], storeTimeoutMs: 60_000 };
  return createKeyring({ ...options, store, now });
}

export type PatientKeyring = ReturnType<typeof keyringOver>;
