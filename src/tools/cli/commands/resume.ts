/** `keyscope resume` */
import type { Call } from '../call.js';
import { changeKey } from '../change-key.js';

/** Ends a suspension. Nothing is asked, because it can be undone. */
export async function run(call: Call): Promise<undefined> {
  await changeKey(call, null, (keyring, ...key) => keyring.resume(...key));
}
