/** The safeguards of management: ceilings, rotation, marks and visibility. */
import type { Safeguard } from './safeguard.ts';

const AUTHORITY = 'src/management/authority.ts';
const ISSUE = 'src/management/issue.ts';
const ROTATE = 'src/management/rotate.ts';
const FIND = 'src/management/find.ts';
const MARK = 'src/management/mark.ts';
const LINEAGE = 'src/management/lineage.ts';
const MINT = 'src/management/mint.ts';
const REVOKE = 'src/management/revoke.ts';
const WITHDRAW = 'src/management/withdraw.ts';
const LIST = 'src/management/list.ts';

/** The limits of an authority. */
const CEILINGS: readonly Safeguard[] = [
  {
    name: 'authority over scopes',
    file: AUTHORITY,
    text: '!isCovered(scope, held)',
    instead: 'false',
  },
  {
    name: 'authority over entities',
    file: AUTHORITY,
    text: '!allowed.has(entity)',
    instead: 'false',
  },
  {
    name: 'authority over lifetimes',
    file: AUTHORITY,
    text: '(key.expiresAt ?? Number.POSITIVE_INFINITY) > latest',
    instead: 'false',
  },
  {
    name: 'the keyring’s own limit of lifetimes',
    file: AUTHORITY,
    text: 'Math.min(authority.maxLifetimeMs, keyringLifetimeMs)',
    instead: 'authority.maxLifetimeMs',
  },
  {
    name: 'a key that never ends exceeds every limit',
    file: AUTHORITY,
    text: 'key.expiresAt ?? Number.POSITIVE_INFINITY',
    instead: 'key.expiresAt ?? 0',
  },
  {
    name: 'an undefined ceiling is refused',
    file: AUTHORITY,
    text: "Object.hasOwn(given, 'scopes') ? readScopes(given.scopes) : null",
    instead: 'given.scopes === undefined ? null : readScopes(given.scopes)',
  },
  {
    name: 'nobody grants a catalog by leaving something out',
    file: AUTHORITY,
    text: 'const { scopes } = checked;',
    instead: 'const scopes = checked.scopes ?? WHOLE_CATALOG;',
  },
  {
    name: 'no wildcard reaches reserved scopes',
    file: ISSUE,
    text: "assert(unnamed === '', instead);",
    instead: '',
  },
  {
    name: 'reserved scopes need a justification',
    file: ISSUE,
    text: 'reserved.length === 0 || justification !== null',
    instead: 'true',
  },
];

/** Rotation, which adds no rights, and of which only one wins a race. */
const ROTATION: readonly Safeguard[] = [
  {
    name: 'authority on rotation',
    file: ROTATE,
    text: '  requireCeiling(authority, draft, context.maxLifetimeMs);\n',
    instead: '',
  },
  {
    name: 'verification before rotation',
    file: ROTATE,
    text: '  await requireLive(context, old);\n',
    instead: '',
  },
  {
    name: 'the verification before rotation is waited for',
    file: ROTATE,
    text: '  await requireLive(context, old);\n',
    instead: '  void requireLive(context, old);\n',
  },
  {
    name: 'no scopes beyond the predecessor',
    file: ROTATE,
    text: "  requireSubset(scopes, old.scopes, 'scopes_beyond_predecessor');\n",
    instead: '',
  },
  {
    name: 'no entities beyond the predecessor',
    file: ROTATE,
    text: "  requireSubset(accessibleEntities, addressable, 'entities_beyond_predecessor');\n",
    instead: '',
  },
  {
    name: 'entities that withdrew are left behind',
    file: ROTATE,
    text: 'const addressable = addressableBy(old);',
    instead: 'const addressable = old.accessibleEntities;',
  },
  {
    name: 'scopes that left the catalog are left behind',
    file: ROTATE,
    text: 'old.scopes.filter((scope) => knownScopes.has(scope))',
    instead: '[...old.scopes]',
  },
  {
    name: 'scopes that became reserved need a justification',
    file: ROTATE,
    text: '  requireJustification(catalog, scopes, justification);\n',
    instead: '',
  },
  {
    name: 'the conditional write decides',
    file: ROTATE,
    text: 'if (!wrote)',
    instead: 'if (false)',
  },
  {
    name: 'a withdrawal meanwhile is a conflict',
    file: ROTATE,
    text: ', withdrawn: old.withdrawn }',
    instead: ' }',
  },
  {
    name: 'the loser of a race ends its own successor',
    file: ROTATE,
    text: '    await endRow(context, authority, record);\n',
    instead: '',
  },
];

