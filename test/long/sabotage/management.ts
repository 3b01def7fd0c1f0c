/** The safeguards of management: ceilings, rotation, marks and visibility. */
import type { Safeguard } from './safeguard.ts';

const ACTING = 'src/management/acting.ts';
const AUTHORITY = 'src/management/authority.ts';
const ISSUE = 'src/management/issue.ts';
const ROTATE = 'src/management/rotate.ts';
const FIND = 'src/management/find.ts';
const MARK = 'src/management/mark.ts';
const LINEAGE = 'src/management/lineage.ts';
const MINT = 'src/management/mint.ts';
const REVOKE = 'src/management/revoke.ts';
const SUSPEND = 'src/management/suspend.ts';
const WITHDRAW = 'src/management/withdraw.ts';
const LIST = 'src/management/list.ts';

/** The limits of an authority. */
const CEILINGS: readonly Safeguard[] = [
  {
    name: 'a keyring has a policy or a catalog, not both',
    file: 'src/core/context.ts',
    text: 'policy === undefined || given.catalog === undefined',
    instead: 'true',
  },
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
    name: 'a dead predecessor is a conflict, not a 401',
    file: ROTATE,
    text: "throw new AccessError('conflict', error.reason, { keyId: error.keyId });",
    instead: 'throw error;',
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
    text: ' withdrawn: old.withdrawn,',
    instead: '',
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
    file: SUSPEND,
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
    text: "return { kind: 'revoke', at, by, reason, seal, replaces };",
    instead: "return { kind: 'revoke', at, by, reason, seal };",
  },
  {
    name: 'an orphaned revocation keeps who, when and why',
    file: REVOKE,
    text: 'keepsEnd(context, row) ? kept : said',
    instead: 'said',
  },
  {
    name: 'an entity withdraws only from a key that addresses it',
    file: WITHDRAW,
    text: '  if (!isIn(row.accessibleEntities, entityId)) throw foreignKey();\n',
    instead: '',
  },
  {
    name: 'an entity does not withdraw from its own key',
    file: WITHDRAW,
    text: 'if (row.entityId === entityId)',
    instead: 'if (false)',
  },
  {
    name: 'a key no longer addresses an entity that withdrew',
    file: 'src/core/record.ts',
    text: 'if (withdrawn.length === 0) return accessibleEntities;',
    instead: 'return accessibleEntities;',
  },
];

