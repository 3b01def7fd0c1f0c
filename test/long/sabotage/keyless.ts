/** The safeguards of keys without a secret. */
import type { Safeguard } from './safeguard.ts';

const VERIFIER = 'src/keyless/keyless-verifier.ts';
const CLAIMS = 'src/keyless/claims.ts';
const KEYS = 'src/keyless/issuer-keys.ts';
const TRUSTS = 'src/keyless/trusts.ts';
const MANAGEMENT = 'src/management/keyless.ts';

const tests = 'test/keyless';
const ISSUING = 'test/management/keyless.test.ts';

export const KEYLESS: readonly Safeguard[] = [
  {
    name: 'keyless: no header of extensions',
    file: VERIFIER,
    text: "if ('crit' in header || 'b64' in header) throw tokenRefused();",
    instead: '',
    tests,
  },
  {
    name: 'keyless: an audience of one',
    file: VERIFIER,
    text: ' || list.length > 1',
    instead: '',
    tests,
  },
  {
    name: 'keyless: nothing after the key id',
    file: VERIFIER,
    text: ' && more.length === 0',
    instead: '',
    tests,
  },
  {
    name: 'keyless: only listed issuers',
    file: VERIFIER,
    text: 'keyId === undefined || issuer === undefined',
    instead: 'keyId === undefined || issuer === null',
    tests,
  },
  {
    name: 'keyless: the issuer of the trust',
    file: VERIFIER,
    text: 'trust.issuer !== issuer.issuer',
    instead: 'false',
    tests,
  },
  {
    name: 'keyless: a claim that identifies, at each use',
    file: VERIFIER,
    text: 'isIdentity(issuer, trust.claims) && hasTrustedClaims(trust, payload)',
    instead: 'hasTrustedClaims(trust, payload)',
    tests,
  },
  {
    name: 'keyless: the algorithm before any key',
    file: VERIFIER,
    text: 'issuer.algorithms.find((each) => each === header.alg)',
    instead: '(header.alg as TokenAlgorithm)',
    tests,
  },
  {
    name: 'keyless: the signature',
    file: VERIFIER,
    text: 'if (!isGenuine) throw tokenRefused();',
    instead: '',
    tests,
  },
  {
    name: "keyless: nobody's signature is checked",
    file: VERIFIER,
    text: 'if (isLate) return false;',
    instead: '',
    tests,
  },
  {
    name: 'keyless: an outage is not a refusal',
    file: VERIFIER,
    text: "String(code).startsWith('ERR_JWS_')",
    instead: 'true',
    tests,
  },
  {
    name: 'keyless: an end',
    file: VERIFIER,
    text: 'now < end && ',
    instead: 'now < now + end && ',
    tests,
  },
  {
    name: 'keyless: a beginning',
    file: VERIFIER,
    text: 'Math.max(issued, from) <= now',
    instead: 'issued <= now',
    tests,
  },
  {
    name: 'keyless: the longest life',
    file: VERIFIER,
    text: 'end - issued <= maxTtlSeconds',
    instead: 'end - issued <= Infinity',
    tests,
  },
  {
    name: 'keyless: the newest change',
    file: VERIFIER,
    text: 'issued * 1000 >= changedAt',
    instead: 'issued * 1000 >= 0',
    tests,
  },
  {
    name: 'keyless: the end of the key',
    file: VERIFIER,
    text: 'earliest(key.expiresAt, endsAt)',
    instead: 'endsAt',
    tests,
  },
  {
    name: 'keyless: whole numbers as times',
    file: VERIFIER,
    text: 'if (![exp, iat, nbf].every(Number.isSafeInteger)) return null;',
    instead: '',
    tests,
  },
  {
    name: 'keyless: every claim',
    file: CLAIMS,
    text: 'Object.entries(trust.claims).every(',
    instead: 'Object.entries(trust.claims).some(',
    tests,
  },
  {
    name: 'keyless: texts only',
    file: CLAIMS,
    text: "typeof value === 'string' && values.includes(value)",
    instead: 'values.includes(String(value))',
    tests,
  },
  {
    name: 'keyless: own members only',
    file: CLAIMS,
    text: ' || !Object.hasOwn(value as object, member)',
    instead: '',
    tests,
  },
  {
    name: 'keyless: never into lists',
    file: CLAIMS,
    text: ' && !Array.isArray(value)',
    instead: '',
    tests,
  },
  {
    name: 'keyless: one key of a name',
    file: KEYS,
    text: 'named.length === 1 ? (named[0] ?? null) : null',
    instead: 'named[0] ?? null',
    tests,
  },
  {
    name: 'keyless: no private keys of others',
    file: KEYS,
    text: 'all.filter((key) => !isPrivateKey(key))',
    instead: 'all',
    tests,
  },
  {
    name: 'keyless: no pipelines of forks',
    file: TRUSTS,
    text: "const isForked = sources.includes('merge_request_event');",
    instead: 'const isForked = false;',
    tests,
  },
  {
    name: 'keyless: one selector',
    file: TRUSTS,
    text: 'given.length === 1',
    instead: 'given.length > 0',
    tests,
  },
  { name: 'keyless: exact names', file: TRUSTS, text: '(?!refs\\/)', instead: '', tests },
  {
    name: 'keyless: numbers, not names',
    file: TRUSTS,
    text: '/^[1-9]\\d{0,19}$/.test(value)',
    instead: "value !== ''",
    tests,
  },
  {
    name: 'keyless: no claims of tokens',
    file: MANAGEMENT,
    text: '!isOfToken && ',
    instead: '',
    tests: ISSUING,
  },
  {
    name: 'keyless: a copy of each list',
    file: MANAGEMENT,
    text: 'frozenCopy(wanted)',
    instead: 'wanted',
    tests: ISSUING,
  },
  {
    name: 'keyless: a trust that identifies',
    file: MANAGEMENT,
    text: 'verifier.identifies?.(trust) === true',
    instead: 'verifier.identifies?.(trust) !== null',
    tests: ISSUING,
  },
  {
    name: 'keyless: suspended until its issuer was read again',
    file: 'src/management/mint.ts',
    text: 'draft.trust !== null && acting !== null',
    instead: 'false',
    tests: ISSUING,
  },
];
