/**
 * `keyscope issue` and `keyscope rotate`: make a key and hand it over, once: on standard output, or
 * in a file that only its owner can read.
 */
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { IssuedKey } from '../../../management/info.js';
import { authorityOf, type Call, keyIdOf } from '../call.js';
import { CommandError, usageError } from '../command-error.js';
import type { CommandConfig } from '../define-config.js';
import { readExpiry, readList, readPairs, readSpan } from '../options.js';
import { requireKey, shownKey } from '../shown-keys.js';

/** Makes a key. Whoever may run this may hand out all of the catalog. */
export async function issue(call: Call): Promise<undefined> {
  const { given } = call;
  const entities = readList(given.text('entities') ?? '');
  const authority = { ...authorityOf(call), entities, scopes: 'all' } as const;
  const metadata = given.text('metadata');
  const input = {
    name: given.required('name'),
    scopes: readList(given.required('scopes')),
    expiresAt: readExpiry(given.required('expires'), Date.now()),
    accessibleEntities: entities,
    justification: given.text('justification'),
    metadata: metadata === undefined ? undefined : readPairs(metadata),
  };
  const { keyring } = await configThatKeeps(call);
  await deliver(call, () => keyring.issue(input, authority));
}

/** Replaces a key. What is not written is the old key's; nothing can be wider. */
export async function rotate(call: Call): Promise<undefined> {
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
  const { keyring } = await configThatKeeps(call);
  const { info, shown } = await requireKey(keyring, keyId, authority);
  const when = overlapMs === 0 ? 'at once' : `in ${given.required('overlap')}`;
  await terminal.confirm(`Replace ${shown}, and end it ${when}?`, given.flag('yes'));
  // What the old key can address may be handed on.
  const held = 'name' in info ? info.accessibleEntities : [];
  const grant = { ...authority, entities: held, scopes: 'all' } as const;
  await deliver(call, () => keyring.rotate(keyId, input, grant));
}

/** Loads the config; refuses a store in memory, where a new key would end with this command. */
async function configThatKeeps(call: Call): Promise<CommandConfig> {
  const config = await call.config();
  if (config.store.isInProcess !== true) return config;
  const instead = 'give the config a store over a file or a server, as your service has it';
  throw new CommandError(
    'config',
    `The store of the config is in memory, and ends with this command: ${instead}. ` +
      'No key was made.',
  );
}

/**
 * Makes a key and hands it over. The file is there before the key is, so that no key is made that
 * could not be written.
 *
 * @throws CommandError if the key was made and nobody has it: says how to revoke it.
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
    const { keyId, entityUuid } = info;
    const revoke = `keyscope revoke ${keyId} --entity ${entityUuid}`;
    throw new CommandError(
      'store',
      `The key was made and could not be written. Revoke it: ${revoke}`,
    );
  }
  if (output.isJson) return;
  const where = file === null ? 'It is shown this once' : `It is in ${path}, and nowhere else`;
  output.say(`${shownKey(info)}, key id ${info.keyId}. ${where}.`);
}

interface KeyFile {
  fill(key: string): Promise<void>;
  discard(): Promise<void>;
}

async function createFile(path: string): Promise<KeyFile> {
  let handle: FileHandle;
  try {
    // Exclusive: never a file that is there, nor one that a link leads to.
    handle = await open(path, 'wx', 0o600);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' ? 'it is there already, and nothing is overwritten' : code;
    throw usageError(`--out: the file cannot be made: ${reason}. No key was made.`);
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
