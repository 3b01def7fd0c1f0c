/**
 * Replaces a key with a successor that has the same rights or fewer. It needs no transaction and no
 * lock: it inserts the successor, retires the predecessor with one conditional write, and only then
 * returns the plaintext. A crash before that write leaves the predecessor unchanged and a successor
 * whose plaintext is lost. After a later crash, the predecessor works until its `retireAt`.
 */
import type { Context } from '../core/context.js';
import { readEntities } from '../core/entity.js';
import { AccessError, type DenialReason, isAccessError } from '../core/errors.js';
import {
  MAX_ENTITIES,
  readInput,
  readInputFields,
  readInteger,
  readStrings,
} from '../core/input.js';
import { addressableBy, type KeyRecord } from '../core/record.js';
import { isScope, MAX_SCOPES } from '../core/scope.js';
import { requireLive, requireRecord } from '../core/verify.js';
import { requireActing } from './acting.js';
import type { CheckedGrant } from './authority.js';
import { requireOwn } from './find.js';
import type { IssuedKey } from './info.js';
import { readExpiry, readJustification, readName, requireJustification } from './issue.js';
import { alreadyEnded } from './mark.js';
import { type Draft, mint } from './mint.js';
import { endRow } from './revoke.js';
import { tellGrant } from './trail.js';

/** The input of `rotate`. Omitted fields keep the predecessor's values. */
export interface RotateInput {
  /**
   * How long the old key still works, in milliseconds. 0 ends it immediately; the maximum is 365
   * days. Its own expiry still applies.
   */
  readonly overlapMs: number;
  /** When the successor expires. */
  readonly expiresAt?: Date | 'never' | undefined;
  /** The name: 1 to 100 characters after NFC, no control or invisible characters. */
  readonly name?: string | undefined;
  /** At most 256 concrete scopes, all of which the predecessor has. */
  readonly scopes?: readonly string[] | undefined;
  /** Entities in addition to the key's own, all of which the predecessor can address. */
  readonly accessibleEntities?: readonly string[] | undefined;
  /** Why the successor needs reserved scopes: 1 to 500 characters. */
  readonly justification?: string | undefined;
}

const INPUT = [
  'overlapMs',
  'expiresAt',
  'name',
  'scopes',
  'accessibleEntities',
  'justification',
] as const;

const MAX_OVERLAP_MS = 365 * 24 * 3_600_000;

export async function rotate(
  context: Context,
  authority: CheckedGrant,
  keyId: string,
  input: RotateInput,
): Promise<IssuedKey> {
  const given = readInputFields(input, INPUT, 'rotate');
  const time = context.clock();
  const overlapMs = readInput(given, 'overlapMs', (ms, what) =>
    readInteger(ms, 0, MAX_OVERLAP_MS, what),
  );
  const retireAt = time + overlapMs;
  const acting = await requireActing(context, authority);
  const old = await requirePredecessor(context, await requireOwn(context, authority, keyId));
  if (old.trust !== null) throw new AccessError('conflict', 'keyless', { keyId });
  // The caller gets the text of the successor, which may be a key with other rights than its own.
  if (acting !== null && acting.rootKeyId !== old.rootKeyId) {
    throw new AccessError('ceiling_exceeded', 'foreign_chain', { keyId });
  }
  // Already rotated and in its overlap. The write below would detect it too, but leave a revoked
  // successor behind.
  if (old.retireAt !== null) throw alreadyEnded(keyId);
  const draft = readSuccessor(context, old, given, time);

  const { issued, record } = await mint(context, authority, draft, acting, old);
  const mark = {
    kind: 'retire',
    at: time,
    retireAt,
    withdrawn: old.withdrawn,
    ...authority.said,
  } as const;
  const wrote = await context.store.mark(keyId, mark);
  if (!wrote) {
    // Another call was faster. Nobody has the successor's plaintext, so end the successor.
    await endRow(context, authority, record);
    throw alreadyEnded(keyId);
  }
  tellGrant(context, authority, record, { type: 'key.rotated', rotatedFrom: keyId, retireAt });
  return issued;
}

/**
 * Runs the steps of `verify`: do not rotate a key that would not authenticate, and do not seal a
 * tampered row again. A refusal is a `conflict`, because the caller's own credential is valid.
 */
async function requirePredecessor(context: Context, row: KeyRecord): Promise<KeyRecord> {
  try {
    const old = await requireRecord(row);
    await requireLive(context, old);
    return old;
  } catch (error) {
    if (!isAccessError(error)) throw error;
    throw new AccessError('conflict', error.reason, { keyId: error.keyId });
  }
}

type Fields = { readonly [F in (typeof INPUT)[number]]?: unknown };

/**
 * Reads the successor. Omitted fields come from the predecessor, and nothing can be wider. Scopes
 * that left the catalog and entities that withdrew are dropped.
 */
function readSuccessor(context: Context, old: KeyRecord, given: Fields, time: number): Draft {
  const { catalog, knownScopes } = context;
  const known = Object.freeze(old.scopes.filter((scope) => knownScopes.has(scope)));
  const scopes = readOr(given, 'scopes', known, (list, what) =>
    catalog.expand(readStrings(list, what, CONCRETE)),
  );
  requireSubset(scopes, old.scopes, 'scopes_beyond_predecessor');

  const addressable = addressableBy(old);
  const accessibleEntities = readOr(given, 'accessibleEntities', addressable, (others, what) =>
    readEntities(context.entityKind, old.entityId, others, what, MAX_ENTITIES),
  );
  requireSubset(accessibleEntities, addressable, 'entities_beyond_predecessor');

  const justification = readOr(given, 'justification', old.justification, readJustification);
  requireJustification(catalog, scopes, justification);
  return {
    name: readOr(given, 'name', old.name, readName),
    accessibleEntities,
    scopes,
    justification,
    metadata: old.metadata,
    createdAt: time,
    expiresAt: readOr(given, 'expiresAt', old.expiresAt, (date) => readExpiry(date, time)),
    issuedUnder: old.issuedUnder,
    trust: null,
  };
}

const CONCRETE = {
  holds: isScope,
  instead: 'name concrete scopes, resource:action',
  most: MAX_SCOPES,
};

/** Reads a field of the input, or returns the inherited value if it is absent. */
function readOr<T>(
  given: Fields,
  field: keyof Fields,
  inherited: T,
  read: (value: unknown, what: string) => T,
): T {
  return given[field] === undefined ? inherited : readInput(given, field, read);
}

function requireSubset(
  asked: readonly string[],
  held: readonly string[],
  reason: DenialReason,
): void {
  const excess = asked.filter((element) => !held.includes(element));
  if (excess.length > 0) throw new AccessError('ceiling_exceeded', reason, { excess });
}
