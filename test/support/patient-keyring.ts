/** Keyrings that wait longer, because a busy machine is slow and not broken. */
import type { KeyringOptions, KeyStore } from 'keyscope';
import { createKeyring } from 'keyscope';
import { catalog, PEPPER } from './keyring.ts';

/** Makes a keyring with a long store timeout. */
export function keyringOver(
  store: KeyStore,
  now: () => number = Date.now,
  tokens?: KeyringOptions['tokens'],
) {
  const options = { prefix: 'acme', catalog, peppers: [PEPPER], storeTimeoutMs: 60_000 };
  return createKeyring({ ...options, store, now, tokens });
}

export type PatientKeyring = ReturnType<typeof keyringOver>;
