/** Runs git, which has to be there, and reads what it prints in constant memory. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CommandError } from '../command-error.js';
import { withoutSecrets } from '../explain.js';
import { escapeInvisible } from '../output.js';
import type { Text } from './text.js';

/** One run of git. */
export interface Git {
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
export function startGit(
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

/** Where the repository around the working directory begins; a bare one has no such place. */
export async function topOfRepository(): Promise<string> {
  const git = startGit('.', ['rev-parse', '--show-cdup']);
  const pieces: Buffer[] = [];
  for await (const piece of git.stdout) pieces.push(piece);
  await git.done();
  const up = Buffer.concat(pieces).toString('utf8').replace(/\n$/, '');
  return up === '' ? '.' : up;
}

/** Splits what git prints at a byte, without it. */
export async function* recordsOf(
  pieces: AsyncIterable<Buffer>,
  separator: number,
): AsyncGenerator<string> {
  let begun: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    let start = 0;
    let end = piece.indexOf(separator);
    while (end !== -1) {
      yield Buffer.concat([begun, piece.subarray(start, end)]).toString('utf8');
      begun = Buffer.alloc(0);
      start = end + 1;
      end = piece.indexOf(separator, start);
    }
    begun = Buffer.concat([begun, piece.subarray(start)]);
  }
  if (begun.length > 0) yield begun.toString('utf8');
}

/** What a line of `git cat-file` says of the object behind it. */
const HEADER = /^([0-9a-f]{40,64}) (?:(blob|commit|tag|tree) (\d+)|missing)(?: (.*))?$/s;

/**
 * The objects that lines name, `<id>` or `<id> <path>`, as git reads them: each has to be read to
 * its end before the next. Trees are left out.
 *
 * @param tellUnread Hears of an object that is not there, as in a partial clone.
 */
export async function* objectsOf(
  folder: string,
  lines: AsyncIterable<Uint8Array>,
  tellUnread: (path: string, error: unknown) => void,
): AsyncGenerator<Text> {
  const format = '%(objectname) %(objecttype) %(objectsize) %(rest)';
  const git = startGit(folder, ['cat-file', `--batch=${format}`, '--buffer'], lines);
  const reader = createReader(git.stdout);
  try {
    for (;;) {
      const line = await reader.line();
      if (line === null) break;
      const [, id = '', type, size = '0', rest = ''] = HEADER.exec(line) ?? [];
      if (type === undefined) {
        tellUnread(id, Object.assign(new Error(), { code: 'missing' }));
        continue;
      }
      const pieces = reader.take(Number(size));
      const path = type === 'blob' ? rest : null;
      if (type === 'tree') await drain(pieces);
      else yield { path, object: { id, type }, pieces };
      await reader.line();
    }
    await git.done();
  } finally {
    git.stop();
  }
}

async function drain(pieces: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of pieces);
}

/** Takes lines and runs of bytes from one stream, by turns. */
interface Reader {
  line(): Promise<string | null>;
  take(count: number): AsyncGenerator<Buffer>;
}

function createReader(pieces: AsyncIterable<Buffer>): Reader {
  const iterator = pieces[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  async function fill(): Promise<boolean> {
    const next = await iterator.next();
    if (next.done !== true) rest = next.value;
    return next.done !== true;
  }
  return {
    async line() {
      const begun: Buffer[] = [];
      for (;;) {
        const end = rest.indexOf(10);
        if (end !== -1) {
          begun.push(rest.subarray(0, end));
          rest = rest.subarray(end + 1);
          return Buffer.concat(begun).toString('utf8');
        }
        begun.push(rest);
        if (!(await fill())) return null;
      }
    },
    async *take(count) {
      let left = count;
      while (left > 0) {
        if (rest.length === 0 && !(await fill())) throw gitError('git cat-file ended too early.');
        const piece = rest.subarray(0, left);
        rest = rest.subarray(piece.length);
        left -= piece.length;
        yield piece;
      }
    },
  };
}
