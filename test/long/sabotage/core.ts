/** The safeguards of the core. */
import type { Safeguard } from './safeguard.ts';

const VERIFY = 'src/core/verify.ts';

/** Who is let in. */
const FRONT_DOOR: readonly Safeguard[] = [
  {
    name: 'checksum',
    file: 'src/core/key.ts',
    text: "? null : 'wrong_checksum'",
    instead: '? null : null',
  },
  {
    name: 'seal check',
    file: VERIFY,
    text: 'if (!isSealed(record, scheme))',
    instead: 'if (false)',
  },
  {
    name: 'a seal where there is a pepper',
    file: VERIFY,
    text: 'return seal === record.seal;',
    instead: 'return true;',
  },
  {
    name: 'comparison of the digest',
    file: VERIFY,
    text: 'digests.some((digest) => equalText(record.digest, digest))',
    instead: 'digests.length > 0',
  },
  { name: 'exactly one match', file: VERIFY, text: 'if (rows.length > 1)', instead: 'if (false)' },
  { name: 'revoked', file: VERIFY, text: 'if (revokedAt !== null)', instead: 'if (false)' },
  {
    name: 'retired',
    file: VERIFY,
    text: 'if (retireAt !== null && now >= retireAt)',
    instead: 'if (false)',
  },
  {
    name: 'expired',
    file: VERIFY,
    text: 'if (expiresAt !== null && now >= expiresAt)',
    instead: 'if (false)',
  },
  {
    name: 'a deadline is exclusive',
    file: VERIFY,
    text: 'now >= expiresAt',
    instead: 'now > expiresAt',
  },
  {
    name: 'the key behind a token is live',
    file: 'src/core/verify-token.ts',
    text: 'return requireLive(context, requireRecord(row));',
    instead: "return createPrincipal(requireRecord(row), 'key', context.knownScopes);",
  },
  {
    name: 'a token reaches no further than its key',
    file: 'src/core/verify-token.ts',
    text: 'held.filter((element) => bound.has(element))',
    instead: '[...bound]',
  },
  {
    name: 'the key behind a token is of its entity',
    file: 'src/core/verify-token.ts',
    text: 'row?.entityUuid !== claims.entityUuid',
    instead: 'row === null',
  },
  {
    name: 'entity check',
    file: 'src/core/principal.ts',
    text: 'if (canAddress(principal, entityUuid as string))',
    instead: 'if (true)',
  },
  {
    name: 'a copy is no principal',
    file: 'src/core/principal.ts',
    text: '  requirePrincipal(principal);\n',
    instead: '',
  },
  {
    name: 'scopes that the catalog lost grant nothing',
    file: 'src/core/principal.ts',
    text: 'scopes.filter((scope) => catalog.has(scope))',
    instead: 'scopes',
  },
  {
    name: 'repeated entity',
    file: 'src/core/policy.ts',
    text: 'Array.isArray(asked) && asked.length < 2',
    instead: 'Array.isArray(asked)',
  },
  {
    name: 'scope check',
    file: 'src/core/policy.ts',
    text: 'if (scopes.length > 0) requireScopes(principal, ...scopes);',
    instead: '',
  },
  {
    name: 'two credentials are refused',
    file: 'src/core/authorization.ts',
    text: '  if (value.length > 1) return MALFORMED;\n',
    instead: '',
  },
  {
    name: 'joined credentials are refused',
    file: 'src/core/authorization.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '`^Bearer +${TOKEN68}$`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: '`^Bearer +${TOKEN68}`',
  },
  {
    name: 'every line of an event of Amazon',
    file: 'src/core/request.ts',
    text: 'headers === undefined || hasAllLines',
    instead: 'headers === undefined',
  },
  {
    name: 'lines beyond what Node keeps',
    file: 'src/core/request.ts',
    text: 'index >= MAX_ENTRIES || isValue(index)',
    instead: 'isValue(index)',
  },
  {
    name: 'no-store on denials',
    file: 'src/core/challenge.ts',
    text: "    'Cache-Control': 'no-store',\n",
    instead: '',
  },
];

/** What is handed out, and by whom. */
const BACK_OFFICE: readonly Safeguard[] = [
  {
    name: 'authority over scopes',
    file: 'src/core/authority.ts',
    text: '!isCovered(scope, held)',
    instead: 'false',
  },
  {
    name: 'authority over entities',
    file: 'src/core/authority.ts',
    text: '!authority.entities.includes(entity)',
    instead: 'false',
  },
  {
    name: 'an undefined ceiling is refused',
    file: 'src/core/authority.ts',
    text: "Object.hasOwn(given, 'scopes') ? given.scopes : WHOLE_CATALOG",
    instead: 'given.scopes ?? WHOLE_CATALOG',
  },
  {
    name: 'authority on rotation',
    file: 'src/core/rotate.ts',
    text: '  requireCeiling(authority, old);\n',
    instead: '',
  },
  {
    name: 'verification before rotation',
    file: 'src/core/rotate.ts',
    text: '  requireLive(context, old);\n',
    instead: '',
  },
  {
    name: 'the conditional write decides',
    file: 'src/core/rotate.ts',
    text: 'if (!wrote)',
    instead: 'if (false)',
  },
  {
    name: 'no wildcard reaches reserved scopes',
    file: 'src/core/issue.ts',
    text: "assert(unnamed === '', ",
    instead: 'assert(true, ',
  },
  {
    name: 'reserved scopes want a justification',
    file: 'src/core/issue.ts',
    text: 'assert(!needsReason, ',
    instead: 'assert(true, ',
  },
  {
    name: 'another entity’s key is not found',
    file: 'src/core/find.ts',
    text: 'row?.entityUuid === authority.entityUuid',
    instead: 'row !== null',
  },
  {
    name: 'a revocation that was not written is told',
    file: 'src/core/revoke.ts',
    text: 'if (!isRevoked)',
    instead: 'if (false)',
  },
];

/** What callers, stores and clocks may not do. */
const INPUT: readonly Safeguard[] = [
  {
    name: 'unknown fields are refused',
    file: 'src/core/input.ts',
    text: 'if (unknown !== undefined)',
    instead: 'if (false)',
  },
  {
    name: 'a field that is not its own is refused',
    file: 'src/core/input.ts',
    text: 'if (hidden !== undefined)',
    instead: 'if (false)',
  },
  {
    name: 'a stored * refuses the record',
    file: 'src/core/record.ts',
    text: 'isList(list, MAX_SCOPES, isScope)',
    instead: 'isList(list, MAX_SCOPES, isText)',
  },
  {
    name: 'rows hold UUIDs',
    file: 'src/core/record.ts',
    text: 'isList(list, MAX_ENTITIES, isUuid)',
    instead: 'isList(list, MAX_ENTITIES, isText)',
  },
  {
    name: 'a clock that throws is broken',
    file: 'src/core/outage.ts',
    text: "throw new StoreError('the clock failed: see cause', cause);",
    instead: 'throw cause;',
  },
  {
    name: 'a clock that answers',
    file: 'src/core/outage.ts',
    text: 'Number.isFinite(time) && Math.abs(time) <= MAX_TIME',
    instead: 'true',
  },
  {
    name: 'a store in time',
    file: 'src/core/outage.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: 'reject(new StoreError(`store.${name} did not answer within ${timeoutMs} ms`));',
    instead: 'resolve([]);',
  },
  {
    name: 'an answer of the wrong shape',
    file: 'src/core/outage.ts',
    text: 'if (!hasShape)',
    instead: 'if (false)',
  },
];

export const CORE: readonly Safeguard[] = [...FRONT_DOOR, ...BACK_OFFICE, ...INPUT];
