/**
 * `npm run lab -- linear`: measures the readers of untrusted text on inputs of up to 1 MB that are
 * made to be slow. A header or a token may take at most 50 ms, a list of scopes 20, a key 5, a form
 * to issue a key 50 in addition to JSON.parse. Within their caps, an input twice as long may take
 * at most 2.5 times as long. Prints the slowest of each; the exit code says whether all were fast
 * enough. Not part of `npm test`, which must not depend on how busy the machine is.
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
// For an input eight times as long, which is three doublings. Over one doubling, the place where a
// text is cut has too much influence.
const MAX_GROWTH = 2.5 ** 3;
// Growth of shorter inputs means nothing.
const SHORT = 1000;

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const keyring = createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' });
const KEY = 'acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';

/** Makes a text of `length` characters. */
type Shape = (length: number) => string;

/** Repeats a part between a head and a tail. */
function repeating(head: string, part: string, tail: string): Shape {
  return (length) => {
    const middle = Math.max(0, length - head.length - tail.length);
    const times = Math.ceil(middle / part.length);
    return head + part.repeat(times).slice(0, middle) + tail;
  };
}

/** Combines each part with each head and each tail. */
function shapes(
  heads: readonly string[],
  parts: readonly string[],
  tails: readonly string[],
): readonly Shape[] {
  const all: Shape[] = [];
  for (const head of heads) {
    for (const part of parts) {
      for (const tail of tails) all.push(repeating(head, part, tail));
    }
  }
  return all;
}

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

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

const HEADER = encode({ alg: 'ES256', typ: 'at+jwt', kid: 'k' });
const TOKENS = shapes(
  ['', `${HEADER}.`, `${HEADER}.e30.`],
  ['a', '.', 'a.', 'A', '-_', '=', 'W1tb', 'eyJhIjpb', ' ', 'é'],
  ['', '.', '.a', '=', '..'],
);

// ── Forms ────────────────────────────────────────────────────────────────────────────────────────

/** Nests values as deep as the length allows. */
function nested(open: string, end: string): Shape {
  return (length) => {
    const times = Math.floor(length / (open.length + end.length));
    return `${open.repeat(times)}1${end.repeat(times)}`;
  };
}

/** An input of `issue` with one field that fills the rest of the length. */
function field(open: string, partOf: (index: number) => string, end: string): Shape {
  return (length) => {
    const count = Math.max(1, Math.floor(length / partOf(99_999).length));
    const parts = Array.from({ length: count }, (_, index) => partOf(index));
    const content = parts.join('').replace(/,$/, '');
    return `{"name":"n","expiresAt":"never","scopes":[],${open}${content}${end}}`;
  };
}

/** A field with a part that repeats. */
function fieldOf(open: string, part: string, end: string): Shape {
  return field(open, () => part, end);
}

function forms(): readonly Shape[] {
  const all: Shape[] = [
    nested('[', ']'),
    nested('{"a":', '}'),
    nested('{"metadata":', '}'),
    nested('[{"scopes":', '}]'),
    field('"metadata":{', (index) => `"k${index}":"v",`, '}'),
    fieldOf('"metadata":{"a":"', 'é', '"}'),
    fieldOf('"metadata":{"', 'a', '":""}'),
    field('', (index) => `"k${index}":1,`, ''),
  ];
  for (const part of ['a', 'é', 'e\\u0301', '\\u0000', '\\ud800', ' ']) {
    for (const name of ['name', 'justification', 'expiresAt']) {
      all.push(fieldOf(`"${name}":"`, part, '"'));
    }
  }
  for (const part of ['0', '.0', 'T', 'Z', '-']) {
    all.push(fieldOf('"expiresAt":"2027-06-30T00:00:00', part, 'Z"'));
  }
  for (const part of ['"a:b",', '"threats:read",', '"*:*",', '1,', '"",', '[],']) {
    for (const name of ['scopes', 'accessibleEntities']) {
      all.push(fieldOf(`"${name}":[`, part, ']'));
    }
  }
  return all;
}

const form = issueInputSchemaFor({ catalog });

// The engine's parsing takes most of the time with many names, so each text is parsed once.
let parsed: { readonly text: string; readonly value: unknown } | undefined;
function parseOnce(text: string): unknown {
  if (parsed?.text !== text) parsed = { text, value: JSON.parse(text) };
  return parsed.value;
}

