/** Records for the tests of the D1 store. */
import type { KeyRecord, Mark } from 'keyscope';
import { OTHER, OWN } from './keyring.ts';
import { RECORD as BASE, numbered } from './records.ts';

/** A row of two entities with every kind of value. */
export const RECORD: KeyRecord = { ...BASE, accessibleEntities: [OWN, OTHER] };

/** Makes records like it. */
export const another: (n: number) => KeyRecord = numbered(RECORD);

/** The listing that contains it. */
export const WHOSE = { prefix: 'acme', entityId: OWN, after: null, limit: 10 } as const;

/** Makes a revocation that gives the record another seal. */
export function revokeAt(at: number): Mark {
  return { kind: 'revoke', at, by: null, reason: null, seal: 'end' };
}

/** One mark of each kind, in an order in which the store writes all of them. */
export const MARKS: readonly Mark[] = [
  { kind: 'suspend', at: 1, by: 'a', reason: 'b' },
  { kind: 'resume', at: 2 },
  { kind: 'withdraw', at: 3, entityId: OTHER },
  { kind: 'retire', at: 4, retireAt: 4, by: 'c', reason: null, withdrawn: [OTHER] },
  revokeAt(5),
];
