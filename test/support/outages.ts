/** Every operation that calls a store, and a key that existed before the store broke. */
import { memoryStore } from 'keyscope/stores/memory';
import {
  AUTHORITY,
  type Between,
  bearer,
  HOUR,
  issue,
  OTHER,
  PLAIN,
  policy,
  type Ring,
  setUp,
  wrap,
} from './keyring.ts';

/** May grant its keys for another entity, too. */
export const WIDE = { ...AUTHORITY, entities: [OTHER] } as const;

/** A key issued before anything breaks. */
export type Known = { readonly key: string; readonly keyId: string };

/** Every operation that calls the store. If one resolves, a request would have passed. */
export const OPERATIONS: Readonly<
  Record<string, (keyring: Ring, known: Known) => Promise<unknown>>
> = {
  issue: (keyring) => issue(keyring),
  identify: (keyring, { key }) => keyring.identify(key),
  verify: (keyring, { key }) => keyring.verify(key),
  authenticate: (keyring, { key }) => keyring.authenticate(bearer(key)),
  admit: (keyring, { key }) => keyring.admit(bearer(key), { policy, operation: 'list' }),
  revoke: (keyring, { keyId }) => keyring.revoke(keyId, AUTHORITY),
  revokeLineage: (keyring, { keyId }) => keyring.revokeLineage(keyId, AUTHORITY),
  suspend: (keyring, { keyId }) => keyring.suspend(keyId, AUTHORITY),
  resume: (keyring, { keyId }) => keyring.resume(keyId, AUTHORITY),
  withdraw: (keyring, { keyId }) => keyring.withdraw(keyId, { entityUuid: OTHER }),
  rotate: (keyring, { keyId }) => keyring.rotate(keyId, { overlapMs: HOUR }, WIDE),
  list: (keyring) => keyring.list({}, AUTHORITY),
  'list addressing': (keyring) => keyring.list({ addressing: true }, { entityUuid: OTHER }),
  get: (keyring, { keyId }) => keyring.get(keyId, AUTHORITY),
  flush: (keyring) => keyring.flush(),
};

/** A store with a key and pending usage. `between` takes effect once they exist. */
export async function behind(between: Between) {
  let armed = false;
  const store = wrap(memoryStore(), (method, args, call) =>
    armed ? between(method, args, call) : call(),
  );
  const { keyring } = setUp({ store });
  const { key, info } = await keyring.issue({ ...PLAIN, accessibleEntities: [OTHER] }, WIDE);
  await keyring.admit(bearer(key), { policy, operation: 'list' });
  armed = true;
  return { keyring, known: { key, keyId: info.keyId } };
}
