/** Counts the keys under each pepper, for those who operate a service. */
import type { Context } from './context.js';
import type { SchemeSummary } from './store.js';

/** The live keys under one pepper. */
export interface PepperUse {
  /** `h1.<pepper id>` or `s1`. */
  readonly scheme: string;
  /** The id of the pepper; null for keys without one. */
  readonly pepper: string | null;
  /** How many keys are live. */
  readonly live: number;
  /** When one of them was last used; null for never. */
  readonly lastUsedAt: Date | null;
  /** Whether the keyring accepts such keys now; if not, they are live only in the store. */
  readonly accepted: boolean;
}

export async function pepperReport(context: Context): Promise<readonly PepperUse[]> {
  const summaries = await context.store.summarize(context.clock());
  // Without the `$` that ends a tag.
  const accepted = context.acceptedSchemes().map(({ tag }) => tag.slice(0, -1));
  const used = new Set(summaries.map(({ scheme }) => scheme));
  const unused = accepted
    .filter((scheme) => !used.has(scheme))
    .map((scheme): SchemeSummary => ({ scheme, live: 0, lastUsedAt: null }));
  return [...summaries, ...unused].map((summary) => toPepperUse(summary, accepted));
}

function toPepperUse(summary: SchemeSummary, accepted: readonly string[]): PepperUse {
  const { scheme, live, lastUsedAt } = summary;
  return {
    scheme,
    pepper: scheme.startsWith('h1.') ? scheme.slice('h1.'.length) : null,
    live,
    lastUsedAt: lastUsedAt === null ? null : new Date(lastUsedAt),
    accepted: accepted.includes(scheme),
  };
}
