/** Keys in every kind of text in which they leak, and texts without one. */
import { generateKey } from 'keyscope';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Makes random numbers that are the same in every run (mulberry32). */
export function chanceFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Makes a key whose characters depend on the seed. */
export function keyFrom(chance: () => number, prefix = 'acme'): string {
  const random = (length: number) => Uint8Array.from({ length }, () => Math.floor(chance() * 256));
  return generateKey({ prefix, random });
}

/** Makes a text with the shape of a key and a wrong checksum. */
export function nearKeyFrom(chance: () => number, prefix = 'acme'): string {
  const key = keyFrom(chance, prefix);
  const at = prefix.length + 1 + Math.floor(chance() * 32);
  const other = ALPHABET.charAt((ALPHABET.indexOf(key.charAt(at)) + 1) % ALPHABET.length);
  return key.slice(0, at) + other + key.slice(at + 1);
}

/** Puts a key into a context. */
export type Context = (key: string) => string | Buffer;

/** Contexts by name. Each contains the key unchanged. */
export const CONTEXTS: Readonly<Record<string, Context>> = {
  'a file of the environment': (key) => `PORT=80\nACME_KEY=${key}\nexport OTHER="${key}x"\n`,
  JSON: (key) => JSON.stringify({ user: 'ada', apiKey: key, list: [1, 2] }, null, 2),
  'JSON in JSON': (key) => JSON.stringify({ body: JSON.stringify({ note: `a\n${key}\n` }) }),
  'a query': (key) => `GET /x?token%3D${key}%26y=1 http://h/?k=${key}&z=2\n`,
  'an escaped equals sign': (key) => `{"url":"/x?key\\u003d${key}\\u0026y\\u003d1"}`,
  YAML: (key) => `env:\n  - name: KEY\n    value: ${key} # the key\n  - ${key}\n`,
  'a source text': (key) => `const client = new Client('${key}', \`${key}\`); // ${key}\n`,
  'a line of a log': (key) => `2026-11-24T03:00:00Z INFO auth="Bearer ${key}" status=200\n`,
  'minified code': (key) => `!function(){var a="x",b="${key}",c=1;fetch(a+b)}();`.repeat(3),
  'a line of a diff': (key) => `@@ -1 +1 @@\n-KEY=\n+KEY=${key}\n`,
  'a binary': (key) => binaryAround(key),
  'CRLF lines': (key) => `[keys]\r\nkey=${key}\r\nnext=1\r\n`,
  'letters and underscores that touch': (key) => `x${key}y MY_${key}_OLD 9${key}9 _${key}`,
  'another key that touches': (key) => key + key,
  'a beginning of another': (key) => `acme_${key} acme_0123456789ABCDEF${key} acme_${key}`,
};

function binaryAround(key: string): Buffer {
  const noise = Buffer.from(Uint8Array.from({ length: 64 }, (_, index) => (index * 37) & 255));
  return Buffer.concat([
    noise,
    Buffer.from([0, 255, 254]),
    Buffer.from(key),
    Buffer.from([0]),
    noise,
  ]);
}

/** Counts how often a key occurs in a text. */
export function countIn(text: string | Buffer, key: string): number {
  return Buffer.from(text).toString('latin1').split(key).length - 1;
}

/** Encodings that hide a key from a search for its characters. */
export const HIDDEN: Readonly<Record<string, Context>> = {
  base64: (key) => Buffer.from(`user:${key}`).toString('base64'),
  'UTF-16': (key) => Buffer.from(key, 'utf16le'),
  'a text in two parts': (key) => `'${key.slice(0, 12)}' + '${key.slice(12)}'`,
  'a percent sign before each character': (key) =>
    [...key].map((each) => `%${each.charCodeAt(0).toString(16)}`).join(''),
};

/**
 * Makes a text of about this many bytes with longer near-keys, hashes and words, but without
 * anything that a scan prints.
 */
export function innocentText(bytes: number, chance: () => number): string {
  const lines: string[] = [];
  for (let length = 0; length < bytes; ) {
    const line = innocentLine(chance);
    lines.push(line);
    length += line.length + 1;
  }
  return `${lines.join('\n')}\n`;
}

function innocentLine(chance: () => number): string {
  const kind = Math.floor(chance() * 6);
  const letters = (length: number, alphabet = ALPHABET) =>
    Array.from({ length }, () => alphabet.charAt(Math.floor(chance() * alphabet.length))).join('');
  if (kind === 0) return `key: ${nearKeyFrom(chance)}${letters(1)}`;
  if (kind === 1) return `"integrity": "sha512-${letters(86)}=="`;
  if (kind === 2) return `commit ${letters(40, '0123456789abcdef')} acme_${letters(31)}`;
  if (kind === 3) return `  return acme_${letters(8)}.acme_(${letters(12)}, 'ünïcödé'); // acme`;
  if (kind === 4) return `acme_acme_acme_${letters(33)}_acme_${letters(33)}`;
  return letters(Math.floor(chance() * 120));
}
