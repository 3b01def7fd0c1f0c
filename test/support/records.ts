/**
 * The record that tests start from, with every kind of value, and a function that makes more like
 * it. Imports no other helper, so any test or helper can use it.
 */
import type { KeyRecord } from 'keyscope';

/** The entity of {@link RECORD}, also called `OWN` in `keyring.ts` and `sqlite.ts`. */
const OWN = '0a0a0a0a-0000-4000-8000-00000000000a';

/**
 * A minimal live key that every store must support. Its texts have characters outside ASCII and
 * outside 16 bits.
 */
export const RECORD: KeyRecord = {
  format: 1,
  keyId: '0e0e0e0e-0000-4000-8000-00000000000e',
  prefix: 'acme',
  hint: 'KrPP',
  name: 'ci 🦊',
  digest: `s1$${'ab'.repeat(32)}`,
  entityUuid: OWN,
  accessibleEntities: [OWN],
  scopes: ['threats:read'],
  justification: '',
  metadata: { a: 'é🦊' },
  createdAt: 1,
  createdBy: 'ada@acme.example é🦊',
  expiresAt: null,
  rotatedFrom: null,
  rootKeyId: '0e0e0e0e-0000-4000-8000-00000000000e',
  issuedUnder: null,
  trust: null,
  seal: 'cd'.repeat(32),
  revokedAt: null,
  suspendedAt: null,
  retireAt: null,
  withdrawn: [],
  endedBy: null,
  endReason: null,
  changedAt: null,
  lastUsedAt: null,
  scopesUsed: {},
};

/** More records like `record`, numbered in hexadecimal. */
export function numbered(record: KeyRecord): (number: number) => KeyRecord {
  return (number) => {
    const digits = number.toString(16).padStart(8, '0');
    const keyId = `${digits}-0000-4000-8000-000000000000`;
    return { ...record, keyId, rootKeyId: keyId, digest: `s1$${digits.repeat(8)}` };
  };
}
