/**
 * The fixture of a record with every kind of value, and of others like it. It imports no other
 * helper, so any test and any helper can use it.
 */
import type { KeyRecord } from 'keyscope';

/** The entity of {@link RECORD}, the same as in `keyring.ts` and `sqlite.ts`. */
const OWN = '0a0a0a0a-0000-4000-8000-00000000000a';

/** A minimal live key, with texts beyond ASCII and 16 bits. */
export const RECORD: KeyRecord = {
  format: 1,
  keyId: '0e0e0e0e-0000-4000-8000-00000000000e',
  prefix: 'acme',
  hint: 'KrPP',
  name: 'ci 🦊',
  digest: `s1$${'ab'.repeat(32)}`,
  entityId: OWN,
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

/** Makes records like `record`, numbered in hexadecimal. */
export function numbered(record: KeyRecord): (number: number) => KeyRecord {
  return (number) => {
    const digits = number.toString(16).padStart(8, '0');
    const keyId = `${digits}-0000-4000-8000-000000000000`;
    return { ...record, keyId, rootKeyId: keyId, digest: `s1$${digits.repeat(8)}` };
  };
}
