/** The lock of a service: as it is, as it was committed, and as a commit of git has it. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { promisify } from 'node:util';
import { type AccessLock, lockOf } from '../lock/access-lock.js';
import { parseLock } from '../lock/lock-text.js';
import type { GuardedRoute } from '../lock/route.js';
import type { Call } from './call.js';
import { CommandError, usageError } from './errors.js';
import { textOf, withoutSecrets } from './explain.js';
import { within } from './within.js';

/** More than any lock has, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The committed lock, or null if there is none. */
export async function readLock(path: string): Promise<AccessLock | null> {
  return existsSync(path) ? parse(await readFile(path, 'utf8'), path) : null;
}

/** Refuses what git would take for an option, or for a path of its own. */
export function requireInRepository(ref: string, path: string): void {
  const isRef = /^[^\s:-][^\s:]*$/.test(ref);
  if (!isRef) {
    throw usageError('--against: write a commit, a branch or a tag, such as origin/main.');
  }
  if (isAbsolute(path)) throw usageError('--file: write a path in the repository, from here.');
}

/** The lock at a commit, or null if that has none. */
export async function readLockAt(ref: string, path: string): Promise<AccessLock | null> {
  const git = promisify(execFile);
  const options = { maxBuffer: MAX_BYTES };
  try {
    await git('git', ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], options);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const what = code === 'ENOENT' ? 'There is no git here' : `Git knows no commit ${ref} here`;
    throw new CommandError('refused', `${what}. In CI, fetch it first.`);
  }
  try {
    const { stdout } = await git('git', ['show', `${ref}:./${path}`], options);
    return parse(stdout, `${path} at ${ref}`);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    return null;
  }
}

/** Writes the lock in place of the one that is there. */
export async function writeLock(path: string, text: string): Promise<void> {
  await writeFile(path, text);
}

function parse(text: string, where: string): AccessLock {
  try {
    return parseLock(text);
  } catch (error) {
    throw new CommandError('refused', `${where}: ${withoutSecrets(textOf(error))}.`);
  }
}

/** The lock of the service as its config has it. Reasons are those of the committed lock. */
export async function currentLock(
  { config, timeoutMs }: Call,
  committed: AccessLock | null,
): Promise<AccessLock> {
  const { catalog, policy, routes } = await config();
  if (policy === undefined || routes === undefined) {
    const example = 'defineConfig({ …, policy, routes: () => routesOf(app) })';
    throw new CommandError('config', `A lock needs the policy and the routes: ${example}.`);
  }
  const late = (): Error => new CommandError('config', 'routes() of the config does not settle.');
  const found: readonly GuardedRoute[] = [
    // Asynchronous, so that what it throws becomes a rejection.
    ...(await within(Promise.resolve().then(routes), timeoutMs, late)),
  ];
  const unguarded = found.filter(({ operations }) => operations.length === 0);
  const bare = new Set(unguarded.map(({ method, path }) => `${method} ${path}`));
  const reasons: Record<string, string> = {};
  for (const [name, { reason }] of committed?.routes ?? []) {
    if (reason !== null && bare.has(name)) reasons[name] = reason;
  }
  return lockOf({ catalog, policy, routes: found, reasons });
}
