/** The safeguards of the core. */
import { MANAGEMENT } from './management.ts';
import type { Safeguard } from './safeguard.ts';

const VERIFY = 'src/core/verify.ts';

/** A stranger can only trigger the cheapest path, and no log shows a driver's message. */
const ERRORS: readonly Safeguard[] = [
  {
    name: 'a denial has no stack trace',
    file: 'src/core/errors.ts',
    text: 'const limit = limitTraces(0);',
    instead: 'const limit = limitTraces(10);',
  },
  {
    name: 'the stack trace limit is restored',
    file: 'src/core/errors.ts',
    text: 'limitTraces(limit);',
    instead: '',
  },
  {
    name: 'no property holds the driver’s error',
    file: 'src/core/errors.ts',
    text: 'this.#cause = cause;',
    instead: 'Object.assign(this, { cause });',
  },
];

/** Keys in stored texts, in any spelling. */
const TEXTS: readonly Safeguard[] = [
  {
    name: 'texts: rejects escaped keys',
    file: 'src/core/masking.ts',
    text: 'return maskSpellings(text, maskLikeKeys) !== text;',
    instead: 'return maskLikeKeys(text) !== text;',
    tests: 'test/core',
  },
  {
    name: 'texts: masks escaped keys in events',
    file: 'src/core/masking.ts',
    text: 'return (text) => maskSpellings(text, mask);',
    instead: 'return mask;',
    tests: 'test/core',
  },
  {
    name: 'texts: masks before it truncates',
    file: 'src/core/events.ts',
    text: 'maskKeys(text).slice(0, MAX_CONTEXT_LENGTH)',
    instead: 'maskKeys(text.slice(0, MAX_CONTEXT_LENGTH))',
    tests: 'test/core',
  },
  {
    name: 'texts: masks escaped secrets in errors',
    file: 'src/core/input.ts',
    text: 'maskSpellings(text, maskRuns)',
    instead: 'maskRuns(text)',
    tests: 'test/core',
  },
];

/** Side channels: the time of a comparison, and leftovers in memory. */
const SECRETS: readonly Safeguard[] = [
  {
    name: 'compares seals to the end',
    file: 'src/core/seal.ts',
    text: 'record.seal !== null && equalText(seal, record.seal)',
    instead: 'seal === record.seal',
  },
  {
    name: 'a comparison does not stop where texts differ',
    file: 'src/core/bytes.ts',
    text: 'for (let i = 0; i < first.length; i++) difference',
    instead: 'for (let i = 0; i < first.length && difference === 0; i++) difference',
  },
  {
    name: 'wipes what was hashed',
    file: 'src/core/secret.ts',
    text: 'space.fill(0, 0, written);',
    instead: '',
  },
];

/** Background work must not take the request path down. */
const BACKGROUND: readonly Safeguard[] = [
  {
    name: 'writes usage one batch at a time',
    file: 'src/core/usage.ts',
    text: 'return isAlone ? writeAll : writeNext;',
    instead: 'return writeAll;',
  },
  {
    name: 'a usage write ends when the store says so',
    file: 'src/core/outage.ts',
    text: "if (name !== 'touch') return inTime;",
    instead: 'if (name) return inTime;',
  },
  {
    name: 'writes no usage within the granularity',
    file: 'src/core/usage.ts',
    text: 'if (isStored(principal, scopes, time - granularityMs)) return;',
    instead: '',
  },
  {
    name: 'keeps usage that failed to be written',
    file: 'src/core/usage.ts',
    text: 'notes.putBack(batch);',
    instead: '',
  },
  {
    name: 'reports usage that failed to be written',
    file: 'src/core/usage.ts',
    text: "report(error, 'usage')",
    instead: 'undefined',
  },
];

