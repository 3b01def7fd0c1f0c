/** Reads the JSON list of a report, and handles each of its tokens once. */
import type { LeakEnder } from './ender.js';
import type { Find } from './leak-handler-options.js';
import type { Source } from './sources.js';
import { createWhereReader } from './where.js';

/** Enough for more than a thousand finds. */
export const MAX_BODY_BYTES: number = 1024 * 1024;

/** A find, and the sender's name for this type of token. */
export interface ReportedFind extends Find {
  readonly type: string;
}

/**
 * Reads `[{ token, type, … }]`. The field named by `place` may say where the token was found.
 *
 * @returns `null` for anything else.
 */
export function readFinds(text: string, place: 'url' | 'location'): readonly ReportedFind[] | null {
  const list = listIn(text);
  if (list === null) return null;
  const finds: ReportedFind[] = [];
  for (const each of list) {
    const { token, type, [place]: where } = Object(each) as Readonly<Record<string, unknown>>;
    if (typeof token !== 'string' || typeof type !== 'string') return null;
    const isSaid = typeof where === 'string' && where !== '';
    finds.push({ token, type, where: isSaid ? where : null });
  }
  return finds;
}

function listIn(text: string): readonly unknown[] | null {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list : null;
  } catch {
    return null;
  }
}

/** How many tokens of one report are handled at once. */
const AT_ONCE = 4;

/**
 * Handles each token once. A failure stops one of the {@link AT_ONCE} workers, so that a broken
 * store soon stops all of them.
 *
 * @returns The tokens that are keys.
 * @throws The error of one worker, after all of them have stopped.
 */
export async function endAll(
  ender: LeakEnder,
  source: Source,
  finds: readonly Find[],
): Promise<ReadonlySet<string>> {
  const byToken = new Map(finds.map((find) => [find.token, find]));
  // The place of one find may contain the key of another.
  const readWhere = createWhereReader([...byToken.keys()]);
  // All workers take from this iterator.
  const left = byToken.values();
  const known = new Set<string>();
  async function work(): Promise<void> {
    for (const find of left) {
      if (await ender.end(source, find, readWhere)) known.add(find.token);
    }
  }
  const works = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
  const failed = works.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return known;
}
