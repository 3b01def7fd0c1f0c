/**
 * Fuzzes keys and the texts around them. Compares the result with a second implementation, written
 * differently and without regard to speed.
 */
import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import * as keyscope from 'keyscope';
import type { Json } from '../../support/vectors.ts';
import { readVectors } from '../../support/vectors.ts';
import { KEY, LETTERS } from './alphabet.ts';
import type { Target } from './judge.ts';
import { requireRefusal, timed } from './judge.ts';

const { parseKey, isKey, keyPattern, redactKeys } = timed(keyscope);

interface KeyVectors {
  readonly tests: readonly { readonly key: Json; readonly prefix: Json }[];
}

function inBase62(number: number): string {
  const digit = LETTERS.charAt(number % 62);
  return number < 62 ? digit : inBase62(Math.floor(number / 62)) + digit;
}

function isPrefix(it: unknown): it is string {
  if (typeof it !== 'string' || it.length > 20) return false;
  return /^[a-z][a-z0-9_]*$/.test(it) && !it.endsWith('_');
}

/** Every position where something in the shape of a key begins, even inside another. */
function shapesIn(text: string, prefix: string): readonly number[] {
  const shape = new RegExp(`(?=${prefix}_[0-9A-Za-z]{32})`, 'g');
  return [...text.matchAll(shape)].map(({ index }) => index);
}

/** Everything in the shape of a key, together with what overlaps it, becomes one mark. */
function redacted(text: string, prefix: string): string {
  let out = '';
  let end = 0;
  for (const from of shapesIn(text, prefix)) {
    if (from >= end) out += `${text.slice(end, from)}${prefix}_[redacted]`;
    end = from + prefix.length + 33;
  }
  return out + text.slice(end);
}

/** The parts of a key, or null. */
function partsOf(text: string, prefix: string) {
  const secret = text.slice(-32);
  const entropy = text.slice(-32, -6);
  const checksum = text.slice(-6);
  const right = inBase62(crc32(`${prefix}_${entropy}`)).padStart(6, '0');
  return checksum === right ? { prefix, secret, entropy, checksum } : null;
}

export const key: Target = {
  seeds: [
    ...readVectors<KeyVectors>('keys').tests.map((each) => [each.key, each.prefix]),
    [`sent ${KEY}, and ${KEY}`, 'acme'],
    [`acme_${KEY.repeat(3)}`, 'acme'],
    ['a_'.repeat(40), 'a'],
  ],
  words: [KEY, KEY.slice(0, 20), 'acme_', 'acme', '_', 'a', 'A9', '[redacted]', 'acme_[redacted]'],
  check(input) {
    const given = Array.isArray(input) ? (input as readonly unknown[]) : [input, 'acme'];
    const text = given[0] as string;
    const prefix = given[1] as string;
    const options = { prefix };
    if (!isPrefix(prefix)) {
      for (const read of [parseKey, isKey, redactKeys]) {
        requireRefusal(() => read(text, options), input);
      }
      return requireRefusal(() => keyPattern(prefix), input);
    }
    if (typeof text !== 'string') {
      assert.equal(parseKey(text, options), null);
      assert.equal(isKey(text, options), false);
      return requireRefusal(() => redactKeys(text, options), input);
    }
    const isShape = text.length === prefix.length + 33 && shapesIn(text, prefix)[0] === 0;
    const parts = isShape ? partsOf(text, prefix) : null;
    assert.deepEqual(parseKey(text, options), parts);
    assert.equal(isKey(text, options), parts !== null);
    assert.equal(new RegExp(`^(?:${keyPattern(prefix)})$`).test(text), isShape);
    const out = redactKeys(text, options);
    assert.equal(out, redacted(text, prefix));
    assert.deepEqual(shapesIn(out, prefix), []);
  },
};
