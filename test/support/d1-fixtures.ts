/** Records and keyrings for the tests of the D1 store. */
import type { KeyRecord } from 'keyscope';
import type { D1Client } from 'keyscope/stores/d1';
import { d1Store } from 'keyscope/stores/d1';
import { OTHER, OWN, type Ring, setUp } from './keyring.ts';
import { RECORD as BASE, numbered } from './records.ts';

/** A row with every kind of value, of two entities. */
export const RECORD: KeyRecord = { ...BASE, accessibleEntities: [OWN, OTHER] };

/** Others like it. */
export const another: (n: number) => KeyRecord = numbered(RECORD);

/** A keyring over a database. It waits longer than the default, so that no test fails by load. */
export function keyringOn(db: D1Client): Ring {
  return setUp({ store: d1Store(db), storeTimeoutMs: 60_000 }).keyring;
}
