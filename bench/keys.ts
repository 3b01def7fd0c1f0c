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
/** Every key holds these. */
export const SCOPES: readonly ScopeOf<typeof catalog>[] = [
  'threats:read',
  'threats:write',
  'interactions:read',
  'decoys:read',
];
/** A request needs this one. */
export const NEEDED = 'threats:read';
/** No key holds this one. */
export const LACKING = 'reports:read';
export const ENTITY = '0a0a0a0a-0000-4000-8000-00000000000a';
/** Every key expires, so that every check has to look at the clock. */
export const EXPIRES = Date.parse('2100-01-01');
/** When the first key was made. */
export const CREATED = 1_700_000_000_000;
export const PEPPERS = [
  { id: 'bench', secret: 'for the bench alone, and not random at all' },
] as const;

export function idOf(index: number): string {
  return `${index.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
}

/**
 * A request's headers, as far as a check reads them. A type and no interface: those may grow, and
 * are therefore no table of headers.
 */
export type Headers = { readonly authorization: string };

const SCHEME = 'Bearer ';

/**
 * `Bearer …` values as bytes, all of one length. `headers` makes a string of its own on each call,
 * flat and one byte a character, as reading a socket does: a string that was used before has its
 * hash cached, and a look-up by it would look faster than it is.
 */
export class HeaderValues {
  readonly #bytes: Buffer;
  readonly #length: number;
  readonly count: number;

  /** As many keys as `count` says, which may be made while they are read. */
  constructor(keys: Iterable<string>, count: number) {
    const lengths = new Set<number>();
    let bytes: Buffer = Buffer.alloc(0);
    let written = 0;
    for (const key of keys) {
      const value = `${SCHEME}${key}`;
      if (written === 0) bytes = Buffer.allocUnsafe(count * value.length);
      lengths.add(value.length);
      if (lengths.size > 1) throw new Error(`keys of several lengths: ${key.length} among them`);
      written += bytes.write(value, written, 'latin1');
    }
    this.#bytes = bytes;
    this.#length = bytes.length / count;
    this.count = count;
  }

  headers(index: number): Headers {
    const start = index * this.#length;
    return { authorization: this.#bytes.toString('latin1', start, start + this.#length) };
  }

  key(index: number): string {
    return this.headers(index).authorization.slice(SCHEME.length);
  }
}

/**
 * A credential that differs in one character, ten from the end: all of its bits count, in base64url
 * too.
 */
export function anotherKey(credential: string): string {
  return credential.replace(/.(?=.{9}$)/, (character) => (character === 'x' ? 'y' : 'x'));
}

export function* newKeys(count: number): Generator<string> {
  for (let i = 0; i < count; i++) yield generateKey({ prefix: PREFIX });
}

/** A record without anything special, of the key with this number. */
export function blankRecord(index: number, digest: string): KeyRecord {
  return {
    format: 1,
    keyId: idOf(index),
    prefix: PREFIX,
    hint: 'KrPP',
    name: 'integration',
    digest,
    entityId: ENTITY,
    accessibleEntities: [ENTITY],
    scopes: SCOPES,
    justification: null,
    metadata: {},
    createdAt: CREATED + index,
    createdBy: null,
    expiresAt: null,
    rotatedFrom: null,
    rootKeyId: idOf(index),
    issuedUnder: null,
    trust: null,
    seal: null,
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
}

/** The record that `issue` would store for this key without a pepper, made faster. */
export function recordOf(index: number, key: string): KeyRecord {
  const hint = key.slice(-4);
  return { ...blankRecord(index, digestKey(key)), hint, expiresAt: EXPIRES };
}

export interface FilledStore {
  readonly store: KeyStore;
  readonly values: HeaderValues;
}

/** A memory store with `count` keys, and the headers that carry them. */
export function fill(count: number): FilledStore {
  const store = memoryStore();
  const values = new HeaderValues(newKeys(count), count);
  // The memory store answers at once.
  for (let i = 0; i < count; i++) void store.insert(recordOf(i, values.key(i)));
  return { store, values };
}
