/** Finds out for operators whose key a string is, whatever its state. */
import type { Context } from '../core/context.js';
import { StoreError } from '../core/errors.js';
import { readFields } from '../core/input.js';
import { digestsOf, matchIn } from '../core/verify.js';
import { readOptionalText } from './authority.js';
import { voucherOf } from './ended.js';
import { readFresh, readInfo } from './find.js';
import type { DamagedKey, KeyInfo } from './info.js';
import { tell } from './trail.js';

/** The options of `identify`: who asks and why, for the event. */
export interface IdentifyOptions {
  /** Who asks: 1 to 200 characters, without API keys. */
  readonly actor?: string | undefined;
  /** Why: 1 to 200 characters, without API keys. */
  readonly reason?: string | undefined;
}

export async function identify(
  context: Context,
  key: unknown,
  options: IdentifyOptions = {},
): Promise<KeyInfo | DamagedKey | null> {
  const given = readFields(options, ['actor', 'reason'], 'identify');
  const actor = readOptionalText(given.actor, 'identify: actor');
  const reason = readOptionalText(given.reason, 'identify: reason');
  if (context.format.faultIn(key) !== null) return null;
  const digests = digestsOf(context, key as string);
  const rows = await context.store.findByDigest(digests, { fresh: true });
  const row = matchIn(rows, digests);
  if (row === null) return null;
  const info = readInfo(context, row);
  if (voucherOf(context, row) === 'nothing') {
    // The row was edited. Make sure that it names its own key, so that an operator who acts on the
    // id does not end another one.
    const named = await readFresh(context, info.keyId);
    if (named?.digest !== row.digest) throw new StoreError('the row of a key names another key');
  }
  tell(context, { actor, reason }, info, context.clock(), { type: 'key.identified' });
  return info;
}
