/** `keyscope rotate` */
import { authorityOf, type Call, keyIdOf } from '../call.js';
import { deliver } from '../deliver.js';
import { requireKey } from '../require-key.js';
import { readExpiry, readList, readSpan } from '../values.js';

/** Replaces a key. What is not written is the old key's; nothing can be wider. */
export async function run(call: Call): Promise<undefined> {
  const { given, terminal } = call;
  const keyId = keyIdOf(call);
  const authority = authorityOf(call);
  const expires = given.text('expires');
  const scopes = given.text('scopes');
  const entities = given.text('entities');
  const overlapMs = readSpan(given.required('overlap'), 'overlap');
  const input = {
    overlapMs,
    name: given.text('name'),
    scopes: scopes === undefined ? undefined : readList(scopes),
    accessibleEntities: entities === undefined ? undefined : readList(entities),
    expiresAt: expires === undefined ? undefined : readExpiry(expires, Date.now()),
    justification: given.text('justification'),
  };
  const { keyring } = await call.config();
  const { info, shown } = await requireKey(keyring, keyId, authority);
  const when = overlapMs === 0 ? 'at once' : `in ${given.required('overlap')}`;
  await terminal.confirm(`Replace ${shown}, and end it ${when}?`, given.flag('yes'));
  // What the old key can address may be handed on.
  const held = 'name' in info ? info.accessibleEntities : [];
  const grant = { ...authority, entities: held, scopes: 'all' } as const;
  await deliver(call, () => keyring.rotate(keyId, input, grant));
}
