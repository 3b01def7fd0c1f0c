/**
 * Canaries: secrets that the tests search for, in every spelling, in everything a program shows of
 * a value.
 */
import { inspect } from 'node:util';
import { isAccessError, type KeyRecord } from 'keyscope';

/** A secret and the name under which a test reports it. */
export interface Canary {
  readonly name: string;
  readonly spellings: readonly string[];
}

/** A text, plus its bytes in hexadecimal and base64. */
export function canary(name: string, secret: string): Canary {
  const bytes = Buffer.from(secret);
  const spellings = [secret, bytes.toString('hex'), ...base64Of(bytes)];
  return { name, spellings: [...new Set(spellings)] };
}

function base64Of(bytes: Buffer): readonly string[] {
  return [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')];
}

/** A key and the parts of its secret. Shorter runs could match by chance. */
export function keyCanaries(name: string, key: string): readonly Canary[] {
  return [
    canary(name, key),
    canary(`${name}: secret`, key.slice(-32)),
    canary(`${name}: entropy`, key.slice(-32, -6)),
    canary(`${name}: first half`, key.slice(-32, -16)),
    canary(`${name}: second half`, key.slice(-16)),
  ];
}

/** The digest and the seal of a row. */
export function rowCanaries(name: string, { digest, seal }: KeyRecord): readonly Canary[] {
  const hex = digest.slice(digest.indexOf('$') + 1);
  return [...hexCanaries(`${name}: digest`, hex), ...hexCanaries(`${name}: seal`, seal ?? hex)];
}

/** The hexadecimal text in every spelling, and the bytes it encodes in base64. */
function hexCanaries(name: string, hex: string): readonly Canary[] {
  const bytes = { name: `${name} bytes`, spellings: base64Of(Buffer.from(hex, 'hex')) };
  return [canary(name, hex), bytes];
}

const EVERYTHING = {
  depth: Number.POSITIVE_INFINITY,
  showHidden: true,
  maxArrayLength: null,
  maxStringLength: null,
};

/**
 * Everything that a logger could find in a value: text, JSON, every kind of inspection, and all own
 * properties, including hidden ones and symbols. The only exception is the `cause` of a
 * `StoreError`, which belongs to the driver.
 */
function* reveal(value: unknown, seen: Set<unknown> = new Set()): Generator<string> {
  if (typeof value === 'string') yield value;
  const isPart = typeof value === 'object' || typeof value === 'function';
  if (!isPart || value === null || seen.has(value)) return;
  seen.add(value);
  yield String(value);
  yield JSON.stringify(value) ?? '';
  yield inspect(value, { depth: Number.POSITIVE_INFINITY });
  yield inspect(value, EVERYTHING);
  if (isAccessError(value)) yield `${value.reason} ${value.keyId}`;
  for (const name of Reflect.ownKeys(value)) {
    yield String(name);
    const property = Object.getOwnPropertyDescriptor(value, name);
    const isData = property !== undefined && 'value' in property;
    yield* reveal(isData ? property.value : Reflect.get(value, name), seen);
  }
}

/** The names of the canaries that occur anywhere in `values`. */
export function canariesIn(
  values: readonly unknown[],
  canaries: readonly Canary[],
): readonly string[] {
  const text = values.flatMap((value) => [...reveal(value)]).join('\n');
  const isIn = ({ spellings }: Canary) => spellings.some((spelling) => text.includes(spelling));
  return canaries.filter(isIn).map(({ name }) => name);
}
