/** A key with every field set, over several entities: one scope is reserved, one is not. */
import type { IssuedKey } from 'keyscope';
import { AUTHORITY, HOUR, OTHER, type Ring, START, untypedInput } from './keyring.ts';

/** An authority that may hand out what {@link issueWide} makes. */
export const WIDE = { ...AUTHORITY, entities: [OTHER] } as const;

/** Issues a key with `threats:read` and a reserved scope, for two entities and 9 hours. */
export function issueWide(
  keyring: Ring,
  expiresAt: Date | 'never' = new Date(START + 9 * HOUR),
): Promise<IssuedKey> {
  const input = {
    name: 'wide',
    scopes: ['threats:read', 'users:delete'],
    expiresAt,
    accessibleEntities: [OTHER],
    justification: 'off-boarding',
    metadata: { team: 'a' },
  };
  return keyring.issue(untypedInput(input), WIDE);
}
