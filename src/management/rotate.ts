/**
 * Replaces a key by a successor with the same rights or fewer. No transaction and no lock: insert
 * the successor, retire the predecessor with one conditional write, and only then return the
 * plaintext. A crash before that write leaves the predecessor unchanged, and a successor whose
 * plaintext is lost. After a crash that follows it, the predecessor works until its `retireAt`.
 */
import type { Context } from '../core/context.js';
import { AccessError, type DenialReason } from '../core/errors.js';
import {
  MAX_ENTITIES,
  readEntities,
  readExpiry,
  readInput,
  readInputFields,
  readInteger,
  readStrings,
} from '../core/input.js';
import { addressableBy, type KeyRecord } from '../core/record.js';
import { isScope, MAX_SCOPES } from '../core/scope.js';
import { requireLive, requireRecord } from '../core/verify.js';
import { type CheckedGrant, requireCeiling } from './authority.js';
import { requireOwn } from './find.js';
import type { IssuedKey } from './info.js';
import { readJustification, readName, requireJustification } from './issue.js';
import { alreadyEnded } from './mark.js';
import { type Draft, mint } from './mint.js';
import { endRow } from './revoke.js';
import { tellGrant } from './trail.js';

/** How to rotate. Whatever is left out is the predecessor's. */
export interface RotateInput {
  /**
   * How long the old key still works, in milliseconds; 0 ends it at once, the maximum is a year
   * (365 days), and its own expiry still applies.
   */
  readonly overlapMs: number;
  /** When the successor ends by itself. */
  readonly expiresAt?: Date | 'never' | undefined;
  /** 1 to 100 characters after NFC, no control or invisible characters. */
  readonly name?: string | undefined;
  /** Concrete, at most 256, and only such as the predecessor has. */
  readonly scopes?: readonly string[] | undefined;
  /** In addition to the own entity, and only such as the predecessor can address. */
  readonly accessibleEntities?: readonly string[] | undefined;
  /** Why reserved scopes are kept: 1 to 500 characters. */
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
  const readOverlap = (ms: unknown, what: string) => readInteger(ms, 0, MAX_OVERLAP_MS, what);
  const retireAt = time + readInput(given, 'overlapMs', readOverlap);
  const old = await requireRecord(await requireOwn(context, authority, keyId));
  // Steps of `verify`: a key that would not authenticate is not rotated, and a tampered row is not
  // sealed again.
  await requireLive(context, old);
  if (old.trust !== null) throw new AccessError('conflict', 'keyless', { keyId });
  const draft = readSuccessor(context, old, given, time);
  requireCeiling(authority, draft, context.maxLifetimeMs);
  // Already rotated and in its overlap: the write would detect it too, but leave a revoked
  // successor behind.
  if (old.retireAt !== null) throw alreadyEnded(keyId);

  const { issued, record } = await mint(context, authority, draft, old);
  const { withdrawn } = old;
  const times = { at: retireAt, changedAt: time };
  const mark = { kind: 'retire', ...times, ...authority.said, withdrawn } as const;
  const wrote = await context.store.mark(keyId, mark);
  if (!wrote) {
    // Another call was faster. Nobody has the successor's plaintext, so end the successor.
    await endRow(context, authority, record);
    throw alreadyEnded(keyId);
  }
  tellGrant(context, authority, record, { type: 'key.rotated', rotatedFrom: keyId, retireAt });
  return issued;
}

type Fields = { readonly [F in (typeof INPUT)[number]]?: unknown };

/**
 * The successor: what was not asked for is the predecessor's, and nothing is wider. Scopes that
 * left the catalog and entities that withdrew are left behind.
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
    readEntities(old.entityUuid, others, what, MAX_ENTITIES),
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
  };
}

const CONCRETE = {
  holds: isScope,
  instead: 'name concrete scopes, resource:action',
  most: MAX_SCOPES,
};

/** Reads a field of the input; if it is absent, returns what is inherited. */
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
