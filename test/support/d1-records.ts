/** Records for the tests of the D1 store. */
import type { KeyRecord } from 'keyscope';
import { OTHER, OWN } from './keyring.ts';
import { RECORD as BASE, numbered } from './records.ts';

/** A row with every kind of value, of two entities. */
export const RECORD: KeyRecord = { ...BASE, accessibleEntities: [OWN, OTHER] };

/** Others like it. */
export const another: (n: number) => KeyRecord = numbered(RECORD);
