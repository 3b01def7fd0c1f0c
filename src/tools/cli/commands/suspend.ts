/** `keyscope suspend` */
import type { Call } from '../call.js';
import { changeKey } from '../change-key.js';

/** Takes a key out of use until it is resumed. */
export async function run(call: Call): Promise<undefined> {
  const question = (shown: string) => `Suspend ${shown}?`;
  await changeKey(call, question, (keyring, ...key) => keyring.suspend(...key));
}