// ── Readers ──────────────────────────────────────────────────────────────────────────────────────

const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
  'sign',
  'verify',
]);
const jwk = await crypto.subtle.exportKey('jwk', pair.publicKey);
const verifier = createTokenVerifier({
  issuer: 'https://acme.example',
  audience: 'https://api.acme.example',
  algorithms: ['ES256'],
  catalog,
  jwks: { keys: [{ ...jwk, kid: 'k', alg: 'ES256', use: 'sig' }] },
});

interface Reader {
  /** The maximum in milliseconds, on any input up to 1 MB. */
  readonly ms: number;
  readonly shapes: readonly Shape[];
  /** The longest input that the reader reads to its end. */
  readonly cap: number;
  read(text: string): unknown;
}

const refused = () => undefined;

function orRefuse(act: () => unknown): unknown {
  try {
    return act();
  } catch {
    return undefined;
  }
}

function listOf(text: string): readonly string[] {
  return Array.from({ length: 256 }, () => text);
}

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
    shapes: forms(),
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

// ── Measurements ─────────────────────────────────────────────────────────────────────────────────

/**
 * Returns the milliseconds of one call: the minimum of several measurements, each of enough calls
 * to be measurable.
 */
async function time(read: Reader['read'], text: string, atLeastMs: number): Promise<number> {
  let calls = 1;
  let least = Number.POSITIVE_INFINITY;
  let measured = 0;
  while (measured < 5) {
    const from = performance.now();
    for (let call = 0; call < calls; call++) await read(text);
    const took = performance.now() - from;
    if (took < atLeastMs) {
      calls *= 2;
    } else {
      least = Math.min(least, took / calls);
      measured += 1;
    }
  }
  return least;
}

/** Finds the slowest input of a reader. */
async function readWorst({ shapes, cap, read }: Reader) {
  let worst = { took: 0, text: '' };
  for (const shape of shapes) {
    for (const length of [cap, cap + 1, MEGABYTE]) {
      const text = shape(length);
      const took = await time(read, text, 0);
      if (took > worst.took) worst = { took, text };
    }
  }
  return worst;
}

/** Returns how many times longer an input of eight times the length takes. */
async function readGrowth({ cap, read }: Reader, shape: Shape): Promise<number> {
  const part = shape(cap / 8);
  const whole = shape(cap);
  // The minimum of several, until it is near 8: another process may have disturbed one of two
  // turn in it.
  let growth = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5 && growth > 9; attempt++) {
    const ratio = (await time(read, whole, 0.2)) / (await time(read, part, 0.2));
    growth = Math.min(growth, ratio);
  }
  return growth;
}

/** Finds the input of a reader whose time grows most with its length. */
async function readSteepest(reader: Reader) {
  let steepest = { growth: 0, text: '' };
  for (const shape of reader.shapes) {
    const growth = await readGrowth(reader, shape);
    if (growth > steepest.growth) steepest = { growth, text: shape(reader.cap) };
  }
  return steepest;
}

function shown(text: string): string {
  const short = text.length > 60 ? `${text.slice(0, 40)}…${text.slice(-10)}` : text;
  return JSON.stringify(short);
}

/** Measures a reader, prints the result, and returns what was too slow. */
async function measure(name: string, reader: Reader): Promise<string[]> {
  const slow: string[] = [];
  const { took, text } = await readWorst(reader);
  const what = `${text.length} characters: ${shown(text)}`;
  console.log(`${name}: at most ${took.toFixed(3)} ms, ${what}`);
  if (took > reader.ms) slow.push(`${name} took ${took.toFixed(1)} ms, not ${reader.ms}`);
  if (reader.cap < SHORT) return slow;
  const steepest = await readSteepest(reader);
  const times = `${steepest.growth.toFixed(1)} times as long`;
  console.log(`  for eight times as much, at most ${times}: ${shown(steepest.text)}`);
  const isSteep = steepest.growth > MAX_GROWTH;
  if (isSteep) slow.push(`${name} took ${times} for eight times as much`);
  return slow;
}

const slow: string[] = [];
for (const [name, reader] of Object.entries(READERS)) slow.push(...(await measure(name, reader)));
console.log(slow.length === 0 ? 'all within their bounds' : slow.join('\n'));
process.exitCode = slow.length === 0 ? 0 : 1;
