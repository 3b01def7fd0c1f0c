/** The parts of a new key that `issue`, `rotate` and `trust` share. */
import { isUuid } from '../../core/uuid.js';
import type { GrantAuthority } from '../../management/authority.js';
import type { KeyInfo } from '../../management/info.js';
import type { IssueInput } from '../../management/issue.js';
import type { Keyring } from '../../management/keyring.js';
import {
  authorityOf,
  type Call,
  type ChosenConfig,
  chooseKeyring,
  entitiesOf,
  requireScopes,
} from './call.js';
import { CommandError, usageError } from './command-error.js';
import { readExpiry, readPairs, shownSpan } from './options.js';

/** A key to create. */
interface NewKey {
  readonly keyring: Keyring;
  readonly input: IssueInput;
  readonly authority: GrantAuthority;
}

/** Reads it from the command line, and the keyring from the config. */
export async function readNewKey(call: Call): Promise<NewKey> {
  const { given } = call;
  const entities = entitiesOf(call) ?? [];
  const authority = { ...authorityOf(call), entities, scopes: 'all' } as const;
  const metadata = given.text('metadata');
  const fields = {
    name: given.required('name'),
    expiresAt: readExpiry(given.required('expires'), Date.now()),
    accessibleEntities: entities,
    justification: given.text('justification'),
    metadata: metadata === undefined ? undefined : readPairs(metadata),
  };
  const { keyring, maxLifetimeMs } = await configThatKeeps(call);
  requireLifetime(fields.expiresAt, maxLifetimeMs);
  const input = { ...fields, scopes: requireScopes(given.required('scopes'), keyring.catalog) };
  return { keyring, input, authority };
}

/** Throws if a key would live longer than the keyring allows, and names the limit. */
export function requireLifetime(expiresAt: Date | 'never', mostMs: number | undefined): void {
  if (mostMs === undefined) return;
  if (expiresAt !== 'never' && expiresAt.getTime() - Date.now() <= mostMs) return;
  const most = shownSpan(mostMs);
  throw usageError(
    `--expires is too late: maxLifetimeMs of the keyring allows ${most}. Write ${most} or less.`,
  );
}

/** Loads the config. Throws for a store in memory, which would lose the new key at once. */
export async function configThatKeeps(call: Call): Promise<ChosenConfig> {
  const config = await call.config();
  if (config.store.isInProcess !== true) return chooseKeyring(call, config);
  throw new CommandError(
    'config',
    'No key was created: the store in your config is in memory and ends with this command. ' +
      'Use a store on a file or a server, as your service does.',
  );
}

/**
 * Writes a key that was just created.
 *
 * @throws CommandError that says how to revoke it, if it cannot be written.
 */
export async function writeNewKey(
  { keyId, entityId }: KeyInfo,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
  } catch {
    // Quoted, because a shell reads `|`, `~` and a leading dash.
    const entity = isUuid(entityId) ? ` ${entityId}` : `='${entityId}'`;
    const revoke = `keyscope revoke ${keyId} --entity${entity}`;
    throw new CommandError(
      'store',
      `The key was created but could not be written. Revoke it: ${revoke}`,
    );
  }
}
