/**
 * `npm run test:linear`: how long the readers of untrusted text take, at worst, on inputs of up to
 * 1 MB made to be slow: a header or a token at most 50 ms, a list of scopes 20, a key 5, a form to
 * issue a key 50 beside JSON.parse. Within their caps, an input twice as long takes at most 2.5
 * times as long. Prints the slowest of each; the exit code says whether all were fast enough. No
 * part of `npm test`, whose result is to say nothing about how busy the machine is.
 */
import {
  createKeyring,
  defineScopes,
  isKey,
  normalizeScopes,
  parseAuthorization,
  parseKey,
  parseScopes,
  redactKeys,
} from 'keyscope';
import { createTokenVerifier } from 'keyscope/jwt';
import { issueInputSchemaFor } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';

const MEGABYTE = 2 ** 20;
// For an input eight times as long: three times twice. Over one doubling, where a text is cut
// counts for too much.
const MAX_GROWTH = 2.5 ** 3;
// Shorter inputs have nothing that could grow.
const SHORT = 1000;

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const keyring = createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' });
const KEY = 'acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';

/** A text of `length` characters: one that repeats, between a beginning and an end. */
type Shape = (length: number) => string;
const shapes = (
  heads: readonly string[],
  parts: readonly string[],
  tails: readonly string[],
): readonly Shape[] =>
  heads.flatMap((head) =>
    parts.flatMap((part) =>
      tails.map(
        (tail): Shape =>
          (length) => {
            const middle = Math.max(0, length - head.length - tail.length);
            return head + part.repeat(Math.ceil(middle / part.length)).slice(0, middle) + tail;
          },
      ),
    ),
  );

const HEADERS = shapes(
  ['', 'Bearer ', 'bearer', 'Basic ', 'Basic a=', 'Basic a="', 'Basic a=b,', 'Basic a'],
  [
    'a',
    ' ',
    '\t',
    '=',
    'a=',
    'a=b,',
    'a=b , ',
    'a="b",',
    '"',
    '\\',
    '\\"',
    ',',
    'Bearer a ',
    'a ',
    '.',
    '\0',
    'é',
  ],
  ['', '!', '\n', ' ', '"', '=a', '\u212a'],
);
const SCOPES = shapes(
  ['', 'a:b ', '*:'],
  [
    'a',
    'a:',
    ':',
    '*',
    '* ',
    '*:* ',
    'a:b ',
    'a:* ',
    '- ',
    'a-',
    ' ',
    '\n',
    'é',
    'aA',
    'a:b\n',
    `${'a'.repeat(64)}:${'b'.repeat(64)} `,
  ],
  ['', ':', ' ', '\n', ':A'],
);
const KEYS = shapes(
  ['', 'acme_', KEY, ` ${KEY}`],
  [
    'a',
    '_',
    'acme_',
    'acme',
    'a_',
    KEY,
    `${KEY} `,
    KEY.slice(0, -1),
    `acme_${'a'.repeat(31)} `,
    `acme_${'a'.repeat(28)}`,
    '\0',
    'é',
  ],
  ['', '_', KEY, '!'],
);

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const TOKENS = shapes(
  [
    '',
    `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'k' })}.`,
    `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'k' })}.e30.`,
  ],
  ['a', '.', 'a.', 'A', '-_', '=', 'W1tb', 'eyJhIjpb', ' ', 'é'],
  ['', '.', '.a', '=', '..'],
);

/**
 * One value in the other as deep as it goes, and a field of what `issue` takes with as much in it.
 */
const nested =
  (open: string, end: string): Shape =>
  (length) => {
    const times = Math.floor(length / (open.length + end.length));
    return `${open.repeat(times)}1${end.repeat(times)}`;
  };
const field =
  (open: string, part: (i: number) => string, end: string): Shape =>
  (length) => {
    const parts = Array.from(
      { length: Math.max(1, Math.floor(length / part(99_999).length)) },
      (_, i) => part(i),
    );
    return `{"name":"n","expiresAt":"never","scopes":[],${open}${parts.join('').replace(/,$/, '')}${end}}`;
  };
const FORMS = [
  ...[
    nested('[', ']'),
    nested('{"a":', '}'),
    nested('{"metadata":', '}'),
    nested('[{"scopes":', '}]'),
  ],
  ...['a', 'é', 'e\\u0301', '\\u0000', '\\ud800', ' '].flatMap((part) =>
    ['name', 'justification', 'expiresAt'].map((name) => field(`"${name}":"`, () => part, '"')),
  ),
  ...['0', '.0', 'T', 'Z', '-'].map((part) =>
    field('"expiresAt":"2027-06-30T00:00:00', () => part, 'Z"'),
  ),
  ...['"a:b",', '"threats:read",', '"*:*",', '1,', '"",', '[],'].flatMap((part) =>
    ['scopes', 'accessibleEntities'].map((name) => field(`"${name}":[`, () => part, ']')),
  ),
  field('"metadata":{', (i) => `"k${i}":"v",`, '}'),
  field('"metadata":{"a":"', () => 'é', '"}'),
  field('"metadata":{"', () => 'a', '":""}'),
  field('', (i) => `"k${i}":1,`, ''),
];
const form = issueInputSchemaFor(catalog);
// Parsing is the engine's, and with many names the greater part: each text is parsed once.
let last: { readonly text?: string; readonly value?: unknown } = {};
function parseOnce(text: string): unknown {
  if (last.text !== text) last = { text, value: JSON.parse(text) };
  return last.value;
}
const { publicKey } = await crypto.subtle.generateKey(
  { name: 'ECDSA', namedCurve: 'P-256' },
  true,
  ['sign', 'verify'],
);
const verifier = createTokenVerifier({
  ...{
    issuer: 'https://acme.example',
    audience: 'https://api.acme.example',
    algorithms: ['ES256'],
    catalog,
  },
  jwks: {
    keys: [
      { ...(await crypto.subtle.exportKey('jwk', publicKey)), kid: 'k', alg: 'ES256', use: 'sig' },
    ],
  },
});

