/** Rows for the tests of stores: one with every kind of value, and as many more as wanted. */
import type { KeyRecord } from 'keyscope';
import { OWN } from './sqlite.ts';

export const RECORD: KeyRecord = {
  keyId: '0e0e0e0e-0000-4000-8000-00000000000e',
  name: 'ci 🦊',
  digest: `s1$${'ab'.repeat(32)}`,
  seal: 'cd'.repeat(32),
  entityUuid: OWN,
  accessibleEntities: [OWN],
  scopes: ['threats:read'],
  justification: '',
  metadata: { a: 'é🦊' },
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
  retireAt: null,
  rotatedFrom: null,
  lastUsedAt: null,
  scopesUsed: {},
};

/** Others like `record`, numbered in hexadecimal. */
export const numbered =
  (record: KeyRecord) =>
  (n: number): KeyRecord => {
    const digits = n.toString(16).padStart(8, '0');
    return {
      ...record,
      keyId: `${digits}-0000-4000-8000-000000000000`,
      digest: `s1$${digits.repeat(8)}`,
    };
  };
