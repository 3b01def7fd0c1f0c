/** Records without a pepper, which need no seal, and keyrings that accept them. */
import type { KeyRecord, KeyStore } from 'keyscope';
import { digestKey, generateKey } from 'keyscope';
import { type Ring, setUp } from './keyring.ts';
import { RECORD } from './records.ts';

let made = 0;

/** A key and its record, with a later creation time than the one before. */
export function unsealed(given: Partial<KeyRecord> = {}): {
  readonly key: string;
  readonly record: KeyRecord;
} {
  const key = generateKey({ prefix: 'acme' });
  const keyId = crypto.randomUUID();
  made += 1;
  const record: KeyRecord = {
    ...RECORD,
    keyId,
    rootKeyId: keyId,
    digest: digestKey(key),
    seal: null,
    createdAt: made,
    ...given,
  };
  return { key, record };
}

/** This many records of one entity. */
export function unsealedRecords(count: number): KeyRecord[] {
  return Array.from({ length: count }, () => unsealed().record);
}

/** A keyring over such records. */
export function unpeppered(store: KeyStore): Ring {
  return setUp({ store, peppers: 'none' }).keyring;
}
