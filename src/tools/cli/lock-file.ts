/** The lock of a service: as it is, as it was committed, and as a commit of git has it. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { within } from '../../core/thenable.js';
import { type AccessLock, lockOf } from '../lock/access-lock.js';
import { parseLock } from '../lock/lock-text.js';
import type { GuardedRoute } from '../lock/route.js';
import type { Call } from './call.js';
import { CommandError, usageError } from './command-error.js';
import { textOf, withoutSecrets } from './explain.js';
import { escapeInvisible } from './output.js';

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

/** One run of git. */
interface Git {
  readonly stdout: AsyncIterable<Buffer>;
  /** Waits until it has ended. Throws where it failed. */
  done(): Promise<void>;
  /** Ends it where nobody reads on. */
  stop(): void;
}

/** No hook of the repository, no network, no lock. */
const SETTINGS = [
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.quotePath=false',
  '--no-replace-objects',
];
const VARIABLES = { GIT_NO_LAZY_FETCH: '1', GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' };

const MAX_COMPLAINT = 1_000;

/**
 * Starts git in a folder, with what it is to read on its standard input.
 *
 * @param input Pieces of bytes, which are taken as git takes them.
 */
function startGit(
  folder: string,
  args: readonly string[],
  input: AsyncIterable<Uint8Array> | null = null,
): Git {
  const env = { ...process.env, ...VARIABLES };
  const child = spawn('git', [...SETTINGS, ...args], { cwd: folder, env });
  const ended = endOf(child, args[0] ?? '');
  const fed = input === null ? Promise.resolve() : pipeline(Readable.from(input), child.stdin);
  if (input === null) child.stdin.end();
  // Both are told by `done`.
  ended.catch(() => {});
  fed.catch(() => {});
  child.stdin.on('error', () => {});
  return {
    stdout: child.stdout,
    async done() {
      await ended;
      await fed;
    },
    stop: () => void child.kill(),
  };
}

async function endOf(child: ChildProcessWithoutNullStreams, name: string): Promise<void> {
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaint = (complaint + String(text)).slice(0, MAX_COMPLAINT);
  });
  let code: unknown;
  try {
    [code] = (await once(child, 'close')) as [unknown];
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw gitError(missing ? 'git is not installed.' : 'git cannot be run.');
  }
  if (code === 0) return;
  const said = escapeInvisible(withoutSecrets(complaint.trim()));
  throw gitError(`git ${name} failed: ${said}`);
}

function gitError(message: string): CommandError {
  return new CommandError('store', message);
}
