/** `keyscope revoke` */
import type { Call } from '../call.js';
import { changeKey } from '../change-key.js';

/** Ends a key for good, or with `--lineage` all that it was rotated from and into. */
export async function run(call: Call): Promise<undefined> {
  const isLineage = call.given.flag('lineage');
  const question = (shown: string) =>
    `Revoke ${shown}${isLineage ? ' and its lineage' : ''}, for good?`;
  await changeKey(call, question, async (keyring, ...key) => {
    if (!isLineage) return keyring.revoke(...key);
    const ended = await keyring.revokeLineage(...key);
    call.output.say(`Revoked by this call: ${ended.join(' ') || 'none, they had ended'}.`);
  });
}
