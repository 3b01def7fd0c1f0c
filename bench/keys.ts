/** Stores full of keys, and the strings that a socket would hand over for them. */
import type { KeyRecord, KeyStore, ScopeOf } from 'keyscope';
import { defineScopes, digestKey, generateKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';

/** With this prefix a key has 36 bytes, as the floor's. */
export const PREFIX = 'key';
const LENGTH = PREFIX.length + 33;

export const catalog = defineScopes({
  threats: { read: 'List and read threats.', write: 'Update threats.' },
  interactions: { read: 'List and read interactions.' },
  decoys: { read: 'List and read decoys.', update: 'Update decoys.', delete: 'Decommission a decoy.' },
  reports: { read: 'Export the report.' },
});
export const SCOPES: readonly ScopeOf<typeof catalog>[] = [
  'threats:read',
  'threats:write',
  'interactions:read',
  'decoys:read',
];
export const ENTITY = '0a0a0a0a-0000-4000-8000-00000000000a';

export const idOf = (index: number): string => `${index.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;

/**
 * Keys as bytes. `text` makes a string of its own on each call, as reading a socket does: a string that was used
 * before has its hash cached, and a look-up by it would look faster than it is.
 */
export class KeyTexts {
  readonly #bytes: Buffer;
  readonly count: number;

  constructor(count: number) {
    this.count = count;
    this.#bytes = Buffer.allocUnsafe(count * LENGTH);
  }

  set(index: number, key: string): void {
    this.#bytes.write(key, index * LENGTH, 'latin1');
  }

  text(index: number): string {
    return this.#bytes.toString('latin1', index * LENGTH, (index + 1) * LENGTH);
  }
}

/** What `issue` would store for this key, without a pepper. Made here because a million of them take a while. */
function recordOf(index: number, key: string): KeyRecord {
  return {
    keyId: idOf(index),
    name: `integration ${index}`,
    digest: digestKey(key),
    seal: null,
    entityUuid: ENTITY,
    accessibleEntities: [ENTITY],
    scopes: SCOPES,
    justification: null,
    metadata: {},
    createdAt: 1_700_000_000_000 + index,
    expiresAt: null,
    revokedAt: null,
    retireAt: null,
    rotatedFrom: null,
    lastUsedAt: null,
    scopesUsed: {},
  };
}

/** A memory store with `count` keys, and their texts. */
export function fill(count: number): { readonly store: KeyStore; readonly keys: KeyTexts } {
  const store = memoryStore();
  const keys = new KeyTexts(count);
  for (let i = 0; i < count; i++) {
    const key = generateKey({ prefix: PREFIX });
    keys.set(i, key);
    // The memory store answers at once.
    void store.insert(recordOf(i, key));
  }
  return { store, keys };
}
