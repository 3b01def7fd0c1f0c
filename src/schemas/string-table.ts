/** Tables from names to texts. */
import * as z from 'zod';

/** A name and its content. */
export type Pair = readonly [name: string, content: unknown];

/** What a table must be. */
export interface TableRule {
  /** Whether all pairs together are valid. */
  readonly holds: (pairs: readonly Pair[]) => boolean;
  /** What the error says. */
  readonly instead: string;
  /** The part of the rule that a JSON Schema can express. */
  readonly json: JsonRule;
  /** How many pairs there may be. Default: any number. */
  readonly max?: number;
}

type JsonRule = Readonly<Record<string, unknown>>;

/**
 * A table, passed on unchanged. Not `z.record`, because it drops a key `__proto__` and quotes the
 * invalid key in its issues.
 */
export function tableOf(rule: TableRule): z.ZodUnknown {
  const { holds, instead, json, max = Number.POSITIVE_INFINITY } = rule;
  // Counts the pairs before reading them.
  const isSound = (value: unknown): boolean =>
    isTable(value) && Object.keys(value).length <= max && holds(Object.entries(value));
  return z
    .unknown()
    .refine(isSound, instead)
    .meta({ type: 'object', ...json });
}

function isTable(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