/** Keys that issue, rotate and resume, and the end of their lineages. */
const LINEAGES: readonly Safeguard[] = [
  { name: 'the ceiling of a new key', file: MINT, text: '  check(acting);\n', instead: '' },
  {
    name: 'the acting key is live',
    file: ACTING,
    text: '  await requireLive(context, acting);\n',
    instead: '',
  },
  {
    name: 'the acting key belongs to the entity',
    file: ACTING,
    text: '  if (row.entityId !== entityId) throw foreignKey();\n',
    instead: '',
  },
  {
    name: 'the acting key is read again after an insert',
    file: MINT,
    text: '  await requireStillActing(context, authority, undo, check);\n',
    instead: '  void undo;\n',
  },
  {
    name: 'a key that was made meanwhile is ended',
    file: ACTING,
    text: '    await undo();\n',
    instead: '',
  },
  {
    name: 'the first row of the chain is a switch',
    file: ACTING,
    text: '  if (rootKeyId !== keyId) await requireFirst(context, acting, rootKeyId);\n',
    instead: '',
  },
  {
    name: 'the first row of the issuing chain is a switch',
    file: ACTING,
    text: '  if (issuedUnder !== null) await requireFirst(context, acting, issuedUnder);\n',
    instead: '',
  },
  {
    name: 'a mark switches a chain off',
    file: ACTING,
    text: 'row?.revokedAt === null &&',
    instead: 'row !== null &&',
  },
  {
    name: 'a cleared mark does not switch a chain on',
    file: ACTING,
    text: " && voucherOf(context, row) !== 'nothing';",
    instead: ';',
  },
  {
    name: 'a foreign row switches no chain on',
    file: ACTING,
    text: ' && row.entityId === entityId',
    instead: '',
  },
  {
    name: 'nothing issued outlives the acting key',
    file: ACTING,
    text: 'Math.min(authority.notAfter, endsAt)',
    instead: 'authority.notAfter',
  },
  {
    name: 'the acting key’s overlap counts',
    file: ACTING,
    text: 'earliest(acting.expiresAt, acting.retireAt)',
    instead: 'acting.expiresAt',
  },
  {
    name: 'an entity that withdrew does not come back',
    file: ACTING,
    text: '!acting.withdrawn.includes(entity)',
    instead: 'true',
  },
  {
    name: 'what a key issued issues nothing',
    file: ISSUE,
    text: "if (typeof acting?.issuedUnder === 'string')",
    instead: 'if (false)',
  },
  {
    name: 'a key rotates its own chain only',
    file: ROTATE,
    text: 'acting !== null && acting.rootKeyId !== old.rootKeyId',
    instead: 'false',
  },
  {
    name: 'a rotation copies the issuer',
    file: ROTATE,
    text: 'issuedUnder: old.issuedUnder,',
    instead: 'issuedUnder: null,',
  },
  {
    name: 'a key resumes only what it issued',
    file: SUSPEND,
    text: 'acting !== null && acting.rootKeyId !== row.issuedUnder',
    instead: 'false',
  },
  {
    name: 'a resumption is confirmed',
    file: SUSPEND,
    text: '    requireStillActing(context, authority, undo),\n',
    instead: '    Promise.resolve(void undo),\n',
  },
  {
    name: 'the authority’s own end counts',
    file: AUTHORITY,
    text: 'Math.min(key.createdAt + longestMs, authority.notAfter)',
    instead: 'key.createdAt + longestMs',
  },
  {
    name: 'a withdrawal reaches the chain',
    file: WITHDRAW,
    text: 'return isOfChain && isReaching && writeMark',
    instead: 'return isOfChain && !isReaching && writeMark',
  },
  {
    name: 'a withdrawal reaches no key that the chain issued',
    file: WITHDRAW,
    text: 'each.rootKeyId === row.rootKeyId && ',
    instead: '',
  },
  {
    name: 'a lineage is walked until nothing is left',
    file: LINEAGE,
    text: 'while (changed.size > before)',
    instead: 'while (false)',
  },
  {
    name: 'the first row of a lineage ends first',
    file: LINEAGE,
    text: 'if (first !== null) await end(walk, first);',
    instead: '',
  },
  {
    name: 'a lineage has own rows only',
    file: LINEAGE,
    text: '!isOwn(context, authority.entityId, row) || ',
    instead: '',
  },
  {
    name: 'a failing row shields no other',
    file: LINEAGE,
    text: '      failures.push(error);\n',
    instead: '      throw error;\n',
  },
  {
    name: 'a failing row is reported',
    file: LINEAGE,
    text: '  if (failures.length > 0) throw failures[0];\n',
    instead: '',
  },
  {
    name: 'an unknown lineage believes no field of its row',
    file: LINEAGE,
    text: '  if (isVouchedFor(context, row)) {\n    await',
    instead: '  if (row !== null) {\n    await',
  },
  {
    name: 'the successors of an unknown row end',
    file: LINEAGE,
    text: '  await endSuccessors(walk, keyId);\n',
    instead: '',
  },
  {
    name: 'only proven successors end',
    file: LINEAGE,
    text: 'row.rotatedFrom === keyId && isVouchedFor(context, row)',
    instead: 'row.rotatedFrom === keyId',
  },
  {
    name: 'a row that is marked already keeps its time',
    file: REVOKE,
    text: 'revokedAt: revokedAt ?? at,',
    instead: 'revokedAt: at,',
  },
  {
    name: 'an event has the mark that was found',
    file: REVOKE,
    text: ', ...foundIn(wrote.row) }',
    instead: ' }',
  },
];

/** The visibility of keys. */
const VISIBILITY: readonly Safeguard[] = [
  {
    name: 'another entity’s key is not found',
    file: FIND,
    text: 'if (row.entityId !== authority.entityId) throw foreignKey();',
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
    name: 'a key is not an id',
    file: FIND,
    text: 'if (looksLikeKey(keyId)) throw',
    instead: 'if (false) throw',
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
    text: '(owner === entityId) !== addressing',
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

export const MANAGEMENT: readonly Safeguard[] = [
  ...CEILINGS,
  ...ROTATION,
  ...MARKS,
  ...LINEAGES,
  ...VISIBILITY,
];
