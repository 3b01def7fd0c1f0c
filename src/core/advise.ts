/** Says which scopes an integration could do without. */
import type { CheckedAuthority } from './authority.js';
import type { Context } from './context.js';
import { readInfo, requireOwn } from './find.js';
import { readFields, readInteger } from './input.js';

/** When a scope counts as unused. */
export interface AdviseInput {
  /** A scope is named if it was not exercised for this long, in milliseconds; 0 or more. */
  readonly unusedForMs: number;
}

/** What an integration could do without. */
export interface Advice {
  /** In the order of the catalog when the key was made. */
  readonly unusedScopes: readonly string[];
  readonly lastUsedAt: Date | null;
}

export async function advise(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
  input: AdviseInput,
): Promise<Advice> {
  const given = readFields(input, ['unusedForMs'], 'advise');
  const now = context.clock();
  const since = now - readInteger(given.unusedForMs, 0, Number.MAX_SAFE_INTEGER, 'unusedForMs');
  const info = readInfo(await requireOwn(context, authority, keyId));
  // A scope that was never exercised counts from the key's creation: nothing is advised against a
  // new key.
  const lastUse = (scope: string): Date => info.scopesUsed[scope] ?? info.createdAt;
  const unusedScopes = info.scopes.filter((scope) => lastUse(scope).getTime() <= since);
  return { unusedScopes, lastUsedAt: info.lastUsedAt };
}
