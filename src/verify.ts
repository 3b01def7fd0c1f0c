/**
 * Verification: a pure read. The order of the steps is a promise, and tested: garbage costs no hash and no
 * look-up, and nothing about a key's state or rights is said before it is authenticated.
 */
import { equalText } from './bytes.js';
import { type Admit, type Context, earliest, readRow, type Verify } from './context.js';
import { AccessError, type DenialReason, StoreError } from './errors.js';
import { raise } from './input.js';
import { createPrincipal, type Principal } from './principal.js';
import { type KeyRecord, once, sealedText } from './record.js';
import type { Scheme } from './secret.js';

// One code for every reason: status, headers and body of the answer are the same bytes.
const refuse = (reason: DenialReason, keyId?: string) => new AccessError('invalid_token', reason, { keyId });

/** `verify` takes all steps; `admit` takes those from 6 on. */
export function createVerifier(context: Context): { readonly verify: Verify; readonly admit: Admit } {
  const { format, known, accepted, store, clock } = context;

  function verify(key: unknown): ReturnType<Verify> {
    // 1. Length and shape. 2. Checksum. No secret is involved, so these may answer early.
    const garbage = format.refuse(key);
    if (garbage !== null) throw refuse(garbage);
    // 3. Digests: one for each scheme that a key could have been stored under.
    const digests = accepted().map((scheme) => scheme.digest(key as string));
    // 4. One look-up with all of them. A synchronous store costs no turn of the event loop.
    const rows = store.findByDigest(digests);
    const found = (all: readonly unknown[]) => admit(match(all, digests));
    return Array.isArray(rows) ? found(rows) : (rows as Promise<readonly unknown[]>).then(found);
  }

  function admit(record: KeyRecord): Principal {
    const { keyId, revokedAt, retireAt, expiresAt } = record;
    // 6. Seal. A pepper that was taken out leaves no scheme: its keys are unknown.
    const scheme = accepted().find(({ tag }) => record.digest.startsWith(tag)) ?? raise(refuse('unknown_key', keyId));
    // A frozen record cannot change, so its seal holds and its principal is the same for as long as the object lives.
    const principal = once(record, context, () => unseal(record, scheme));
    // 7. Revoked: by presence, so that no clock can bring a key back.
    if (revokedAt !== null) throw refuse('revoked', keyId);
    // 8. Retired, 9. expired: valid only while now < deadline.
    const now = clock();
    if (retireAt !== null && now >= retireAt) throw refuse('retired', keyId);
    if (expiresAt !== null && now >= expiresAt) throw refuse('expired', keyId);
    // 10. Principal.
    return principal;
  }

  function unseal(record: KeyRecord, scheme: Scheme): Principal {
    const seal = scheme.seal(sealedText(record));
    const genuine = seal === null || record.seal === null ? seal === record.seal : equalText(seal, record.seal);
    if (!genuine) throw refuse('record_tampered', record.keyId);
    return createPrincipal({ ...record, expiresAt: earliest(record.expiresAt, record.retireAt) }, 'key', known);
  }

  return { verify, admit };
}

/** Step 5. Exactly one match, compared here although the store has compared: it may return another's row. */
function match(rows: readonly unknown[], digests: readonly string[]): KeyRecord {
  // A loop: `map` and `filter` would make a verification 6 % slower.
  let found: KeyRecord | undefined;
  for (const row of rows) {
    const record = readRow(row);
    if (!digests.some((digest) => equalText(record.digest, digest))) continue;
    if (found !== undefined) throw new StoreError('store.findByDigest returned more than one record for a key');
    found = record;
  }
  return found ?? raise(refuse('unknown_key'));
}
