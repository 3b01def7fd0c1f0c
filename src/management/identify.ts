/** Tells operators who hold a string whose key it is, whatever its state. */
import type { Context } from '../core/context.js';
import { digestsOf, matchIn } from '../core/verify.js';
import { readInfo } from './find.js';
import type { DamagedKey, KeyInfo } from './info.js';

export async function identify(
  context: Context,
  key: unknown,
): Promise<KeyInfo | DamagedKey | null> {
  if (context.format.faultIn(key) !== null) return null;
  const digests = digestsOf(context, key as string);
  const rows = await context.store.findByDigest(digests, { fresh: true });
  const row = matchIn(rows, digests);
  if (row === null) return null;
  const info = readInfo(context, row);
  const { keyId, entityUuid } = info;
  context.emit?.({ type: 'key.identified', time: context.clock(), keyId, entityUuid });
  return info;
}
