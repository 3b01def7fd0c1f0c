/**
 * What the contract itself costs: the promises of a keyring over the memory store without a pepper,
 * kept by hand in one module without seams. It says what is ours to save. One header; shape and
 * checksum before any hash; the digest of its scheme; one look-up; the digest compared again; the
 * record checked once, and no seal on it; marks and clock on every request; scope and entity; usage
 * noted; one frozen principal for each record, which nobody can make by hand.
 *
 * What it does without is what a library is for: another store, another framework's request,
 * tokens, events, more than one scheme, and an error that says what to do.
 */
import { hash } from 'node:crypto';
import type { KeyRecord } from 'keyscope';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BEARER = 'Bearer ';
const SECRET = 32;
const CHECKSUM = 6;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The CRC-32 of each byte. */
const TABLE = new Int32Array(256);
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  TABLE[byte] = crc;
}

/** Character code → value; 255 for what is no digit. */
const DIGITS = new Uint8Array(128).fill(255);
for (let value = 0; value < ALPHABET.length; value++) DIGITS[ALPHABET.charCodeAt(value)] = value;

export class FloorError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

export interface FloorPrincipal {
  readonly keyId: string;
  readonly name: string;
  readonly entityUuid: string;
  readonly accessibleEntities: readonly string[];
  readonly scopes: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly expiresAt: number | null;
}

/** A record, and what was found out about it when it was first looked up. */
interface Entry {
  readonly record: KeyRecord;
  checked: { readonly principal: FloorPrincipal; readonly held: ReadonlySet<string> } | null;
}

interface Note {
  lastUsedAt: number;
  readonly scopesUsed: Record<string, number>;
}

/** So far may what is stored be behind, in milliseconds. */
const GRANULARITY = 60_000;

export class ContractFloor {
  readonly #entries = new Map<string, Entry>();
  readonly #granted = new WeakMap<FloorPrincipal, ReadonlySet<string>>();
  readonly #notes = new Map<string, Note>();
  readonly #head: string;
  readonly #prefix: string;

  constructor(prefix: string, records: Iterable<KeyRecord>) {
    this.#prefix = prefix;
    this.#head = `${prefix}_`;
    for (const record of records) {
      this.#entries.set(record.digest, { record: Object.freeze(record), checked: null });
    }
  }

  /** From the value of a header to its principal. */
  async authenticate(authorization: unknown): Promise<FloorPrincipal> {
    return this.#verify(this.#keyIn(authorization));
  }

  /** From Node's raw header lines to an operation on an entity. */
  async admit(
    rawHeaders: readonly string[],
    needed: readonly string[],
    asked?: string,
  ): Promise<{ readonly principal: FloorPrincipal; readonly entityUuid: string }> {
    let authorization: string | undefined;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] ?? '';
      if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue;
      if (authorization !== undefined) throw new FloorError('invalid_request');
      authorization = rawHeaders[index + 1];
    }
    const principal = this.#verify(this.#keyIn(authorization));
    this.requireScopes(principal, needed);
    const entityUuid = asked ?? principal.entityUuid;
    if (!principal.accessibleEntities.includes(entityUuid)) {
      throw new FloorError(UUID.test(entityUuid) ? 'entity_forbidden' : 'invalid_request');
    }
    this.#note(principal.keyId, needed);
    return { principal, entityUuid };
  }

  requireScopes(principal: FloorPrincipal, needed: readonly string[]): void {
    const held = this.#granted.get(principal);
    if (held === undefined) throw new TypeError('pass a principal that this has made');
    for (const scope of needed) if (!held.has(scope)) throw new FloorError('insufficient_scope');
  }

  #keyIn(authorization: unknown): string {
    if (authorization === undefined) throw new FloorError('missing_credentials');
    const head = this.#head;
    const start = BEARER.length;
    const isKey =
      typeof authorization === 'string' &&
      authorization.length === start + head.length + SECRET &&
      authorization.startsWith(BEARER) &&
      authorization.startsWith(head, start);
    if (!isKey) throw new FloorError('invalid_token');
    const key = authorization.slice(start);
    let crc = -1;
    let checksum = 0;
    const end = key.length - CHECKSUM;
    for (let index = 0; index < key.length; index++) {
      const code = key.charCodeAt(index);
      const digit = DIGITS[code] ?? 255;
      if (digit === 255 && index >= head.length) throw new FloorError('invalid_token');
      if (index < end) crc = (crc >>> 8) ^ (TABLE[(crc ^ code) & 255] as number);
      else checksum = checksum * 62 + digit;
    }
    if (checksum !== ~crc >>> 0) throw new FloorError('invalid_token');
    return key;
  }

  #verify(key: string): FloorPrincipal {
    const digest = ['s1$', hash('sha256', key, 'hex')].join('');
    const entry = this.#entries.get(digest);
    if (entry === undefined || entry.record.digest !== digest)
      throw new FloorError('invalid_token');
    const { record } = entry;
    entry.checked ??= this.#check(record);
    const { revokedAt, suspendedAt, retireAt, expiresAt } = record;
    const now = Date.now();
    const isEnded =
      revokedAt !== null ||
      suspendedAt !== null ||
      (retireAt !== null && now >= retireAt) ||
      (expiresAt !== null && now >= expiresAt);
    if (isEnded) throw new FloorError('invalid_token');
    return entry.checked.principal;
  }

  /** What the seal, the format and the prefix say of a record, once. */
  #check(record: KeyRecord): NonNullable<Entry['checked']> {
    const { format, prefix, seal, keyId, name, entityUuid, scopes, metadata, expiresAt } = record;
    if (format !== 1 || prefix !== this.#prefix || seal !== null) {
      throw new FloorError('invalid_token');
    }
    const accessibleEntities = Object.freeze([...record.accessibleEntities]);
    const lists = { accessibleEntities, scopes: Object.freeze([...scopes]), metadata };
    const principal = Object.freeze({ keyId, name, entityUuid, ...lists, expiresAt });
    const held = new Set(scopes);
    this.#granted.set(principal, held);
    return { principal, held };
  }

  #note(keyId: string, scopes: readonly string[]): void {
    const now = Date.now();
    let note = this.#notes.get(keyId);
    if (note === undefined) {
      note = { lastUsedAt: now, scopesUsed: {} };
      this.#notes.set(keyId, note);
    }
    if (now - note.lastUsedAt > GRANULARITY) note.lastUsedAt = now;
    for (const scope of scopes) note.scopesUsed[scope] = now;
  }
}
