/** Makes keys. Checks the input first, which may come from a request, then the authority. */
import { encoder } from '../core/bytes.js';
import type { Catalog } from '../core/catalog.js';
import type { Context } from '../core/context.js';
import { readEntities } from '../core/entity.js';
import { AccessError, InputError } from '../core/errors.js';
import {
  ANY_TEXT,
  assert,
  isObject,
  MAX_ENTITIES,
  readInput,
  readInputFields,
  readStrings,
  readText,
} from '../core/input.js';
import { frozenCopy, isTextTable } from '../core/record.js';
import { MAX_SCOPES } from '../core/scope.js';
import { timeOf } from '../core/times.js';
import { requireActing } from './acting.js';
import type { CheckedGrant } from './authority.js';
import type { IssuedKey } from './info.js';
import { type Draft, type Minted, mint } from './mint.js';
import { tellGrant } from './trail.js';

/** The input of `issue`, which may come from a request. `keyscope/schemas` reads it from JSON. */
export interface IssueInput<Pattern extends string = string> {
  /** The name: 1 to 100 characters after NFC, no control or invisible characters, no API key. */
  readonly name: string;
  /**
   * At most 256 scopes, or wildcards that match no reserved scope. `issue` expands them, to at most
   * 256. A key with an empty list can only do what needs no scope.
   */
  readonly scopes: readonly Pattern[];
  readonly expiresAt: Date | 'never';
  /**
   * Entities in addition to the authority's own, which is always included. At most 1,000 in all.
   */
  readonly accessibleEntities?: readonly string[] | undefined;
  /** Why the key needs reserved scopes: 1 to 500 characters, stored on the record. */
  readonly justification?: string | undefined;
  /**
   * At most 16 string pairs and 2 KiB, without NUL. Names must not contain quotes, backslashes or
   * control characters.
   */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** The fields of the input. */
export const ISSUE_FIELDS = [
  'name',
  'scopes',
  'expiresAt',
  'accessibleEntities',
  'justification',
  'metadata',
] as const;

type Fields = { readonly [F in (typeof ISSUE_FIELDS)[number]]?: unknown };

export async function issue(
  context: Context,
  authority: CheckedGrant,
  input: IssueInput,
): Promise<IssuedKey> {
  const given = readInputFields(input, ISSUE_FIELDS, 'issue');
  const { issued } = await issueTrusting(context, authority, given, null);
  return issued;
}

/** Makes a key. If `trust` is not null, nobody needs its text. */
export async function issueTrusting(
  context: Context,
  authority: CheckedGrant,
  given: Fields,
  trust: string | null,
): Promise<Minted> {
  const time = context.clock();
  const draft = readDraft(context, authority.entityId, time, given);
  const acting = await requireActing(context, authority);
  // Only one level: what a key issued issues nothing, so a lineage is one page of one index.
  if (typeof acting?.issuedUnder === 'string') {
    throw new AccessError('ceiling_exceeded', 'issued_by_key', { keyId: acting.keyId });
  }
  const issuedUnder = acting?.rootKeyId ?? null;
  const minted = await mint(context, authority, { ...draft, issuedUnder, trust }, acting, null);
  tellGrant(context, authority, minted.record, { type: 'key.issued' });
  return minted;
}

function readDraft(
  { catalog, entityKind }: Context,
  entityId: string,
  time: number,
  given: Fields,
): Omit<Draft, 'issuedUnder' | 'trust'> {
  const name = readInput(given, 'name', readName);
  const scopes = readInput(given, 'scopes', (patterns) => expandGrant(catalog, patterns));
  const justification = readInput(given, 'justification', readJustification);
  requireJustification(catalog, scopes, justification);
  return {
    name,
    accessibleEntities: readInput(given, 'accessibleEntities', (others, what) =>
      readEntities(entityKind, entityId, others, what, MAX_ENTITIES),
    ),
    scopes,
    justification,
    metadata: readInput(given, 'metadata', readMetadata),
    createdAt: time,
    expiresAt: readInput(given, 'expiresAt', (date) => readExpiry(date, time)),
  };
}

export function readName(value: unknown, what: string): string {
  return readText(value, 100, what);
}

/** Reads the justification; null if not given. */
export function readJustification(value: unknown, what: string): string | null {
  return value === undefined ? null : readText(value, 500, what);
}

/** Reads an expiry. A valid `Date` after `now` becomes milliseconds; `'never'` becomes null. */
export function readExpiry(value: unknown, now: number): number | null {
  const instead = "expiresAt: pass a valid Date in the future, or 'never'";
  if (value === 'never') return null;
  const time = timeOf(value);
  // NaN is not later than anything.
  assert(time > now, instead);
  return time;
}

/** Throws if there are reserved scopes without a justification. */
export function requireJustification(
  catalog: Catalog,
  scopes: readonly string[],
  justification: string | null,
): void {
  const reserved = scopes.filter((scope) => catalog.isReserved(scope));
  if (reserved.length === 0 || justification !== null) return;
  const problem = `justification: say why the key needs ${reserved.join(' ')}`;
  throw new InputError('justification', problem);
}

/** Expands patterns for good: a scope that is added to the catalog later widens no existing key. */
function expandGrant(catalog: Catalog, input: unknown): readonly string[] {
  const patterns = readStrings(input, 'scopes', { ...ANY_TEXT, most: MAX_SCOPES });
  const scopes = catalog.expand(patterns);
  assert(scopes.length <= MAX_SCOPES, `scopes: at most ${MAX_SCOPES} after expanding wildcards`);
  const isUnnamed = (scope: string) => catalog.isReserved(scope) && !patterns.includes(scope);
  const unnamed = scopes.filter(isUnnamed).join(' ');
  const instead = `scopes: wildcards cannot grant reserved scopes; name ${unnamed} or narrow them`;
  assert(unnamed === '', instead);
  return scopes;
}

const MAX_METADATA_PAIRS = 16;
const MAX_METADATA_BYTES = 2048;

/** Reads at most 16 pairs and 2 KiB, names and values together in UTF-8. */
function readMetadata(value: unknown = {}): Readonly<Record<string, string>> {
  // Counted before copying, because 100,000 pairs took 0.3 s.
  const isShort = isObject(value) && Object.keys(value).length <= MAX_METADATA_PAIRS;
  const table = isShort ? frozenCopy(value) : null;
  assert(
    isTextTable(table),
    `metadata: pass an object of at most ${MAX_METADATA_PAIRS} well-formed strings`,
  );
  const names = Object.keys(table).join('');
  const all = names + Object.values(table).join('');
  const isPlain =
    // PostgreSQL's text cannot hold NUL.
    !all.includes('\0') &&
    // V8 13.6 (Node 24) confuses names that JSON escapes when it parses them.
    !/["\\\p{Cc}]/u.test(names);
  const isSound = isPlain && encoder.encode(all).length <= MAX_METADATA_BYTES;
  const instead = 'no NUL; no quotes, backslashes or control characters in names';
  assert(isSound, `metadata: at most ${MAX_METADATA_BYTES} bytes, ${instead}`);
  return table;
}
