/** `keyscope show` */
import { authorityOf, type Call, keyIdOf } from '../call.js';
import { requireKey } from '../require-key.js';
import { fieldsOf } from '../shown-keys.js';
import { printFields } from '../table.js';

/** Shows one key of the organization. */
export async function run(call: Call): Promise<undefined> {
  const { output } = call;
  const keyId = keyIdOf(call);
  const authority = authorityOf(call);
  const { keyring } = await call.config();
  const { info } = await requireKey(keyring, keyId, authority);
  await printFields(output, info, fieldsOf(info));
}
