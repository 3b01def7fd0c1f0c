/** Random git histories with keys in files, messages and names. */
import { execFileSync, spawnSync } from 'node:child_process';
import { describe } from 'vitest';
import { keyFrom } from './planted-keys.ts';

const { CI } = process.env;

/**
 * `describe` for tests that need git. Without it they are skipped under their names; with `CI=true`
 * they fail.
 */
export const describeWithGit: typeof describe.skip =
  spawnSync('git', ['--version']).status === 0 || CI === 'true' ? describe : describe.skip;

type Chance = () => number;

/** A file as lines with their line endings. The last may lack one. */
type Lines = readonly Buffer[];
/** Files by path. The characters of a path are bytes. */
type Tree = ReadonlyMap<string, { readonly mode: string; readonly lines: Lines }>;

interface Commit {
  readonly mark: number;
  readonly tree: Tree;
}

/** The keys of a history, by where they were planted. */
export interface Planted {
  readonly inFiles: string[];
  readonly inMessages: string[];
  readonly inNames: string[];
}

/** Lines that look like part of a diff or log, for use in files and messages. */
const DECOYS = [
  'diff --git a/x b/x',
  '--- a/x',
  '+++ b/x',
  '@@ -1 +1,9 @@',
  '@@@ -1 -1 +1,9 @@@',
  '-- a minus',
  '++ a plus',
  `commit ${'0123456789'.repeat(4)}`,
  `From ${'0123456789'.repeat(4)} Mon`,
  '\\ No newline at end of file',
  'Binary files a/x and b/x differ',
  'GIT binary patch',
  'rename to x',
  'deleted file mode 100644',
  '',
  ' ',
  '-',
  '+',
] as const;

const ENDS = ['\n', '\n', '\n', '\r\n', '\r\r\n'] as const;

/** In latin1. The second is not valid UTF-8. */
const NAMES = [
  'plain.txt',
  'caf\xe9',
  'b/a.txt',
  'a/b/c',
  'with space',
  'a "quote".js',
  "it's",
  'back\\slash',
  'tab\there',
  'line\nfeed',
  Buffer.from('ünï/cödé.md').toString('latin1'),
  'x b/x',
  '-dash',
  'f.bin',
] as const;

const pick = <T>(chance: Chance, list: readonly T[]): T =>
  list[Math.floor(chance() * list.length)] as T;

function lineFrom(chance: Chance, key: string | null): Buffer {
  const decoy = pick(chance, DECOYS);
  const bytes = Buffer.from(
    Array.from({ length: chance() * 30 }, () => Math.floor(chance() * 256)),
  ).toString('latin1');
  const long = 'long '.repeat(chance() < 0.02 ? 2_000 : 1);
  const begin = pick(chance, ['', decoy, bytes, long, 'é', '\0']).replaceAll('\n', '');
  const text = key === null ? begin : `${begin}${key}${pick(chance, ['', '"', 'x', '\r', bytes])}`;
  return Buffer.from(text.replaceAll('\n', '') + pick(chance, ENDS), 'latin1');
}

/** Inserts, removes and replaces lines, with or without keys. */
function edited(chance: Chance, lines: Lines, newKey: () => string | null): Lines {
  const changed = lines.map((line, index) => {
    const isOpen = index === lines.length - 1 && line.at(-1) !== 10;
    return isOpen ? Buffer.concat([line, Buffer.from('\n')]) : line;
  });
  for (let count = 1 + chance() * 4; count > 0; count -= 1) {
    const at = Math.floor(chance() * (changed.length + 1));
    const taken = chance() < 0.4 ? Math.floor(chance() * 3) : 0;
    changed.splice(at, taken, ...(chance() < 0.8 ? [lineFrom(chance, newKey())] : []));
  }
  const last = changed.at(-1);
  if (last !== undefined && chance() < 0.4 && last.length > 1) {
    changed[changed.length - 1] = last.subarray(0, -1);
  }
  return changed;
}

/** `git fast-import` parses quoted names like C strings. */
function quoted(path: string): string {
  const escaped = [...path].map((each) => `\\${each.charCodeAt(0).toString(8).padStart(3, '0')}`);
  return `"${escaped.join('')}"`;
}

/** The number of keys before a commit. */
type Counts = Readonly<Record<'inFiles' | 'inNames', number>>;

interface Making {
  readonly chance: Chance;
  readonly planted: Planted;
  readonly left: { count: number };
}

function newKey({ chance, left }: Making, kind: string[], share: number): string | null {
  if (left.count === 0 || chance() > share) return null;
  left.count -= 1;
  const key = keyFrom(chance);
  kind.push(key);
  return key;
}

/** Changes one or two files: writes, edits, renames, removes, or makes one executable. */
function changed(making: Making, tree: Tree): Tree {
  const { chance, planted } = making;
  const files = new Map(tree);
  const inFile = () => newKey(making, planted.inFiles, 0.7);
  for (let count = 1 + chance() * 3; count > 0; count -= 1) {
    const path = pick(chance, [...files.keys(), ...NAMES]);
    const { mode, lines } = files.get(path) ?? { mode: '100644', lines: [] };
    const kind = chance();
    if (kind < 0.12) files.delete(path);
    else if (kind < 0.2) files.set(path, { mode: pick(chance, ['100644', '100755']), lines });
    else if (kind < 0.35) {
      const key = newKey(making, planted.inNames, 0.3);
      files.delete(path);
      const name = `moved/${Math.floor(chance() * 1e9)} ${key ?? 'b/x'}`;
      files.set(name, { mode, lines: chance() < 0.5 ? lines : edited(chance, lines, inFile) });
    } else if (kind < 0.4) files.set(path, { mode, lines: [] });
    else files.set(path, { mode, lines: edited(chance, lines, inFile) });
  }
  return withoutCollisions(files);
}

