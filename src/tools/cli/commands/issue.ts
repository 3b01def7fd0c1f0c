/**
 * `keyscope issue` and `keyscope rotate`: create a key and deliver it once, on standard output or
 * in a file that only its owner can read.
 */
import { type FileHandle, open, rm } from 'node:fs/promises';
import { isUuid } from '../../../core/uuid.js';
import type { IssuedKey } from '../../../management/info.js';
import {
  authorityOf,
  type Call,
  type ChosenConfig,
  chooseKeyring,
  entitiesOf,
  keyIdOf,
  requireScopes,
} from '../call.js';
import { CommandError, usageError } from '../command-error.js';
import { readExpiry, readPairs, readSpan, shownSpan } from '../options.js';
import { requireKey, shownKey } from '../shown-keys.js';

/** Creates a key. Anyone who can run this can grant every scope in the catalog. */
export async function issue(call: Call): Promise<undefined> {
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
  await deliver(call, () => keyring.issue(input, authority));
}

/** Replaces a key. Options that are not given keep the old key's values; none can widen it. */
export async function rotate(call: Call): Promise<undefined> {
  const { given, terminal } = call;
  const keyId = keyIdOf(call);
  const authority = authorityOf(call);
  const expires = given.text('expires');
  const scopes = given.text('scopes');
  const overlapMs = readSpan(given.required('overlap'), 'overlap');
  const fields = {
    overlapMs,
    name: given.text('name'),
    accessibleEntities: entitiesOf(call),
    expiresAt: expires === undefined ? undefined : readExpiry(expires, Date.now()),
    justification: given.text('justification'),
  };
  const { keyring, maxLifetimeMs } = await configThatKeeps(call);
  if (fields.expiresAt !== undefined) requireLifetime(fields.expiresAt, maxLifetimeMs);
  const wanted = scopes === undefined ? undefined : requireScopes(scopes, keyring.catalog);
  const input = { ...fields, scopes: wanted };
  const { info, shown } = await requireKey(keyring, keyId, authority);
  const when = overlapMs === 0 ? 'now' : `in ${given.required('overlap')}`;
  await terminal.confirm(`Replace ${shown} and end it ${when}?`, given.flag('yes'));
  // The new key may get the entities of the old one.
  const held = 'name' in info ? info.accessibleEntities : [];
  const grant = { ...authority, entities: held, scopes: 'all' } as const;
  await deliver(call, () => keyring.rotate(keyId, input, grant));
}

/** Throws if a key would live longer than the keyring allows, and names the limit. */
function requireLifetime(expiresAt: Date | 'never', mostMs: number | undefined): void {
  if (mostMs === undefined) return;
  if (expiresAt !== 'never' && expiresAt.getTime() - Date.now() <= mostMs) return;
  const most = shownSpan(mostMs);
  throw usageError(
    `--expires is too late: maxLifetimeMs of the keyring allows ${most}. Write ${most} or less.`,
  );
}

/** Loads the config. Throws for a store in memory, which would lose the new key at once. */
async function configThatKeeps(call: Call): Promise<ChosenConfig> {
  const config = await call.config();
  if (config.store.isInProcess !== true) return chooseKeyring(call, config);
  throw new CommandError(
    'config',
    'No key was created: the store in your config is in memory and ends with this command. ' +
      'Use a store on a file or a server, as your service does.',
  );
}

/**
 * Creates a key and delivers it. The file is created first, so that no key is created for a file
 * that cannot be.
 *
 * @throws CommandError if the key was created but not delivered; the message says how to revoke it.
 */
async function deliver(call: Call, make: () => Promise<IssuedKey>): Promise<void> {
  const { given, output, interrupts } = call;
  const path = given.text('out');
  const file = path === undefined ? null : await createFile(path);
  let issued: IssuedKey;
  try {
    issued = await interrupts.change(make);
  } catch (error) {
    await file?.discard();
    throw error;
  }
  const { key, info } = issued;
  try {
    if (file !== null) await file.fill(key);
    if (output.isJson) await output.json(file === null ? { key, info } : { out: path, info });
    else if (file === null) await output.line(key);
  } catch {
    const { keyId, entityId } = info;
    // Quoted, because a shell reads `|`, `~` and a leading dash.
    const entity = isUuid(entityId) ? ` ${entityId}` : `='${entityId}'`;
    const revoke = `keyscope revoke ${keyId} --entity${entity}`;
    throw new CommandError(
      'store',
      `The key was created but could not be written. Revoke it: ${revoke}`,
    );
  }
  if (output.isJson) return;
  const where = file === null ? ONLY_ONCE : `The key is in ${path} and nowhere else.`;
  output.say(`${shownKey(info)}, key id ${info.keyId}. ${where}`);
}

const ONLY_ONCE = 'Copy the key now: you will not see it again.';

interface KeyFile {
  fill(key: string): Promise<void>;
  discard(): Promise<void>;
}

async function createFile(path: string): Promise<KeyFile> {
  let handle: FileHandle;
  try {
    // Exclusive: never an existing file, nor the target of a link.
    handle = await open(path, 'wx', 0o600);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' ? 'it already exists' : code;
    throw usageError(`--out: cannot create ${path}: ${reason}. No key was created.`);
  }
  return {
    async fill(key) {
      try {
        await handle.writeFile(`${key}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
    async discard() {
      await handle.close();
      await rm(path);
    },
  };
}
