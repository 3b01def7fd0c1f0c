/** Makes keys: checks first what may come from a request, then whether the authority covers it. */
import { type CheckedAuthority, type Context, mint, requireCeiling } from './context.js';
import {
  assert,
  MAX_ENTITIES,
  readEntities,
  readExpiry,
  readFields,
  readStrings,
  readText,
} from './input.js';
import { type IssuedKey, readMetadata } from './record.js';
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

export async function issue(
  context: Context,
  by: CheckedAuthority,
  input: IssueInput,
): Promise<IssuedKey> {
  const {
    name,
    scopes,
    expiresAt,
    accessibleEntities,
    justification,
    metadata = {},
  } = readFields(input, INPUT, 'issue');
  const time = context.clock();
  const draft = {
    name: readText(name, 100, 'name'),
    accessibleEntities: readEntities(
      by.entityUuid,
      accessibleEntities,
      'accessibleEntities',
      MAX_ENTITIES,
    ),
    scopes: grant(context, readStrings(scopes, 'scopes'), justification !== undefined),
    justification:
      justification === undefined ? null : readText(justification, 500, 'justification'),
    metadata: readMetadata(metadata),
    expiresAt: readExpiry(expiresAt, time),
  };
  requireCeiling(by, draft);
  const issued = await mint(context, {
    ...draft,
    entityUuid: by.entityUuid,
    createdAt: time,
    rotatedFrom: null,
  });
  context.emit?.({ type: 'key.issued', time, keyId: issued.info.keyId, entityUuid: by.entityUuid });
  return issued;
}

/** Expands patterns once and for all: a scope added to the catalog later widens no existing key. */
function grant(
  { catalog }: Context,
  patterns: readonly string[],
  justified: boolean,
): readonly string[] {
  assert(patterns.length <= MAX_SCOPES, `scopes: at most ${MAX_SCOPES} of them`);
  const scopes = catalog.expand(patterns);
  assert(
    scopes.length <= MAX_SCOPES,
    `scopes: at most ${MAX_SCOPES} after expansion, not ${scopes.length}`,
  );
  const reserved = scopes.filter((scope) => catalog.isReserved(scope));
  const caught = reserved.filter((scope) => !patterns.includes(scope));
  assert(
    caught.length === 0,
    `scopes: a wildcard grants no reserved scope; name ${caught.join(' ')} or narrow it`,
  );
  assert(
    reserved.length === 0 || justified,
    `justification: say why ${reserved.join(' ')} is needed`,
  );
  return scopes;
}
