/** Fixtures of the tests of lineages: chains of rotations, and keys that issue other keys. */
import type { KeyRecord, KeyStore } from 'keyscope';
import { AUTHORITY, HOUR, issue, OTHER, OWN, PLAIN, type Ring, START } from './keyring.ts';
import { keysOf } from './managing.ts';
import { RECORD } from './records.ts';

/** A person who ends keys, with a reason. */
export const EVE = { ...AUTHORITY, actor: 'eve', reason: 'found on GitHub' } as const;

/** The widest authority of a person. */
export const GRANT = { ...AUTHORITY, entities: [OTHER] } as const;

export const OVERLAP = { overlapMs: HOUR } as const;

/** The widest authority of a call that this key makes. */
export const under = (keyId: string) => ({ ...GRANT, keyId });

/** A key's text and id. */
export interface Made {
  readonly key: string;
  readonly keyId: string;
}

/** Makes a chain of keys, each rotated from the previous one. All are live in their overlaps. */
export async function chain(keyring: Ring, length: number): Promise<readonly Made[]> {
  const keys = [await issue(keyring)];
  while (keys.length < length) {
    const { info } = keys.at(-1) as (typeof keys)[number];
    keys.push(await keyring.rotate(info.keyId, OVERLAP, AUTHORITY));
  }
  return keys.map(({ key, info }) => ({ key, keyId: info.keyId }));
}

/** Makes a chain, and returns the ids of its keys. */
export async function idsOfChain(keyring: Ring, length: number): Promise<string[]> {
  const keys = await chain(keyring, length);
  return keys.map(({ keyId }) => keyId);
}

/** Makes a key under another one, and returns its id. */
export async function issueUnder(keyring: Ring, keyId: string): Promise<string> {
  const { info } = await keyring.issue(PLAIN, under(keyId));
  return info.keyId;
}

/** Rotates a key as a person does, and returns the id of its successor. */
export async function rotated(keyring: Ring, keyId: string): Promise<string> {
  const { info } = await keyring.rotate(keyId, OVERLAP, GRANT);
  return info.keyId;
}

/** Returns the ids of the keys of the entity that are not marked as revoked, sorted. */
export async function leftIn(store: KeyStore, entityId: string = OWN): Promise<string[]> {
  const rows = await keysOf(store, entityId);
  const left = rows.filter(({ revokedAt }) => revokedAt === null);
  return left.map(({ keyId }) => keyId).sort();
}

let made = 0;

/** Makes a row that no keyring made, and whose seal is missing. */
export function injected(over: Partial<KeyRecord>): KeyRecord {
  made += 1;
  const keyId = crypto.randomUUID();
  const digest = `s1$${made.toString(16).padStart(64, '0')}`;
  return { ...RECORD, keyId, digest, seal: null, createdAt: START, ...over };
}
