/** Makes keys: first checks the input, which may come from a request, then the authority. */
import { type CheckedAuthority, requireCeiling } from './authority.js';
import { encoder } from './bytes.js';
import type { Catalog } from './catalog.js';
import type { Context } from './context.js';
import type { IssuedKey } from './info.js';
import {
  assert,
  isObject,
  MAX_ENTITIES,
  readEntities,
  readExpiry,
  readFields,
  readStrings,
  readText,
} from './input.js';
import { type Draft, mint } from './mint.js';
import { frozenCopy, isTextTable } from './record.js';
import { MAX_SCOPES } from './scope.js';

/** What may come from a request. `keyscope/schemas` reads it from JSON. */
export interface IssueInput<Pattern extends string = string> {
  /** 1 to 100 characters after NFC, no control characters. */
  readonly name: string;
  /**
   * Scopes, or wildcards that match no reserved scope; expanded now. An empty list allows only what
   * needs no scope.
   */
  readonly scopes: readonly Pattern[];
  readonly expiresAt: Date | 'never';
  /** In addition to the authority's own entity, which is always included; at most 1,000 with it. */
  readonly accessibleEntities?: readonly string[] | undefined;
  /** Why reserved scopes are needed: 1 to 500 characters, kept on the record. */
  readonly justification?: string | undefined;
  /**
   * At most 16 string pairs and 2 KiB, without NUL; in names no quote, backslash or control
   * character.
   */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

const INPUT = [
  'name',
  'scopes',
  'expiresAt',
  'accessibleEntities',
  'justification',
  'metadata',
] as const;

type Fields = { readonly [F in (typeof INPUT)[number]]?: unknown };

export async function issue(
  context: Context,
  authority: CheckedAuthority,
  input: IssueInput,
): Promise<IssuedKey> {
  const given = readFields(input, INPUT, 'issue');
  const time = context.clock();
  const draft = readDraft(context.catalog, authority.entityUuid, time, given);
  requireCeiling(authority, draft);
  const issued = await mint(context, draft);
  const { keyId, entityUuid } = issued.info;
  context.emit?.({ type: 'key.issued', time, keyId, entityUuid });
  return issued;
}

function readDraft(catalog: Catalog, entityUuid: string, time: number, given: Fields): Draft {
  const { accessibleEntities: others, justification, metadata = {} } = given;
  return {
    name: readText(given.name, 100, 'name'),
    entityUuid,
    accessibleEntities: readEntities(entityUuid, others, 'accessibleEntities', MAX_ENTITIES),
    scopes: readGrant(catalog, given.scopes, justification !== undefined),
    justification:
      justification === undefined ? null : readText(justification, 500, 'justification'),
    metadata: readMetadata(metadata),
    createdAt: time,
    expiresAt: readExpiry(given.expiresAt, time),
    rotatedFrom: null,
  };
}

/** Expands patterns once and for all: a scope added to the catalog later widens no existing key. */
function readGrant(catalog: Catalog, input: unknown, isJustified: boolean): readonly string[] {
  const patterns = readStrings(input, 'scopes');
  assert(patterns.length <= MAX_SCOPES, `scopes: at most ${MAX_SCOPES} of them`);
  const scopes = catalog.expand(patterns);
  const { length } = scopes;
  assert(length <= MAX_SCOPES, `scopes: at most ${MAX_SCOPES} after expansion, not ${length}`);
  const reserved = scopes.filter((scope) => catalog.isReserved(scope));
  const unnamed = reserved.filter((scope) => !patterns.includes(scope)).join(' ');
  const instead = `scopes: a wildcard grants no reserved scope; name ${unnamed} or narrow it`;
  assert(unnamed === '', instead);
  const needsReason = reserved.length > 0 && !isJustified;
  assert(!needsReason, `justification: say why ${reserved.join(' ')} is needed`);
  return scopes;
}

const MAX_METADATA_PAIRS = 16;
const MAX_METADATA_BYTES = 2048;

/** Reads at most 16 pairs and 2 KiB, names and values together in UTF-8. */
function readMetadata(value: unknown): Readonly<Record<string, string>> {
  // Counted before copying: 100,000 pairs took 0.3 s.
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
    // V8 13.6 (Node 24) reads back names that JSON escapes as one another.
    !/["\\\p{Cc}]/u.test(names);
  const isSound = isPlain && encoder.encode(all).length <= MAX_METADATA_BYTES;
  const instead = 'no NUL; no quote, backslash or control in names';
  assert(isSound, `metadata: at most ${MAX_METADATA_BYTES} bytes, ${instead}`);
  return table;
}