/** Marks and their proofs. */
const MARKS: readonly Safeguard[] = [
  {
    name: 'a mark that was not written is reported',
    file: MARK,
    text: "throw new StoreError('store.mark broke its contract; see KeyStore');",
    instead: 'return null;',
  },
  {
    name: 'a revoked key is neither suspended nor resumed',
    file: MARK,
    text: '  if (revokedAt !== null) throw alreadyEnded(row.keyId);\n',
    instead: '',
  },
  {
    name: 'an ended key is not suspended',
    file: 'src/management/suspend.ts',
    text: '  if (ENDED.includes(readInfo(context, row).state)) throw alreadyEnded(keyId);\n',
    instead: '',
  },
  {
    name: 'an edited row is not sealed as revoked',
    file: REVOKE,
    text: "if (voucherOf(context, row) !== 'alive') return null;",
    instead: "if (voucherOf(context, row) === 'orphaned') return null;",
  },
  {
    name: 'a row that names another key is not taken for it',
    file: 'src/management/identify.ts',
    text: 'if (named?.digest !== row.digest) throw',
    instead: 'if (false) throw',
  },
  {
    name: 'a mark is only a claim',
    file: 'src/management/ended.ts',
    text: "return isGone || voucherOf(context, row) === 'revocation';",
    instead: 'return true;',
  },
  {
    name: 'a revocation replaces the seal that was read',
    file: REVOKE,
    text: "return { kind: 'revoke', at, ...said, seal, replaces };",
    instead: "return { kind: 'revoke', at, ...said, seal };",
  },
  {
    name: 'an orphaned revocation keeps who, when and why',
    file: REVOKE,
    text: "if (voucherOf(context, row) !== 'orphaned') return null;",
    instead: "if (voucherOf(context, row) !== 'revocation') return null;",
  },
  {
    name: 'an edited row leads to no other key',
    file: LINEAGE,
    text: 'isVouchedFor(context, row) ? row.rootKeyId : row.keyId;',
    instead: 'row.rootKeyId;',
  },
  {
    name: 'a key that was taken over leads to what came after',
    file: LINEAGE,
    text: 'rotatedFrom === null ? ALWAYS : createdAt;',
    instead: 'ALWAYS;',
  },
  {
    name: 'a possibly incomplete lineage is reported',
    file: LINEAGE,
    text: 'if (isKnown) return endRoots(walk);',
    instead: 'return endRoots(walk);',
  },
  {
    name: 'the issuing key is live',
    file: MINT,
    text: '  await requireLive(context, issuer);\n',
    instead: '',
  },
  {
    name: 'the issuing key is still live afterwards',
    file: MINT,
    text: '  await requireIssuerStill(context, authority, record);\n',
    instead: '',
  },
  {
    name: 'the issuing key belongs to the entity',
    file: MINT,
    text: 'if (row.entityUuid !== entityUuid) throw foreignKey();',
    instead: '',
  },
  {
    name: 'a key rotated under another belongs to its lineage',
    file: MINT,
    text: 'issuer?.rootKeyId ?? old?.issuedUnder ?? null;',
    instead: 'old?.issuedUnder ?? issuer?.rootKeyId ?? null;',
  },
  {
    name: 'a withdrawal reaches successors',
    file: 'src/management/withdraw.ts',
    text: '      await writeMark(context, authority, next, mark);\n',
    instead: '',
  },
  {
    name: 'a lineage is revoked until nothing is left',
    file: LINEAGE,
    text: 'if (left === 0) return Object',
    instead: 'return Object',
  },
  {
    name: 'a lineage has rows of one entity',
    file: LINEAGE,
    text: ' && entityUuid === authority.entityUuid,',
    instead: ',',
  },
  {
    name: 'a lineage has rows of one prefix',
    file: LINEAGE,
    text: 'prefix === own && ',
    instead: '',
  },
  {
    name: 'an entity withdraws only from a key that addresses it',
    file: WITHDRAW,
    text: '  if (!isIn(row.accessibleEntities, entityUuid)) throw foreignKey();\n',
    instead: '',
  },
  {
    name: 'an entity does not withdraw from its own key',
    file: WITHDRAW,
    text: 'if (row.entityUuid === entityUuid)',
    instead: 'if (false)',
  },
  {
    name: 'a key no longer addresses an entity that withdrew',
    file: 'src/core/record.ts',
    text: 'if (withdrawn.length === 0) return accessibleEntities;',
    instead: 'return accessibleEntities;',
  },
];

/** The visibility of keys. */
const SIGHT: readonly Safeguard[] = [
  {
    name: 'another entity’s key is not found',
    file: FIND,
    text: 'if (row.entityUuid !== authority.entityUuid) throw foreignKey();',
    instead: '',
  },
  {
    name: 'a key of another prefix is not found',
    file: FIND,
    text: 'if (row.prefix !== context.format.prefix) throw foreignKey();',
    instead: '',
  },
  {
    name: 'management bypasses the cache',
    file: FIND,
    text: 'findById(keyId, { fresh: true })',
    instead: 'findById(keyId)',
  },
  {
    name: 'edited rows are shown as such',
    file: FIND,
    text: 'scheme !== undefined && !isSealed(record, scheme)',
    instead: 'false',
  },
  {
    name: 'a list has keys of one entity',
    file: LIST,
    text: '(owner === entityUuid) !== addressing',
    instead: 'true',
  },
  {
    name: 'an addressed entity sees no other',
    file: LIST,
    text: 'info.accessibleEntities.filter(isAsking)',
    instead: 'info.accessibleEntities',
  },
  {
    name: 'an addressed entity sees no other that withdrew',
    file: LIST,
    text: 'info.withdrawn.filter(isAsking)',
    instead: 'info.withdrawn',
  },
  {
    name: 'an edited row hides no other',
    file: LIST,
    text: 'if (info.tampered)',
    instead: 'if (false)',
  },
  {
    name: 'identify bypasses the cache',
    file: 'src/management/identify.ts',
    text: 'findByDigest(digests, { fresh: true })',
    instead: 'findByDigest(digests, {})',
  },
  {
    name: 'refusals are reported',
    file: 'src/management/trail.ts',
    text: 'if (isAccessError(error)) {',
    instead: 'if (false && isAccessError(error)) {',
  },
];

export const MANAGEMENT: readonly Safeguard[] = [...CEILINGS, ...ROTATION, ...MARKS, ...SIGHT];
