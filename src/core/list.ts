/** Shows keys, and what became of them, to those who manage them. */
import { type CheckedAuthority, type Context, findOwn, requireOwn } from './context.js';
import { StoreError } from './errors.js';
import { assert, readFields, readInteger } from './input.js';
import { type KeyInfo, showRow } from './record.js';
import type { ListPosition, SchemeSummary } from './store.js';
import { isUuid } from './uuid.js';

/** `after`: `next` of the previous page. `limit`: 1 to 1,000; default 100. */
export type ListInput = {
  readonly after?: string | null | undefined;
  readonly limit?: number | undefined;
};

/**
 * One page, newest first. `next` is what to pass as `after` for the following page; `null` on the
 * last.
 */
export type ListPage = { readonly keys: readonly KeyInfo[]; readonly next: string | null };

export async function list(
  { store }: Context,
  { entityUuid }: CheckedAuthority,
  input: ListInput = {},
): Promise<ListPage> {
  const { after = null, limit: asked = 100 } = readFields(input, ['after', 'limit'], 'list');
  const limit = readInteger(asked, 1, 1000, 'limit');
  // One more than requested shows whether there is a next page.
  const rows = await store.list({
    entityUuid,
    after: after === null ? null : readCursor(after),
    limit: limit + 1,
  });
  const right = rows.length <= limit + 1 && rows.every((row) => row?.entityUuid === entityUuid);
  if (!right) throw new StoreError('store.list returned more than it was asked for');
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { keys: rows.slice(0, limit).map(showRow), next: last ? cursorOf(last) : null };
}

export const get = async (
  context: Context,
  by: CheckedAuthority,
  keyId: string,
): Promise<KeyInfo | null> => findOwn(context, by, keyId).then((row) => row && showRow(row));

/**
 * `unusedForMs`: a scope is named if it was not exercised for this long, in milliseconds; 0 or
 * more.
 */
export type AdviseInput = { readonly unusedForMs: number };

/**
 * What an integration could do without. `unusedScopes`: in the order of the catalog when the key
 * was made.
 */
export type Advice = { readonly unusedScopes: readonly string[]; readonly lastUsedAt: Date | null };

export async function advise(
  context: Context,
  by: CheckedAuthority,
  keyId: string,
  input: AdviseInput,
): Promise<Advice> {
  const { unusedForMs } = readFields(input, ['unusedForMs'], 'advise');
  const since =
    context.clock() - readInteger(unusedForMs, 0, Number.MAX_SAFE_INTEGER, 'unusedForMs');
  const { createdAt, scopes, scopesUsed, lastUsedAt } = showRow(
    await requireOwn(context, by, keyId),
  );
  // A scope that was never exercised counts from the key's creation: nothing is advised against a
  // new key.
  return {
    unusedScopes: scopes.filter((scope) => (scopesUsed[scope] ?? createdAt).getTime() <= since),
    lastUsedAt,
  };
}

/**
 * The live keys under one pepper. `pepper`: its id, `null` for keys without one. `accepted`:
 * whether the keyring accepts such keys now; if not, they are live only in the store.
 */
export type PepperUse = Omit<SchemeSummary, 'lastUsedAt'> &
  Readonly<{ pepper: string | null; lastUsedAt: Date | null; accepted: boolean }>;

export async function pepperReport({
  store,
  accepted,
  clock,
}: Context): Promise<readonly PepperUse[]> {
  const found = await store.summarize(clock());
  const taken = accepted().map(({ tag }) => tag.slice(0, -1));
  const unused = taken.filter((scheme) => !found.some((row) => row.scheme === scheme));
  return [...found, ...unused.map((scheme) => ({ scheme, live: 0, lastUsedAt: null }))].map(
    (row) => {
      const pepper = row.scheme.startsWith('h1.') ? row.scheme.slice(3) : null;
      const lastUsedAt = row.lastUsedAt === null ? null : new Date(row.lastUsedAt);
      return {
        scheme: row.scheme,
        pepper,
        live: row.live,
        lastUsedAt,
        accepted: taken.includes(row.scheme),
      };
    },
  );
}

/** A cursor is the position of the last record shown: creation time in base 36, a dot, key id. */
const cursorOf = ({ createdAt, keyId }: ListPosition) => `${createdAt.toString(36)}.${keyId}`;

/** Reads a cursor: it is genuine if writing it again gives the same text. */
function readCursor(cursor: unknown): ListPosition {
  const [time = '', keyId = ''] = typeof cursor === 'string' ? cursor.slice(0, 64).split('.') : [];
  const read = { createdAt: Number.parseInt(time, 36), keyId };
  const genuine =
    cursorOf(read) === cursor && Number.isSafeInteger(read.createdAt) && isUuid(keyId);
  assert(genuine, 'after: pass `next` of the page before', cursor);
  return read;
}