/** Admission. */
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
    text: '!checked(context, record).isSealed',
    instead: 'false',
  },
  {
    name: 'without a pepper, a record must have no seal',
    file: 'src/core/seal.ts',
    text: 'return record.seal === null && record.trust === null;',
    instead: 'return record.trust === null;',
  },
  {
    name: 'without a pepper, a record must have no trust',
    file: 'src/core/seal.ts',
    text: 'return record.seal === null && record.trust === null;',
    instead: 'return record.seal === null;',
  },
  {
    name: 'no key can use a keyless record',
    file: VERIFY,
    text: "return isKeyless ? refused('keyless', record.keyId) : requireLive",
    instead: 'return requireLive',
  },
  {
    name: 'a pepper has no line end',
    file: 'src/core/secret.ts',
    text: 'assert(text.trim() === text,',
    instead: 'assert(true,',
  },
  {
    name: 'a pepper has more than one character',
    file: 'src/core/secret.ts',
    text: 'assert(!repeats,',
    instead: 'assert(true,',
  },
  {
    name: 'a prefix does not belong to another vendor',
    file: 'src/management/keyring.ts',
    text: '  requireOwnPrefix(options);\n',
    instead: '',
  },
  {
    name: 'admission uses what the token verifier judged',
    file: 'src/core/verify-token.ts',
    text: 'found.set(keyId, known);',
    instead: '',
  },
  {
    name: 'a keyless token is bound by its record',
    file: 'src/core/verify-token.ts',
    text: "if (via === 'jwt' && !context.checkParent) {",
    instead: 'if (!context.checkParent) {',
  },
  {
    name: 'only one verifier decides about a token',
    file: 'src/core/tokens.ts',
    text: 'recognizes?.(token) === true',
    instead: 'recognizes !== undefined',
  },
  {
    name: 'compares the digest',
    file: VERIFY,
    text: 'digests.includes(row.digest)',
    instead: 'digests.length > 0',
  },
  {
    name: 'refuses a suspended key',
    file: VERIFY,
    text: 'if (suspendedAt !== null)',
    instead: 'if (false)',
  },
  {
    name: 'live and revoked keys have different seals',
    file: 'src/core/secret.ts',
    text: "'keyscope revocation'",
    instead: "'keyscope seal'",
  },
  {
    name: 'a seal is valid for one deployment',
    file: 'src/core/secret.ts',
    text: 'encode([kind, RECORD_FORMAT, prefix, deployment])',
    instead: 'encode([kind, RECORD_FORMAT, prefix])',
  },
  {
    name: 'rejects a record in a later format',
    file: 'src/core/record.ts',
    text: '(format) => format === RECORD_FORMAT',
    instead: '(format) => format !== null',
  },
  {
    name: 'a key cannot reach entities that withdrew',
    file: VERIFY,
    text: 'accessibleEntities: addressableBy(record)',
    instead: 'accessibleEntities: record.accessibleEntities',
  },
  {
    name: 'memoized values of a record belong to its owner',
    file: 'src/core/record.ts',
    text: 'return own.#owner === owner ? (own.#made as T) : undefined;',
    instead: 'return own.#made as T;',
  },
  {
    name: 'a request that admit refuses is not admitted',
    file: 'src/core/admit.ts',
    text: '    return rejecting(error);\n',
    instead: "    return { principal, entityUuid: '' } as unknown as Admission;\n",
  },
  {
    name: 'a refused key is not a caller',
    file: VERIFY,
    text: '  if (fault !== null) return refused(fault);',
    instead: '  if (fault !== null) void refused(fault);',
  },
  {
    name: 'requires exactly one match',
    file: VERIFY,
    text: 'if (rows.length > 1)',
    instead: 'if (false)',
  },
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
    name: 'a token verifier that never settles times out',
    file: 'src/core/verify-token.ts',
    text: "await answerInTime('tokens.verify', verified, timeoutMs)",
    instead: 'await verified',
    tests: 'test/core/verify-token.test.ts',
  },
  {
    name: 'the key behind a token is live',
    file: 'src/core/verify-token.ts',
    text: 'await requireLive(context, record)',
    instead: "createPrincipal(record, 'key', context.knownScopes)",
  },
  {
    name: 'a token has no more rights than its key',
    file: 'src/core/verify-token.ts',
    text: 'held.filter((element) => bound.has(element))',
    instead: '[...bound]',
  },
  {
    name: 'the key behind a token belongs to its entity',
    file: 'src/core/verify-token.ts',
    text: 'parent.entityUuid !== claims.entityUuid',
    instead: 'false',
  },
  {
    name: 'entity check',
    file: 'src/core/principal.ts',
    text: 'if (canAddress(principal, entityUuid as string))',
    instead: 'if (true)',
  },
  {
    name: 'a copy is not a principal',
    file: 'src/core/principal.ts',
    text: '  requirePrincipal(principal);\n',
    instead: '',
  },
  {
    name: 'scopes removed from the catalog grant nothing',
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
    name: 'refuses two credentials',
    file: 'src/core/authorization.ts',
    text: '  if (value.length > 1) return MALFORMED;\n',
    instead: '',
  },
  {
    name: 'refuses joined credentials',
    file: 'src/core/authorization.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '`^Bearer +${TOKEN68}$`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: '`^Bearer +${TOKEN68}`',
  },
  {
    name: 'reads every line of an Amazon event',
    file: 'src/core/request.ts',
    text: 'headers === undefined || hasAllLines',
    instead: 'headers === undefined',
  },
  {
    name: 'an event without texts is not a request without a credential',
    file: 'src/core/request.ts',
    text: '!Object.values(fields).flat().some(isPart)',
    instead: 'true',
  },
  {
    name: 'a TOKEN authorizer event is not a request without a credential',
    file: 'src/core/request.ts',
    text: "'methodArn' in fields && Object",
    instead: 'false && Object',
  },
  {
    name: 'no client header turns headers into an event',
    file: 'src/core/request.ts',
    text: "'methodArn' in fields && Object.keys(fields).length === 3",
    instead: "'methodArn' in fields",
  },
  {
    name: 'a Map of headers has every spelling of a name',
    file: 'src/core/request.ts',
    text: 'found instanceof Map ? Object.fromEntries<unknown>(found) : found',
    instead: 'found',
  },
  {
    name: 'explains only malformed requests',
    file: 'src/core/errors.ts',
    text: "code === 'invalid_request' ? MALFORMED.get(reason) : undefined",
    instead: 'MALFORMED.get(reason)',
    tests: 'test/http',
  },
  {
    name: "rejects lines beyond Node's limit",
    file: 'src/core/request.ts',
    text: '? valuesInLines(lines) : lines',
    instead: '? valuesInLines(lines) : valuesInLines(lines)',
  },
  {
    name: "uses the server's own limit",
    file: 'src/core/request.ts',
    text: 'Number(socket?.server?.maxHeadersCount) || MAX_PAIRS',
    instead: 'MAX_PAIRS',
  },
  {
    name: "rejects headers named like Node's own fields",
    file: 'src/core/request.ts',
    text: ' || isFields(message)) return null;',
    instead: ') return null;',
  },
  {
    name: 'leaves no credential in a global',
    file: 'src/core/authorization.ts',
    text: "  NOTHING.test('');\n",
    instead: '',
  },
  {
    name: 'sends no-store with denials',
    file: 'src/http/challenge.ts',
    text: "    'Cache-Control': 'no-store',\n",
    instead: '',
  },
];

