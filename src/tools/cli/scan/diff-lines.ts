/**
 * What each line of a unified diff is, as `git diff`, `git show`, `git log -p` and `diff -u` print
 * it, of merges too. Pure: it takes one line after the other, and keeps the last header.
 *
 * A hunk announces how many lines it has, and only what follows is text: so no line of a file is
 * taken for a header. Every line that belongs to no file is a message, so that none is lost.
 */
import { endOfBoth, pathOfBoth, readHeaderLine, readHunk, unquoted } from './diff-header.js';

/** Where a line that a scan looks at is. */
export interface LinePlace {
  readonly commit: string | null;
  /** Null for a message. */
  readonly path: string | null;
  /** From 1: of the new file; of a message from the line that names the commit. */
  readonly line: number;
  /** So many characters in front are the diff's own. */
  readonly marks: number;
}

/** A file of a diff, once its header has been read. */
export interface DiffFile {
  readonly commit: string | null;
  readonly path: string;
  /** The diff says that it differs, and not how. */
  readonly isBinary: boolean;
}

/** Hears of what is more than one line. */
export interface DiffListener {
  onCommit(commit: string): void;
  /** Not of one that is deleted. */
  onFile(file: DiffFile): void;
  /** A hunk has other lines than it announces, or fewer. */
  onBroken(path: string, why: string): void;
}

/** Reads a diff line by line. */
export interface DiffLines {
  /** Whether anything was there that only a diff or a log has. */
  readonly isDiff: boolean;
  /** How many bytes of the next line are enough, by its first one. */
  needs(first: number | undefined): number;
  /**
   * Takes the next line, without its end.
   *
   * @returns Null for a line that is in no new file: of a header, of context, or removed.
   */
  read(line: Buffer): LinePlace | null;
  /** No more lines follow. */
  end(): void;
}

/** No header is longer: a path has 4 KiB, an escape writes a byte as four, and there are two. */
const HEADER_BYTES = 65_536;

/** Where the reader is. */
interface State {
  readonly listener: DiffListener;
  isDiff: boolean;
  commit: string | null;
  /** Of lines. */
  count: number;
  /** How many of them are before the message. */
  start: number;
  header: Header | null;
  /** Of the file whose header was read last. */
  path: string;
  hunk: Hunk | null;
}

/** What is known of a file; the hunks follow. */
interface Header {
  /** `a/x b/x` of `diff --git`, the one path of a merge; null for `diff -u`, which has no such. */
  readonly names: string | null;
  readonly isMerge: boolean;
  oldName: string | null;
  newName: string | null;
  renamedTo: string | null;
  isDeleted: boolean;
  isBinary: boolean;
  isTold: boolean;
}

/** How much of a hunk is to come. */
interface Hunk {
  /** Lines of the old file, or of each parent of a merge. */
  readonly old: number[];
  left: number;
  /** The number of the next line of the new file. */
  next: number;
}

/** Makes a reader for one diff. */
export function createDiffLines(listener: DiffListener): DiffLines {
  const state: State = {
    listener,
    isDiff: false,
    commit: null,
    count: 0,
    start: 0,
    header: null,
    path: '',
    hunk: null,
  };
  return {
    get isDiff() {
      return state.isDiff;
    },
    needs(first) {
      if (state.hunk === null || !MARKS.includes(first)) return HEADER_BYTES;
      return state.hunk.old.length + 1;
    },
    read(line) {
      state.count += 1;
      if (state.hunk === null) return readOutside(state, textOf(line));
      const kind = kindIn(state.hunk, line);
      if (kind === 'stray') {
        listener.onBroken(state.path, `line ${state.count} of the diff is not of its hunk`);
        state.hunk = null;
        return readOutside(state, textOf(line));
      }
      const { commit, path, hunk } = state;
      const marks = hunk.old.length;
      if (hunk.left === 0 && hunk.old.every((left) => left === 0)) state.hunk = null;
      return kind === 'added' ? { commit, path, line: hunk.next - 1, marks } : null;
    },
    end() {
      if (state.hunk !== null) listener.onBroken(state.path, 'the diff ends in one of its hunks');
      endFile(state);
    },
  };
}

/** One character a byte. A diff that went through a text file of Windows has a CR at line ends. */
function textOf(line: Buffer): string {
  return line.toString('latin1').replace(/\r$/, '');
}

// ── Lines of hunks ───────────────────────────────────────────────────────────────────────────────

const PLUS = 0x2b;
const MINUS = 0x2d;
const SPACE = 0x20;
const BACKSLASH = 0x5c;
const CARRIAGE_RETURN = 0x0d;
const MARKS: readonly unknown[] = [PLUS, MINUS, SPACE, BACKSLASH];