interface Reader {
  /** At most so many milliseconds, on anything up to 1 MB. */
  readonly ms: number;
  readonly shapes: readonly Shape[];
  /** The longest input that is read to its end. */
  readonly cap: number;
  read(text: string): unknown;
}

const refused = () => undefined;
const orRefuse = (act: () => unknown) => {
  try {
    return act();
  } catch {
    return undefined;
  }
};
const listOf = (text: string) => Array.from({ length: 256 }, () => text);

const READERS: Readonly<Record<string, Reader>> = {
  parseAuthorization: { ms: 50, shapes: HEADERS, cap: 16_384, read: parseAuthorization },
  'authenticate, a header': {
    ms: 50,
    shapes: HEADERS,
    cap: 16_384,
    read: (text) => keyring.authenticate({ rawHeaders: ['Authorization', text] }).catch(refused),
  },
  'parseScopes, a text': {
    ms: 20,
    shapes: SCOPES,
    cap: 4096,
    read: (text) => orRefuse(() => parseScopes(text)),
  },
  'parseScopes, a list of 256': {
    ms: 20,
    shapes: SCOPES,
    cap: 129,
    read: (text) => orRefuse(() => parseScopes(listOf(text))),
  },
  'normalizeScopes, the words of a text': {
    ms: 20,
    shapes: SCOPES,
    cap: 4096,
    read: (text) => orRefuse(() => normalizeScopes(text.slice(0, 4096).split(' '))),
  },
  'parseKey and isKey': {
    ms: 5,
    shapes: KEYS,
    cap: 37,
    read: (text) => [parseKey(text, { prefix: 'acme' }), isKey(text, { prefix: 'acme' })],
  },
  'verify, a key': {
    ms: 5,
    shapes: KEYS,
    cap: 37,
    read: (text) => keyring.verify(text).catch(refused),
  },
  'verify, a token': {
    ms: 50,
    shapes: TOKENS,
    cap: 16_384,
    read: (text) => verifier.verify(text).catch(refused),
  },
  'issueInputSchemaFor, a form': {
    ms: 50,
    shapes: FORMS,
    cap: MEGABYTE,
    read: (text) => form.safeParse(parseOnce(text)).success,
  },
  // No reader of requests: what a service writes to its log. It has no cap, so that it must be
  // linear all the way.
  redactKeys: {
    ms: Number.POSITIVE_INFINITY,
    shapes: KEYS,
    cap: MEGABYTE,
    read: (text) => redactKeys(text, { prefix: 'acme' }),
  },
};

/**
 * Milliseconds that one call takes: the least of several measurements, of calls enough to be
 * measured.
 */
async function time(read: Reader['read'], text: string, atLeastMs: number): Promise<number> {
  let [calls, least] = [1, Number.POSITIVE_INFINITY];
  for (let measured = 0; measured < 5; ) {
    const from = performance.now();
    for (let i = 0; i < calls; i++) await read(text);
    const took = performance.now() - from;
    if (took < atLeastMs) calls *= 2;
    else {
      least = Math.min(least, took / calls);
      measured += 1;
    }
  }
  return least;
}

const shown = (text: string) =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 40)}…${text.slice(-10)}` : text);
const slow: string[] = [];

for (const [name, { ms, shapes, cap, read }] of Object.entries(READERS)) {
  let worst = { took: 0, text: '' };
  let steepest = { growth: 0, text: '' };
  for (const shape of shapes) {
    for (const length of [cap, cap + 1, MEGABYTE]) {
      const text = shape(length);
      const took = await time(read, text, 0);
      if (took > worst.took) worst = { took, text };
    }
    if (cap < SHORT) continue;
    const [part, whole] = [shape(cap / 8), shape(cap)];
    // The least of several, until it is near 8: of two measurements one may have had somebody
    // else's turn in it.
    let growth = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < 5 && growth > 9; attempt++)
      growth = Math.min(growth, (await time(read, whole, 0.2)) / (await time(read, part, 0.2)));
    if (growth > steepest.growth) steepest = { growth, text: whole };
  }
  console.log(
    `${name}: at most ${worst.took.toFixed(3)} ms, ${worst.text.length} characters: ${shown(worst.text)}`,
  );
  const times = `${steepest.growth.toFixed(1)} times as long`;
  if (cap >= SHORT)
    console.log(`  for eight times as much, at most ${times}: ${shown(steepest.text)}`);
  if (worst.took > ms) slow.push(`${name} took ${worst.took.toFixed(1)} ms, not ${ms}`);
  if (steepest.growth > MAX_GROWTH) slow.push(`${name} took ${times} for eight times as much`);
}
console.log(slow.length === 0 ? 'all within their bounds' : slow.join('\n'));
process.exitCode = slow.length === 0 ? 0 : 1;
