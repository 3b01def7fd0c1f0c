/** A key with every field set, over several entities, with a reserved scope and an ordinary one. */
import type { IssuedKey } from 'keyscope';
import { AUTHORITY, HOUR, OTHER, type Ring, START, untypedInput } from './keyring.ts';

/** An authority that may issue {@link issueWide}'s key. */
export const WIDE = { ...AUTHORITY, entities: [OTHER] } as const;

/**
 * A key with `threats:read` and a reserved scope, for its own entity and another. It lives for 9
 * hours.
 */
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
