/** Every operation that asks a store, and a key that existed before the store broke. */
import { memoryStore } from 'keyscope/stores/memory';
import {
  AUTHORITY,
  type Between,
  bearer,
  HOUR,
  issue,
  OTHER,
  PLAIN,
  type Ring,
  setUp,
  wrap,
} from './keyring.ts';

/** An authority that may also grant keys for another entity. */
export const WIDE = { ...AUTHORITY, entities: [OTHER] } as const;

/** A key made before anything breaks. */
export type Known = { readonly key: string; readonly keyId: string };

/** Every operation that asks the store. If it resolves, a request has passed. */
export const OPERATIONS: Readonly<
  Record<string, (keyring: Ring, known: Known) => Promise<unknown>>
> = {
  issue: (keyring) => issue(keyring),
  identify: (keyring, { key }) => keyring.identify(key),
  verify: (keyring, { key }) => keyring.verify(key),
  authenticate: (keyring, { key }) => keyring.authenticate(bearer(key)),
  admit: (keyring, { key }) => keyring.admit(bearer(key), { operation: 'list' }),
  revoke: (keyring, { keyId }) => keyring.revoke(keyId, AUTHORITY),
  revokeLineage: (keyring, { keyId }) => keyring.revokeLineage(keyId, AUTHORITY),
  suspend: (keyring, { keyId }) => keyring.suspend(keyId, AUTHORITY),
  resume: (keyring, { keyId }) => keyring.resume(keyId, AUTHORITY),
  withdraw: (keyring, { keyId }) => keyring.withdraw(keyId, { entityId: OTHER }),
  rotate: (keyring, { keyId }) => keyring.rotate(keyId, { overlapMs: HOUR }, WIDE),
  list: (keyring) => keyring.list({}, AUTHORITY),
  'list addressing': (keyring) => keyring.list({ addressing: true }, { entityId: OTHER }),
  get: (keyring, { keyId }) => keyring.get(keyId, AUTHORITY),
  flush: (keyring) => keyring.flush(),
};

/** Makes a store with a key and pending usage, behind `between`, which starts to act afterwards. */
export async function behind(between: Between) {
  let armed = false;
  const store = wrap(memoryStore(), (method, args, call) =>
    armed ? between(method, args, call) : call(),
  );
  const { keyring } = setUp({ store });
  const { key, info } = await keyring.issue({ ...PLAIN, accessibleEntities: [OTHER] }, WIDE);
  await keyring.admit(bearer(key), { operation: 'list' });
  armed = true;
  return { keyring, known: { key, keyId: info.keyId } };
}
