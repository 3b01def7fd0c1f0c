/** The safeguards of the core. */
import { MANAGEMENT } from './management.ts';
import type { Safeguard } from './safeguard.ts';

const VERIFY = 'src/core/verify.ts';

/** Denials that strangers can trigger are cheap, and logs do not show a driver's text. */
const ERRORS: readonly Safeguard[] = [
  {
    name: 'a denial has no stack trace',
    file: 'src/core/errors.ts',
    text: 'const limit = limitTraces(0);',
    instead: 'const limit = limitTraces(10);',
  },
  {
    name: 'the limit of stack traces is restored',
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

/** Keys in stored texts, plain or percent-encoded. */
const TEXTS: readonly Safeguard[] = [
  {
    name: 'texts: escaped keys are refused',
    file: 'src/core/masking.ts',
    text: 'return maskDecoded(text, maskLikeKeys) !== text;',
    instead: 'return maskLikeKeys(text) !== text;',
    tests: 'test/core',
  },
  {
    name: 'texts: escaped keys are masked in events',
    file: 'src/core/masking.ts',
    text: 'return (text) => maskDecoded(text, mask);',
    instead: 'return mask;',
    tests: 'test/core',
  },
  {
    name: 'texts: masked before they are cut',
    file: 'src/core/masking.ts',
    text: 'const masked = mask(beginning);',
    instead: 'const masked = mask(beginning.slice(0, max));',
    tests: 'test/core',
  },
  {
    name: 'texts: a long one is cut before it is masked',
    file: 'src/core/masking.ts',
    text: 'const beginning = text.slice(0, MOST_MASKED);',
    instead: 'const beginning = text;',
    tests: 'test/core',
  },
  {
    name: 'texts: half a key at the first cut',
    file: 'src/core/masking.ts',
    text: 'beginning === text ? masked : masked.slice(0, -MOST_MISSED)',
    instead: 'masked',
    tests: 'test/core',
  },
  {
    name: 'texts: escaped secrets are masked in errors',
    file: 'src/core/input.ts',
    text: '[0-9A-Za-z%+/=_-]{20,}',
    instead: '[0-9A-Za-z+/=_-]{20,}',
    tests: 'test/core',
  },
];

/** Properties that no answer shows: the time of a comparison, and the contents of memory. */
const SECRETS: readonly Safeguard[] = [
  {
    name: 'seals are compared to the end',
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
    name: 'hashed bytes are wiped',
    file: 'src/core/secret.ts',
    text: 'space.fill(0, 0, written);',
    instead: '',
  },
];

/** Background work must not break the request path. */
const BACKGROUND: readonly Safeguard[] = [
  {
    name: 'usage is one write at a time',
    file: 'src/core/usage.ts',
    text: 'isCloudflareWorkers() ? writeAll : writeNext',
    instead: 'writeAll',
  },
  {
    name: 'a write of usage ends when the store says so',
    file: 'src/core/outage.ts',
    text: "if (name !== 'touch') return inTime;",
    instead: 'if (name) return inTime;',
  },
  {
    name: 'usage within the granularity is not written',
    file: 'src/core/usage.ts',
    text: 'if (isStored(principal, scopes, time - granularityMs)) return;',
    instead: '',
  },
  {
    name: 'failed usage is kept',
    file: 'src/core/usage.ts',
    text: 'batch.forEach(add);',
    instead: '',
  },
  {
    name: 'failed usage is reported',
    file: 'src/core/usage.ts',
    text: "report(error, 'usage')",
    instead: 'undefined',
  },
];

/** Authentication and authorization. */
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
    name: 'no seal without a pepper',
    file: 'src/core/seal.ts',
    text: 'return record.seal === null && record.trust === null;',
    instead: 'return record.trust === null;',
  },
  {
    name: 'no trust without a pepper',
    file: 'src/core/seal.ts',
    text: 'return record.seal === null && record.trust === null;',
    instead: 'return record.seal === null;',
  },
  {
    name: 'no text replaces a missing key',
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
    name: 'a pepper is more than one character',
    file: 'src/core/secret.ts',
    text: 'assert(size > 1,',
    instead: 'assert(true,',
  },
  {
    name: 'a prefix is not that of another vendor',
    file: 'src/management/create-keyring.ts',
    text: '  requireOwnPrefix(options);\n',
    instead: '',
  },
  {
    name: 'the claims that a verifier checked are those admitted',
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
    name: 'one verifier decides about a token',
    file: 'src/core/tokens.ts',
    text: 'recognizes?.(token) === true',
    instead: 'recognizes !== undefined',
  },
  {
    name: 'comparison of the digest',
    file: VERIFY,
    text: 'digests.includes(row.digest)',
    instead: 'digests.length > 0',
  },
  {
    name: 'a suspended key is refused',
    file: VERIFY,
    text: 'if (suspendedAt !== null)',
    instead: 'if (false)',
  },
  {
    name: 'a seal for live keys and one for revoked ones',
    file: 'src/core/secret.ts',
    text: "'keyscope revocation'",
    instead: "'keyscope seal'",
  },
  {
    name: 'a seal holds for one deployment',
    file: 'src/core/secret.ts',
    text: 'encode([kind, RECORD_FORMAT, prefix, deployment])',
    instead: 'encode([kind, RECORD_FORMAT, prefix])',
  },
  {
    name: 'a record of a later format',
    file: 'src/core/record.ts',
    text: '(format) => format === RECORD_FORMAT',
    instead: '(format) => format !== null',
  },
  {
    name: 'entities that withdrew are out of reach',
    file: VERIFY,
    text: 'accessibleEntities: addressableBy(record)',
    instead: 'accessibleEntities: record.accessibleEntities',
  },
  {
    name: 'a remembered record is only for its owner',
    file: 'src/core/verify.ts',
    text: 'known?.by === context ? known : ',
    instead: 'known ?? ',
  },
  {
    name: 'growth: a merge of usage computes no seal',
    file: 'src/core/record.ts',
    text: 'if (copy !== null) FrozenRecord.remember(copy, FrozenRecord.recall(record));',
    instead: '',
  },
  {
    name: 'growth: usage of a cached key is written once in the granularity',
    file: 'src/core/usage.ts',
    text: 'known.stored = mergeUsage(known.stored, usage);',
    instead: '',
  },
  {
    name: 'a caller that admit refuses is not admitted',
    file: 'src/core/admit.ts',
    text: '    return rejecting(error);\n',
    instead: "    return { principal, entityId: '' } as unknown as Admission;\n",
  },
  {
    name: 'an operation that the policy lacks is not a denial',
    file: 'src/core/admit.ts',
    text: "  if (typeof request !== 'function') policy.requires(operation);\n",
    instead: '',
  },
  {
    name: 'a refused key is not a caller',
    file: VERIFY,
    text: '  if (fault !== null) return refused(fault);',
    instead: '  if (fault !== null) void refused(fault);',
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
    name: 'a verifier of tokens that never settles',
    file: 'src/core/verify-token.ts',
    text: "await answerInTime('tokens.verify', verified, timeoutMs)",
    instead: 'await verified',
    tests: 'test/core/verify-token.test.ts',
  },
  {
    name: 'the key behind a token is live',
    file: 'src/core/verify-token.ts',
    text: 'await requireLive(context, record)',
    instead: "createPrincipal(record, 'key', context)",
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
    text: 'parent.entityId !== claims.entityId',
    instead: 'false',
  },
  {
    name: 'entity check',
    file: 'src/core/principal.ts',
    text: 'if (canAddress(principal, entityId as string))',
    instead: 'if (true)',
  },
  {
    name: 'a copy is not a principal',
    file: 'src/core/principal.ts',
    text: '  requirePrincipal(principal);\n',
    instead: '',
  },
  {
    name: 'scopes that the catalog lost grant nothing',
    file: 'src/core/principal.ts',
    text: 'principal.scopes.filter((scope) => knownScopes.has(scope))',
    instead: '[...principal.scopes]',
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
    name: 'an event without texts is not a request without a credential',
    file: 'src/core/request.ts',
    text: ': Object.values(fields).flat());',
    instead: ': []);',
  },
  {
    name: 'a line of Lambda@Edge is not a malformed credential',
    file: 'src/core/request.ts',
    text: '!values.some(isPart)',
    instead: '!values.some(isPart) || values.length < 3',
  },
  {
    name: 'an event of a TOKEN authorizer is not a request without a credential',
    file: 'src/core/request.ts',
    text: "'methodArn' in fields && Object",
    instead: 'false && Object',
  },
  {
    name: 'a client names no header that makes its headers an event',
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
    name: 'no refused credential learns why',
    file: 'src/core/errors.ts',
    text: "code === 'invalid_token' ? undefined : SENTENCES.get(reason)",
    instead: 'SENTENCES.get(reason) ?? reason',
    tests: 'test/http',
  },
  {
    name: 'lines beyond what Node keeps',
    file: 'src/core/request.ts',
    text: '? valuesInLines(lines) : lines',
    instead: '? valuesInLines(lines) : valuesInLines(lines)',
  },
  {
    name: 'the limit of a server’s own',
    file: 'src/core/request.ts',
    text: 'Number(socket?.server?.maxHeadersCount) || MAX_PAIRS',
    instead: 'MAX_PAIRS',
  },
  {
    name: 'a header named rawHeaders',
    file: 'src/core/request.ts',
    text: ' || isFields(message)) return null;',
    instead: ') return null;',
  },
  {
    name: 'a credential does not stay in global state',
    file: 'src/core/authorization.ts',
    text: "  NOTHING.test('');\n",
    instead: '',
  },
  {
    name: 'no-store on denials',
    file: 'src/http/challenge.ts',
    text: "    'Cache-Control': 'no-store',\n",
    instead: '',
  },
];

/** Faulty callers, stores and clocks. */
const INPUT: readonly Safeguard[] = [
  {
    name: 'unknown fields are refused',
    file: 'src/core/input.ts',
    text: 'if (unknown !== undefined)',
    instead: 'if (false)',
  },
  {
    name: 'an inherited field is refused',
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
    name: 'rows hold ids of entities',
    file: 'src/core/record.ts',
    text: 'isList(list, MAX_ENTITIES, isEntityId)',
    instead: 'isList(list, MAX_ENTITIES, isText)',
  },
  {
    name: 'a clock that throws is broken',
    file: 'src/core/outage.ts',
    text: "throw new StoreError('the clock failed: see causeOf', cause);",
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
    text: 'throw new StoreError(`${what} did not answer within ${timeoutMs} ms`);',
    instead: 'return [] as T;',
  },
  {
    name: 'an answer of the wrong shape',
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
