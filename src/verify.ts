/**
 * Verification: a pure read. The order of the steps is a promise, and tested: garbage costs no hash and no
 * look-up, and nothing about a key's state or rights is said before it is authenticated.
 */
import { equalText } from './bytes.js';
import type { DenialReason } from './errors.js';
import { AccessError, StoreError } from './errors.js';
import type { KeyFormat } from './key.js';
import type { Clock } from './outage.js';
import { isPromise } from './outage.js';
import type { Principal } from './principal.js';
import { createPrincipal } from './principal.js';
import type { KeyRecord } from './record.js';
import { readRecord, sealedText } from './record.js';
import type { Scheme } from './secret.js';
import { UNPEPPERED } from './secret.js';
import type { KeyStore } from './store.js';

export interface VerifyOptions {
  readonly format: KeyFormat;
  /** The scopes that exist. */
  readonly catalog: ReadonlySet<string>;
  readonly schemes: readonly Scheme[];
  /** Until when keys without a pepper are taken beside peppered ones; `null` for not at all. */
  readonly unpepperedUntil: number | null;
  readonly store: KeyStore;
  readonly clock: Clock;
}

export interface Verifier {
  /** Steps 1 to 10. Never throws synchronously. */
  verify(key: unknown): Promise<Principal>;
  /** Steps 6 to 10, for a record that was found by its id. */
  admit(record: KeyRecord): Principal;
}

// One code for every reason: status, headers and body of the answer are the same bytes.
const refuse = (reason: DenialReason, keyId?: string) => new AccessError('invalid_token', reason, { keyId });

export function createVerifier(options: VerifyOptions): Verifier {
  const { format, catalog, schemes, unpepperedUntil, store, clock } = options;
  const withUnpeppered = [...schemes, UNPEPPERED];
  const accepted = () => (unpepperedUntil !== null && clock() < unpepperedUntil ? withUnpeppered : schemes);
  // A frozen record cannot change, so its seal holds for as long as the object lives.
  const sealed = new WeakMap<KeyRecord, Principal>();

  function verify(key: unknown): Promise<Principal> {
    try {
      // 1. Length and shape. 2. Checksum. No secret is involved, so these may answer early.
      const garbage = format.refuse(key);
      if (garbage !== null) return Promise.reject(refuse(garbage));
      // 3. Digests: one for each scheme that a key could have been stored under.
      const digests = accepted().map((scheme) => scheme.digest(key as string));
      // 4. One look-up with all of them.
      const rows = store.findByDigest(digests);
      if (isPromise(rows)) return Promise.resolve(rows.then((found) => admit(match(found, digests))));
      return Promise.resolve(admit(match(rows, digests)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** 5. Exactly one match, compared here although the store has compared: it may have returned another's row. */
  function match(rows: readonly unknown[], digests: readonly string[]): KeyRecord {
    let found: KeyRecord | undefined;
    let matches = 0;
    for (const row of rows) {
      const record = readRecord(row);
      if (record === null) throw refuse('record_tampered');
      for (const digest of digests) {
        if (!equalText(record.digest, digest)) continue;
        found = record;
        matches += 1;
      }
    }
    if (matches > 1) throw new StoreError('store.findByDigest returned more than one record for a key');
    if (found === undefined) throw refuse('unknown_key');
    return found;
  }

  function admit(record: KeyRecord): Principal {
    const { keyId, revokedAt, retireAt, expiresAt } = record;
    // 6. Seal. A pepper that was taken out leaves no scheme: its keys are unknown.
    const scheme = accepted().find(({ tag }) => record.digest.startsWith(tag));
    if (scheme === undefined) throw refuse('unknown_key', keyId);
    const known = sealed.get(record);
    if (known === undefined && !sealHolds(record, scheme)) throw refuse('record_tampered', keyId);
    // 7. Revoked: by presence, so that no clock can bring a key back.
    if (revokedAt !== null) throw refuse('revoked', keyId);
    // 8. Retired, 9. expired: valid only while now < deadline.
    const now = clock();
    if (retireAt !== null && now >= retireAt) throw refuse('retired', keyId);
    if (expiresAt !== null && now >= expiresAt) throw refuse('expired', keyId);
    // 10. Principal.
    if (known !== undefined) return known;
    const principal = createPrincipal(record, 'key', catalog);
    sealed.set(record, principal);
    return principal;
  }

  return { verify, admit };
}

function sealHolds(record: KeyRecord, scheme: Scheme): boolean {
  const seal = scheme.seal(sealedText(record));
  if (seal === null || record.seal === null) return seal === record.seal;
  return equalText(seal, record.seal);
}
