/** Brings the drivers' answers into one shape. */

/** A row by column names. Unchecked: types depend on the options of the driver. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * The rows of an answer. mysql2 returns `[rows, fields]`; mariadb returns the rows, or the same as
 * mysql2 with `metaAsArray`.
 */
export function rowsOf(answer: unknown): readonly Row[] {
  if (!Array.isArray(answer)) return [];
  const list: readonly unknown[] = answer;
  const first = list[0];
  const rows: readonly unknown[] = Array.isArray(first) ? first : list;
  return rows as readonly Row[];
}

/** A column of the first row. */
export function firstValue(answer: unknown, column: string): unknown {
  return rowsOf(answer)[0]?.[column];
}

/** The number of rows that a write affected. mysql2 returns the header in a list. */
export function affectedRows(answer: unknown): number {
  const header: unknown = Array.isArray(answer) ? answer[0] : answer;
  return Number((header as { readonly affectedRows?: unknown } | undefined)?.affectedRows);
}
