/** The lock of a service: as it is, as it was committed, and as a commit of git has it. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { within } from '../../core/thenable.js';
import { type AccessLock, lockOf } from '../lock/access-lock.js';
import { parseLock } from '../lock/lock-text.js';
import type { GuardedRoute } from '../lock/route.js';
import type { Call } from './call.js';
import { CommandError, usageError } from './command-error.js';
import { textOf, withoutSecrets } from './explain.js';
import { startGit } from './scan/git.js';

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
  const commit = await printedBy(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  if (commit === null) {
    throw new CommandError('refused', `Git knows no commit ${ref} here. In CI, fetch it first.`);
  }
  const text = await printedBy(['cat-file', 'blob', `${ref}:./${path}`]);
  return text === null ? null : parse(text, `${path} at ${ref}`);
}

/** What git prints; null where it fails. */
async function printedBy(args: readonly string[]): Promise<string | null> {
  const git = startGit('.', args);
  const pieces: Buffer[] = [];
  for await (const piece of git.stdout) pieces.push(piece);
  const whole = Buffer.concat(pieces).toString('utf8');
  return git.done().then(
    () => whole,
    () => null,
  );
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
  const giveUp = (): never => {
    throw new CommandError('config', 'routes() of the config does not settle.');
  };
  const found: readonly GuardedRoute[] = [
    // Asynchronous, so that what it throws becomes a rejection.
    ...(await within(timeoutMs, Promise.resolve().then(routes), giveUp)),
  ];
  const unguarded = found.filter(({ operations }) => operations.length === 0);
  const bare = new Set(unguarded.map(({ method, path }) => `${method} ${path}`));
  const reasons: Record<string, string> = {};
  for (const [name, { reason }] of committed?.routes ?? []) {
    if (reason !== null && bare.has(name)) reasons[name] = reason;
  }
  return lockOf({ catalog, policy, routes: found, reasons });
}
