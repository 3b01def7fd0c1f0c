/** The safeguards of management: what it grants, to whom, what ends a key, and who sees it. */
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

/** The rights that may be granted. */
const CEILINGS: readonly Safeguard[] = [
  {
    name: 'limits scopes by the authority',
    file: AUTHORITY,
    text: '!isCovered(scope, held)',
    instead: 'false',
  },
  {
    name: 'limits entities by the authority',
    file: AUTHORITY,
    text: '!allowed.has(entity)',
    instead: 'false',
  },
  {
    name: 'limits lifetimes by the authority',
    file: AUTHORITY,
    text: 'limits.some((limit) => livesBeyond(key, limit))',
    instead: 'false',
  },
  {
    name: 'applies the keyring’s own limit of lifetimes',
    file: AUTHORITY,
    text: '[authority.maxLifetimeMs, keyringLifetimeMs]',
    instead: '[authority.maxLifetimeMs]',
  },
  {
    name: 'a key that never ends exceeds every limit',
    file: AUTHORITY,
    text: 'return expiresAt === null || ',
    instead: 'return expiresAt !== null && ',
  },
  {
    name: 'rejects an undefined limit',
    file: AUTHORITY,
    text: "Object.hasOwn(given, 'scopes') ? readScopes(given.scopes) : null",
    instead: 'given.scopes === undefined ? null : readScopes(given.scopes)',
  },
  {
    name: 'leaving out a field never grants a whole catalog',
    file: AUTHORITY,
    text: 'const { scopes } = checked;',
    instead: 'const scopes = checked.scopes ?? WHOLE_CATALOG;',
  },
  {
    name: 'no wildcard includes reserved scopes',
    file: ISSUE,
    text: "assert(unnamed === '', instead);",
    instead: '',
  },
  {
    name: 'reserved scopes require a justification',
    file: ISSUE,
    text: 'reserved.length === 0 || justification !== null',
    instead: 'true',
  },
];

/** Rotation, which adds no rights and which only one of several concurrent calls wins. */
const ROTATION: readonly Safeguard[] = [
  {
    name: 'checks the authority on rotation',
    file: ROTATE,
    text: '  requireCeiling(authority, draft, context.maxLifetimeMs);\n',
    instead: '',
  },
  {
    name: 'verifies before rotation',
    file: ROTATE,
    text: '  await requireLive(context, old);\n',
    instead: '',
  },
  {
    name: 'awaits the verification before rotation',
    file: ROTATE,
    text: '  await requireLive(context, old);\n',
    instead: '  void requireLive(context, old);\n',
  },
  {
    name: 'grants no scopes beyond the predecessor',
    file: ROTATE,
    text: "  requireSubset(scopes, old.scopes, 'scopes_beyond_predecessor');\n",
    instead: '',
  },
  {
    name: 'grants no entities beyond the predecessor',
    file: ROTATE,
    text: "  requireSubset(accessibleEntities, addressable, 'entities_beyond_predecessor');\n",
    instead: '',
  },
  {
    name: 'drops entities that withdrew',
    file: ROTATE,
    text: 'const addressable = addressableBy(old);',
    instead: 'const addressable = old.accessibleEntities;',
  },
  {
    name: 'drops scopes that left the catalog',
    file: ROTATE,
    text: 'old.scopes.filter((scope) => knownScopes.has(scope))',
    instead: '[...old.scopes]',
  },
  {
    name: 'scopes that became reserved require a justification',
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
    name: 'a concurrent withdrawal is a conflict',
    file: ROTATE,
    text: '...authority.said, withdrawn }',
    instead: '...authority.said }',
  },
  {
    name: 'the loser ends its own successor',
    file: ROTATE,
    text: '    await endRow(context, authority, record);\n',
    instead: '',
  },
];

/** Marks, and their proof. */
const MARKS: readonly Safeguard[] = [
  {
    name: 'reports a mark that was not written',
    file: MARK,
    text: "throw new StoreError('store.mark broke its contract; see KeyStore');",
    instead: 'return null;',
  },
  {
    name: 'neither suspends nor resumes a revoked key',
    file: MARK,
    text: '  if (revokedAt !== null) throw alreadyEnded(row.keyId);\n',
    instead: '',
  },
  {
    name: 'does not suspend an ended key',
    file: 'src/management/suspend.ts',
    text: '  if (ENDED.includes(readInfo(context, row).state)) throw alreadyEnded(keyId);\n',
    instead: '',
  },
  {
    name: 'does not seal an edited row as revoked',
    file: REVOKE,
    text: "if (voucherOf(context, row) !== 'alive') return null;",
    instead: "if (voucherOf(context, row) === 'orphaned') return null;",
  },
  {
    name: 'does not confuse a row that names another key with that key',
    file: 'src/management/identify.ts',
    text: 'if (named?.digest !== row.digest) throw',
    instead: 'if (false) throw',
  },
  {
    name: 'does not trust a mark without its proof',
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
    name: 'a key taken over leads only to later keys',
    file: LINEAGE,
    text: 'rotatedFrom === null ? ALWAYS : createdAt;',
    instead: 'ALWAYS;',
  },
  {
    name: 'reports a lineage that may be incomplete',
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
    name: 'revoking a lineage continues until nothing is left',
    file: LINEAGE,
    text: 'if (left === 0) return Object',
    instead: 'return Object',
  },
  {
    name: 'a lineage only has rows of one entity',
    file: LINEAGE,
    text: ' && entityUuid === authority.entityUuid,',
    instead: ',',
  },
  {
    name: 'a lineage only has rows of one prefix',
    file: LINEAGE,
    text: 'prefix === own && ',
    instead: '',
  },
  {
    name: 'only an addressed entity can withdraw',
    file: WITHDRAW,
    text: '  if (!isIn(row.accessibleEntities, entityUuid)) throw foreignKey();\n',
    instead: '',
  },
  {
    name: 'an entity cannot withdraw from its own key',
    file: WITHDRAW,
    text: 'if (row.entityUuid === entityUuid)',
    instead: 'if (false)',
  },
  {
    name: 'an entity that withdrew is no longer addressed',
    file: 'src/core/record.ts',
    text: 'if (withdrawn.length === 0) return accessibleEntities;',
    instead: 'return accessibleEntities;',
  },
];

/** Who sees which keys, and how much of them. */
const SIGHT: readonly Safeguard[] = [
  {
    name: 'does not find another entity’s key',
    file: FIND,
    text: 'if (row.entityUuid !== authority.entityUuid) throw foreignKey();',
    instead: '',
  },
  {
    name: 'does not find a key with another prefix',
    file: FIND,
    text: 'if (row.prefix !== context.format.prefix) throw foreignKey();',
    instead: '',
  },
  {
    name: 'management reads past the cache',
    file: FIND,
    text: 'findById(keyId, { fresh: true })',
    instead: 'findById(keyId)',
  },
  {
    name: 'shows edited rows as such',
    file: FIND,
    text: 'scheme !== undefined && !isSealed(record, scheme)',
    instead: 'false',
  },
  {
    name: 'a list only has keys of one entity',
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
    name: 'identify reads past the cache',
    file: 'src/management/identify.ts',
    text: 'findByDigest(digests, { fresh: true })',
    instead: 'findByDigest(digests, {})',
  },
  {
    name: 'reports refusals',
    file: 'src/management/trail.ts',
    text: 'if (isAccessError(error)) {',
    instead: 'if (false && isAccessError(error)) {',
  },
];

export const MANAGEMENT: readonly Safeguard[] = [...CEILINGS, ...ROTATION, ...MARKS, ...SIGHT];
