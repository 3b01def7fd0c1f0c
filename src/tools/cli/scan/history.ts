/**
 * What a repository of git holds beside its files: everything that a ref reaches, and what is
 * staged. Plumbing alone, so that no setting of whoever runs it changes what is seen.
 */
import { type Git, objectsOf, recordsOf, startGit } from './git.js';
import type { Text } from './text.js';

type TellUnread = (path: string, error: unknown) => void;

const LINE_FEED = 10;
const NUL = 0;

/** Waits for a run of git to end, and ends it where nobody reads on. */
async function* through<T>(git: Git, items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items;
    await git.done();
  } finally {
    git.stop();
  }
}

/**
 * Every blob, commit and tag that a branch, a tag or another ref reaches, each once: deleted files,
 * messages and what only a merge has among them. A blob has the first path that git met it at.
 */
export function historyOf(folder: string, tellUnread: TellUnread): AsyncIterable<Text> {
  const git = startGit(folder, ['rev-list', '--objects', '--all']);
  return objectsOf(folder, through(git, git.stdout), tellUnread);
}

/** What the index holds of files that differ from the last commit, whole. */
export function stagedIn(folder: string, tellUnread: TellUnread): AsyncIterable<Text> {
  const options = ['--cached', '--raw', '-z', '--no-abbrev', '--no-renames', '--no-ext-diff'];
  const git = startGit(folder, ['diff', ...options, '--diff-filter=d', '--ignore-submodules']);
  return objectsOf(folder, stagedLines(through(git, changesIn(git))), tellUnread);
}

async function* stagedLines(changes: AsyncIterable<Change>): AsyncGenerator<Buffer> {
  for await (const { id, path, isSubmodule } of changes) {
    // A line feed in a path would begin another line.
    if (!isSubmodule) yield Buffer.from(`${id} ${path.replaceAll('\n', '?')}\n`);
  }
}

/** A blob that a commit, or the index, put at a path. */
interface Change {
  readonly commit: string | null;
  readonly id: string;
  readonly path: string;
  readonly isSubmodule: boolean;
}

/** `:<mode> <mode> <id> <id> <status>`, then the path; before those of a commit, its id. */
const CHANGE = /^:\d+ (\d+) [0-9a-f]+ ([0-9a-f]+) [A-Z]\d*$/;
const COMMIT = /^[0-9a-f]{40,64}$/;

async function* changesIn(git: Git): AsyncGenerator<Change> {
  let commit: string | null = null;
  let change: RegExpExecArray | null = null;
  for await (const record of recordsOf(git.stdout, NUL)) {
    if (change !== null) {
      const [, mode, id = ''] = change;
      yield { commit, id, path: record, isSubmodule: mode === '160000' };
      change = null;
    } else if (COMMIT.test(record)) {
      commit = record;
    } else {
      change = CHANGE.exec(record);
    }
  }
}

/** Where a blob came into the history. */
export interface Origin {
  readonly commit: string;
  readonly path: string;
}

/**
 * Of each of these blobs, the oldest commit that put it at a path that counts; null where none of
 * its paths does. One walk through the history, however many they are.
 */
export async function originsOf(
  folder: string,
  ids: ReadonlySet<string>,
  counts: (path: string) => boolean,
): Promise<ReadonlyMap<string, Origin | null>> {
  const commits = startGit(folder, ['rev-list', '--all', '--topo-order', '--reverse']);
  const options = ['--stdin', '-r', '-m', '--root', '--raw', '-z', '--no-abbrev', '--no-renames'];
  const git = startGit(folder, ['diff-tree', ...options], through(commits, commits.stdout));
  const origins = new Map<string, Origin | null>();
  for await (const { commit, id, path } of through(git, changesIn(git))) {
    if (commit === null || !ids.has(id)) continue;
    origins.set(id, origins.get(id) ?? (counts(path) ? { commit, path } : null));
  }
  return origins;
}

/** Whether commits are missing, as in a clone of a CI that has only the last one. */
export async function isShallow(folder: string): Promise<boolean> {
  const git = startGit(folder, ['rev-parse', '--is-shallow-repository']);
  for await (const answer of through(git, recordsOf(git.stdout, LINE_FEED))) {
    if (answer === 'true') return true;
  }
  return false;
}
