/** Stores full of keys, and the header values that a socket would hand over for them. */
import type { KeyRecord, KeyStore, ScopeOf } from 'keyscope';
import { defineScopes, digestKey, generateKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';

export const PREFIX = 'key';

export const catalog = defineScopes({
  threats: { read: 'List and read threats.', write: 'Update threats.' },
  interactions: { read: 'List and read interactions.' },
  decoys: {
    read: 'List and read decoys.',
    update: 'Update decoys.',
    delete: 'Decommission a decoy.',
  },
  reports: { read: 'Export the report.' },
});
/** What every key holds. */
export const SCOPES: readonly ScopeOf<typeof catalog>[] = [
  'threats:read',
  'threats:write',
  'interactions:read',
  'decoys:read',
];
/** What a request needs, and what no key holds. */
export const [NEEDED, LACKING] = ['threats:read', 'reports:read'] as const;
export const ENTITY = '0a0a0a0a-0000-4000-8000-00000000000a';
/** Every key expires, so that every check has to look at the clock. */
export const EXPIRES = Date.parse('2100-01-01');
export const PEPPERS = [
  { id: 'bench', secret: 'for the bench alone, and not random at all' },
] as const;

export const idOf = (index: number): string =>
  `${index.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;

/** A request's headers, as far as a check reads them. */
export type Headers = { readonly authorization: string };

/**
 * `Bearer …` values as bytes, all of one length. `headers` makes a string of its own on each call,
 * flat and one byte a character, as reading a socket does: a string that was used before has its
 * hash cached, and a look-up by it would look faster than it is.
 */
export class HeaderValues {
  readonly #bytes: Buffer;
  readonly #length: number;
  readonly count: number;

  constructor(keys: Iterable<string>, count: number) {
    const list = keys[Symbol.iterator]();
    const next = () => `Bearer ${list.next().value}`;
    const first = next();
    [this.#length, this.count] = [first.length, count];
    this.#bytes = Buffer.allocUnsafe(count * first.length);
    for (let i = 0, value = first; i < count; i++, value = i < count ? next() : '') {
      if (value.length !== this.#length)
        throw new Error(`keys of several lengths: ${value.length - 7} among them`);
      this.#bytes.write(value, i * this.#length, 'latin1');
    }
  }

  headers(index: number): Headers {
    return {
      authorization: this.#bytes.toString(
        'latin1',
        index * this.#length,
        (index + 1) * this.#length,
      ),
    };
  }

  key(index: number): string {
    return this.headers(index).authorization.slice(7);
  }
}

export function* newKeys(count: number): Generator<string> {
  for (let i = 0; i < count; i++) yield generateKey({ prefix: PREFIX });
}

/**
 * What `issue` would store for this key, without a pepper. Made here because a million of them take
 * a while.
 */
export function recordOf(index: number, key: string): KeyRecord {
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
    expiresAt: EXPIRES,
    revokedAt: null,
    retireAt: null,
    rotatedFrom: null,
    lastUsedAt: null,
    scopesUsed: {},
  };
}

/** A memory store with `count` keys, and the headers that carry them. */
export function fill(count: number): { readonly store: KeyStore; readonly values: HeaderValues } {
  const store = memoryStore();
  const values = new HeaderValues(newKeys(count), count);
  // The memory store answers at once.
  for (let i = 0; i < count; i++) void store.insert(recordOf(i, values.key(i)));
  return { store, values };
}