/** A path cannot be both a file and a folder. */
function withoutCollisions(files: Map<string, { mode: string; lines: Lines }>): Tree {
  const folders = new Set([...files.keys()].flatMap(foldersOf));
  return new Map([...files].filter(([path]) => !folders.has(path)));
}

function foldersOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/**
 * Keeps what both sides share. Where they differ, takes one side or content that only the merge
 * has.
 */
function merged(making: Making, ours: Tree, theirs: Tree): Tree {
  const { chance, planted } = making;
  const files = new Map(ours);
  for (const [path, file] of theirs) {
    const own = ours.get(path);
    if (own === undefined || chance() < 0.4) files.set(path, file);
    else if (chance() < 0.7) {
      const half = [...own.lines.slice(0, 20), ...file.lines.slice(-20)];
      const lines = edited(chance, half, () => newKey(making, planted.inFiles, 0.7));
      files.set(path, { mode: own.mode, lines });
    }
  }
  return withoutCollisions(files);
}

/** A later change in the same commit may have removed a key; this makes up for it. */
function keepThose({ planted, left }: Making, before: Counts, tree: Tree): void {
  const texts = [...tree.values()].map(({ lines }) => Buffer.concat(lines).toString('latin1'));
  const whole = texts.join('\n');
  const names = [...tree.keys()].join('\n');
  for (const [kind, text] of [
    ['inFiles', whole],
    ['inNames', names],
  ] as const) {
    const made = planted[kind].splice(before[kind]);
    const kept = made.filter((key) => text.includes(key));
    planted[kind].push(...kept);
    left.count += made.length - kept.length;
  }
}

function messageFrom(making: Making): string {
  const { chance, planted } = making;
  const lines = Array.from({ length: 1 + chance() * 5 }, () => {
    const key = newKey(making, planted.inMessages, 0.15);
    return `${pick(chance, DECOYS)}${key === null ? '' : ` ${key}x`}`;
  });
  return `about\n\n${lines.join('\n')}\n`;
}

function streamOf(commit: Commit, message: string, parents: readonly number[]): readonly Buffer[] {
  const who = `committer a <a@b> ${1_700_000_000 + commit.mark} +0000`;
  const [first, ...more] = parents;
  const head = [
    `commit refs/heads/b${commit.mark}\nmark :${commit.mark}\n${who}`,
    `data ${Buffer.byteLength(message)}\n${message}`,
    ...(first === undefined ? [] : [`from :${first}`]),
    ...more.map((parent) => `merge :${parent}`),
    'deleteall\n',
  ];
  const parts = [Buffer.from(head.join('\n'))];
  for (const [path, { mode, lines }] of commit.tree) {
    const data = Buffer.concat(lines);
    parts.push(Buffer.from(`M ${mode} inline ${quoted(path)}\ndata ${data.length}\n`), data);
    parts.push(Buffer.from('\n'));
  }
  return parts;
}

/** Writes a history with this many keys into a new repository and returns the keys. */
export function plantHistory(folder: string, chance: Chance, keys: number): Planted {
  const planted: Planted = { inFiles: [], inMessages: [], inNames: [] };
  const making: Making = { chance, planted, left: { count: keys } };
  const commits: Commit[] = [];
  const stream: Buffer[] = [];
  // A few more commits, so that the last key is not in the last of them.
  for (let more = 5; more > 0; more -= making.left.count === 0 ? 1 : 0) {
    const before = { inFiles: planted.inFiles.length, inNames: planted.inNames.length };
    const recent = commits.slice(-4);
    const parent = recent.length === 0 ? undefined : pick(chance, recent);
    const other = recent.length === 0 ? undefined : pick(chance, recent);
    const isMerge = parent !== undefined && other !== undefined && parent !== other;
    const tree =
      isMerge && chance() < 0.4
        ? { parents: [parent.mark, other.mark], tree: merged(making, parent.tree, other.tree) }
        : {
            parents: parent === undefined ? [] : [parent.mark],
            tree: changed(making, parent?.tree ?? new Map()),
          };
    keepThose(making, before, tree.tree);
    const commit = { mark: commits.length + 1, tree: tree.tree };
    commits.push(commit);
    stream.push(...streamOf(commit, messageFrom(making), tree.parents));
  }
  execFileSync('git', ['init', '--quiet', '--initial-branch', 'main'], { cwd: folder });
  const input = Buffer.concat(stream);
  execFileSync('git', ['fast-import', '--quiet', '--force'], { cwd: folder, input });
  const head = `refs/heads/b${commits.length}`;
  execFileSync('git', ['update-ref', 'refs/heads/main', head], { cwd: folder });
  return planted;
}
