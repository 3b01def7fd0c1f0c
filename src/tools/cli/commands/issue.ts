/**
 * `keyscope issue` and `keyscope rotate`: create a key and deliver it once, on standard output or
 * in a file that only its owner can read.
 */
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { IssuedKey } from '../../../management/info.js';
import { authorityOf, type Call, entitiesOf, keyIdOf, requireScopes } from '../call.js';
import { usageError } from '../command-error.js';
import { configThatKeeps, readNewKey, requireLifetime, writeNewKey } from '../new-key.js';
import { readExpiry, readSpan } from '../options.js';
import { requireKey, shownKey } from '../shown-keys.js';

/** Creates a key. Anyone who can run this can grant every scope in the catalog. */
export async function issue(call: Call): Promise<undefined> {
  const { keyring, input, authority } = await readNewKey(call);
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
  await writeNewKey(info, async () => {
    if (file !== null) await file.fill(key);
    if (output.isJson) await output.json(file === null ? { key, info } : { out: path, info });
    else if (file === null) await output.line(key);
  });
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
