/** What reports have in common: a list in JSON, of which each token is looked at once. */
import type { LeakEnder } from './ender.js';
import type { Find } from './leak-handler-options.js';
import type { Source } from './sources.js';
import { createWhereReader } from './where.js';

/** Longer than a thousand finds. */
export const MAX_BODY_BYTES: number = 1024 * 1024;

/** A find, and what its sender calls this kind of token. */
export interface ReportedFind extends Find {
  readonly type: string;
}

/**
 * Reads `[{ token, type, … }]`, in which `place` may say where it was found.
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

/** At once, of one report. */
const AT_ONCE = 4;

/**
 * Looks at each token once. What fails stops nothing else at first; a store that is down stops it
 * after as many failures as there are at once.
 *
 * @returns The tokens that are keys.
 * @throws What one of them threw, when no more is under way.
 */
export async function endAll(
  ender: LeakEnder,
  source: Source,
  finds: readonly Find[],
): Promise<ReadonlySet<string>> {
  const byToken = new Map(finds.map((find) => [find.token, find]));
  // Of several reports in one body, the place of one may have the key of another.
  const readWhere = createWhereReader([...byToken.keys()]);
  // All of them take from one list.
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
