/** Reads `test/vectors/*.json` and expands its notation for large values. */
import { readFileSync } from 'node:fs';
import type { Pepper } from 'keyscope';

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

/** The fields that every vector has. */
export interface Vector {
  readonly id: number;
  readonly comment: string;
  readonly flags: readonly string[];
}

export function readVectors<File>(name: string): File {
  const text = readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8');
  return JSON.parse(text) as File;
}

/** One line per failing vector: its id and its comment. */
export const label = ({ id, comment }: Vector): string => `${id}: ${comment}`;

type Part = string | { readonly repeat: readonly [string, number] };

/** `["a", { "repeat": ["b", 3] }]` is `abbb`. */
export const concat = (parts: readonly Part[]): string =>
  parts
    .map((part) => (typeof part === 'string' ? part : part.repeat[0].repeat(part.repeat[1])))
    .join('');

export const uuid = (number: number): string =>
  `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;

/** A pepper whose secret is text, or bytes in hexadecimal. */
export type PepperVector = {
  readonly id: string;
  readonly secret?: string;
  readonly secretHex?: string;
};

export const bytesOf = (hex = ''): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));

export const pepperOf = ({ id, secret, secretHex }: PepperVector): Pepper => ({
  id,
  secret: secret ?? bytesOf(secretHex),
});

type Unfold = (args: readonly [Json, number]) => Json;

const NOTATION: ReadonlyMap<string, Unfold> = new Map<string, Unfold>([
  ['$repeat', ([text, count]) => String(text).repeat(count)],
  ['$list', ([element, count]) => Array.from({ length: count }, () => element)],
  ['$uuids', ([from, to]) => uuids(Number(from), to)],
]);

function uuids(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => uuid(from + index));
}

/**
 * Expands `$repeat`, `$list` and `$uuids` at any depth. All other fields are kept, including
 * `__proto__`.
 */
export function unfold(value: Json): Json {
  if (Array.isArray(value)) return value.map(unfold);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  if (entries.length === 1) {
    const [name = '', args] = entries[0] ?? [];
    const notation = NOTATION.get(name);
    if (notation !== undefined) return notation(args as unknown as [Json, number]);
  }
  return Object.fromEntries(entries.map(([field, content]) => [field, unfold(content)]));
}

/** Runs `check` on every vector and lists all failures, so that one run shows every one. */
export async function failures<V extends Vector>(
  vectors: readonly V[],
  check: (vector: V) => unknown,
): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const vector of vectors) {
    try {
      await check(vector);
    } catch (error) {
      failed.push(`${label(vector)}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failed;
}