/** Limits on callers, stores and clocks. */
const INPUT: readonly Safeguard[] = [
  {
    name: 'rejects unknown fields',
    file: 'src/core/input.ts',
    text: 'if (unknown !== undefined)',
    instead: 'if (false)',
  },
  {
    name: 'rejects inherited fields',
    file: 'src/core/input.ts',
    text: 'if (hidden !== undefined)',
    instead: 'if (false)',
  },
  {
    name: 'a stored * invalidates the record',
    file: 'src/core/record.ts',
    text: 'isList(list, MAX_SCOPES, isScope)',
    instead: 'isList(list, MAX_SCOPES, isText)',
  },
  {
    name: 'entities in rows are UUIDs',
    file: 'src/core/record.ts',
    text: 'isList(list, MAX_ENTITIES, isUuid)',
    instead: 'isList(list, MAX_ENTITIES, isText)',
  },
  {
    name: 'a clock that throws is broken',
    file: 'src/core/outage.ts',
    text: "throw new StoreError('the clock failed: see causeOf', cause);",
    instead: 'throw cause;',
  },
  {
    name: 'a clock returns valid times',
    file: 'src/core/outage.ts',
    text: 'Number.isFinite(time) && Math.abs(time) <= MAX_TIME',
    instead: 'true',
  },
  {
    name: 'a store answers in time',
    file: 'src/core/outage.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: 'throw new StoreError(`${what} did not answer within ${timeoutMs} ms`);',
    instead: 'return [] as T;',
  },
  {
    name: 'rejects an answer in the wrong shape',
    file: 'src/core/outage.ts',
    text: 'if (!hasShape)',
    instead: 'if (false)',
  },
];

export const CORE: readonly Safeguard[] = [
  ...FRONT_DOOR,
  ...ERRORS,
  ...TEXTS,
  ...SECRETS,
  ...BACKGROUND,
  ...MANAGEMENT,
  ...INPUT,
];