/** Takes a line from what the hunk announces: `stray` if it is none of these. */
function kindIn(hunk: Hunk, line: Buffer): 'added' | 'other' | 'stray' {
  const { old } = hunk;
  // As in `\ No newline at end of file`.
  if (line[0] === BACKSLASH) return 'other';
  // Of an empty line, `diff.suppressBlankEmpty` of git leaves the marks away.
  const isBlank = line.length === 0 || (line.length === 1 && line[0] === CARRIAGE_RETURN);
  const marks = isBlank ? old.map(() => SPACE) : old.map((_, parent) => line[parent]);
  const isAdded = marks.includes(PLUS);
  const isRemoved = marks.includes(MINUS);
  // A space is the mark of a parent that has the line too, a minus of one that had a removed line.
  const mark = isRemoved ? MINUS : SPACE;
  for (const [parent, each] of marks.entries()) {
    if (each !== SPACE && each !== (isAdded ? PLUS : MINUS)) return 'stray';
    if (each === mark) old[parent] = (old[parent] ?? 0) - 1;
  }
  if (!isRemoved) {
    hunk.left -= 1;
    hunk.next += 1;
  }
  if (hunk.left < 0 || old.some((left) => left < 0)) return 'stray';
  return isAdded ? 'added' : 'other';
}

// ── Lines between hunks ──────────────────────────────────────────────────────────────────────────

/** By `git log` and `git show`, with a mark at times; by `git format-patch`. */
const COMMIT = /^(?:commit (?:[-<>=+^] )?([0-9a-f]{7,64})(?![0-9a-z])|From ([0-9a-f]{40,64}) )/;
const FILE = /^diff --(git|cc|combined) (.*)$/s;
const ABSENT = '/dev/null';

function readOutside(state: State, text: string): LinePlace | null {
  const [, ofLog, ofMail] = COMMIT.exec(text) ?? [];
  const commit = ofLog ?? ofMail;
  const [, kind, names] = FILE.exec(text) ?? [];
  if (commit !== undefined) {
    endFile(state);
    state.commit = commit;
    state.start = state.count - 1;
    state.isDiff = true;
    state.listener.onCommit(commit);
  } else if (names !== undefined) {
    endFile(state);
    state.header = headerOf(names, kind !== 'git');
    state.isDiff = true;
    return null;
  } else {
    if (state.header !== null && isOfFile(state, state.header, text)) return null;
    endFile(state);
    readPlain(state, text);
  }
  return { commit: state.commit, path: null, line: state.count - state.start, marks: 0 };
}

function headerOf(names: string | null, isMerge: boolean): Header {
  return {
    names,
    isMerge,
    oldName: null,
    newName: null,
    renamedTo: null,
    isDeleted: false,
    isBinary: false,
    isTold: false,
  };
}

/** `diff -u` begins a file with `--- `, as a message may begin a line. */
function readPlain(state: State, text: string): void {
  const line = readHeaderLine(text);
  if (line === null) return;
  const header = headerOf(null, false);
  if (line.kind === 'old') state.header = { ...header, oldName: line.name };
  if (line.kind === 'binary') {
    state.isDiff = true;
    tell(state, { ...header, newName: line.name, isBinary: true });
  }
}

/** Whether a line is of the header of this file, or begins a hunk of it. */
function isOfFile(state: State, header: Header, text: string): boolean {
  const announced = readHunk(text);
  if (announced !== null && header.newName !== null) {
    tell(state, header);
    const { old, left, next } = announced;
    const isEmpty = left === 0 && old.every((count) => count === 0);
    state.hunk = isEmpty ? null : { old: [...old], left, next };
    state.isDiff = true;
    return true;
  }
  if (header.isTold) return text.startsWith('\\');
  const line = readHeaderLine(text);
  if (line === null) return false;
  if (header.names === null && (line.kind !== 'new' || header.newName !== null)) return false;
  if (line.kind === 'old') header.oldName = line.name;
  if (line.kind === 'new') header.newName = line.name;
  if (line.kind === 'renamed') header.renamedTo = line.name;
  if (line.kind === 'deleted') header.isDeleted = true;
  if (line.kind === 'binary') header.isBinary = true;
  return true;
}

function endFile(state: State): void {
  if (state.header !== null) tell(state, state.header);
  state.header = null;
}

/** Tells of a file, once. A line of a message that begins with `--- ` is none. */
function tell(state: State, header: Header): void {
  const { names, newName, isBinary, isTold } = header;
  if (isTold || (names === null && newName === null)) return;
  header.isTold = true;
  state.path = Buffer.from(pathOf(header), 'latin1').toString('utf8');
  if (header.isDeleted || newName === ABSENT) return;
  state.listener.onFile({ commit: state.commit, path: state.path, isBinary });
}

/** Without what git writes in front, such as `b/`, which its settings change. */
function pathOf({ names, isMerge, oldName, newName, renamedTo }: Header): string {
  if (names === null) return newName ?? '';
  if (isMerge) return unquoted(names);
  const both = renamedTo ?? pathOfBoth(names);
  if (both !== null) return both;
  if (newName === null || newName === ABSENT) return oldName ?? names;
  return (oldName === null ? null : endOfBoth(oldName, newName)) ?? newName;
}
