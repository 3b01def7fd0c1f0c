/** The schemas of tables from names to texts. */
import * as z from 'zod';

/** A name and its content. */
export type Pair = readonly [name: string, content: unknown];

/** The rule of a table. */
export interface TableRule {
  /** Checks all pairs together. */
  readonly holds: (pairs: readonly Pair[]) => boolean;
  /** The text of the error. */
  readonly instead: string;
  /** The part of the rule that a JSON Schema can express. */
  readonly json: JsonRule;
  /** The most pairs. Default: unlimited. */
  readonly max?: number;
}

type JsonRule = Readonly<Record<string, unknown>>;

/**
 * Makes the schema of a table, which it passes on unchanged. Not `z.record`, because that drops a
 * key `__proto__` and quotes the invalid key in its issues.
 */
export function tableOf(rule: TableRule): z.ZodUnknown {
  const { holds, instead, json, max = Number.POSITIVE_INFINITY } = rule;
  // Counts the pairs before it reads them.
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
