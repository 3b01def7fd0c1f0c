/**
 * Keys in a unified diff, as `git diff`, `git show`, `git log -p` and `diff -u` print it: in the
 * lines that it adds, in messages of commits and in names of files. Memory does not grow with it.
 *
 * A hunk announces how many lines it has, and only what follows is text: so no line of a file is
 * taken for a header. Every line that belongs to no file is a message, so that none is lost.
 */
import { usageError } from '../command-error.js';
import type { Find, Finder } from './finder.js';
import { type Found, keysInName, type Scan } from './scanner.js';

const BINARY = 'the diff does not show what is in it. Give git the option -a';
const MERGE = 'it has the combined diff of a merge. Give git -m or --diff-merges=separate';
const NO_DIFF = 'it holds no diff. Pipe one without colours (--no-color), or leave out --diff';

/** Where the reader is. */
interface State {
  readonly scan: Scan;
  readonly finder: Finder;
  /** Of lines that are still to be read. */
  readonly finds: Find[];
  /** What is to be handed on. */
  readonly found: Found[];
  /** A line whose kind is not known before more of it is there. */
  begun: Buffer;
  /** Of a long line whose beginning has been read; undefined between lines. */
  place: Place | null | undefined;
  /** Whether anything was there that only a diff or a log has. */
  isDiff: boolean;
  commit: string | null;
  /** Of lines, and of those before the message. */
  count: number;
  start: number;
  /** Whose header or hunks may go on. */
  file: DiffFile | null;
  hunk: Hunk | null;
}

/** Null for a line that is in no new file: of a header, of context, or removed. */
interface Place {
  /** Null for a message. */
  readonly path: string | null;
  readonly line: number;
}

interface DiffFile {
  readonly path: string;
  /** `diff -u` names it in two lines, which a message may have too. */
  readonly isPlain?: true;
  /** `+++` was there, so that hunks may follow. */
  readonly isNamed?: true;
  readonly isDeleted?: true;
  /** Why nobody sees what is in it. */
  readonly unread?: string;
  /** A hunk was there, so that the header is over. */
  readonly isTold?: true;
}

/** How many lines of both files are to come, and the number of the next new one. */
interface Hunk {
  readonly path: string;
  old: number;
  left: number;
  next: number;
}

/**
 * The keys that a diff adds.
 *
 * @throws CommandError if it is no diff at all, and nothing was found in it.
 */
export async function* keysInDiff(
  scan: Scan,
  pieces: AsyncIterable<Buffer>,
): AsyncGenerator<Found> {
  const state: State = {
    scan,
    finder: scan.createFinder(),
    finds: [],
    found: [],
    begun: NOTHING,
    place: undefined,
    isDiff: false,
    commit: null,
    count: 0,
    start: 0,
    file: null,
    hunk: null,
  };
  for await (const piece of pieces) {
    scan.advance(piece.length);
    readPiece(state, piece);
    yield* state.found.splice(0);
  }
  if (state.begun.length > 0) readPart(state, state.begun);
  if (state.hunk !== null) tellUnread(state, state.hunk.path, 'the diff ends in one of its hunks');
  endFile(state);
  yield* state.found.splice(0);
  if (scan.tally.bytes === 0) return scan.say('Standard input was empty.');
  if (state.isDiff) return;
  if (scan.tally.found === 0) throw usageError(`Standard input cannot be read: ${NO_DIFF}.`);
  scan.tellUnread('Standard input', NO_DIFF);
}

// ── Lines ────────────────────────────────────────────────────────────────────────────────────────

const LINE_FEED = 0x0a;
const NOTHING: Buffer = Buffer.alloc(0);

/** No header is longer: a path has 4 KiB, an escape writes a byte as four, and there are two. */
const HEADER_BYTES = 65_536;

/** In a hunk, the first byte says what a line is, unless the hunk breaks off before a header. */
const MARKED_BYTES = 1_024;

function readPiece(state: State, piece: Buffer): void {
  state.finds.push(...state.finder.push(piece));
  const bytes = state.begun.length === 0 ? piece : Buffer.concat([state.begun, piece]);
  let start = 0;
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
    readPart(state, bytes.subarray(start, end));
    state.place = undefined;
    start = end + 1;
  }
  const rest = bytes.subarray(start);
  const enough = state.hunk === null ? HEADER_BYTES : MARKED_BYTES;
  const isEnough = state.place !== undefined || rest.length >= enough;
  if (isEnough) readPart(state, rest);
  // A copy, because the piece may be used again.
  state.begun = isEnough ? NOTHING : Buffer.from(rest);
}

function readPart(state: State, part: Buffer): void {
  if (state.place === undefined) {
    state.count += 1;
    const { hunk } = state;
    state.place = hunk === null ? readOutside(state, part) : readInHunk(state, hunk, part);
  }
  const { scan, finds, found, commit, count, place } = state;
  // Lines and finds come in the same order.
  for (let [find] = finds; find?.line === count; [find] = finds) {
    finds.shift();
    if (place === null || (place.path !== null && scan.ignored(place.path))) continue;
    found.push({ find, commit, ...place, column: find.column - (place.path === null ? 0 : 1) });
  }
}

function readInHunk(state: State, hunk: Hunk, line: Buffer): Place | null {
  const first = String.fromCharCode(line[0] ?? 0x20);
  // Of an empty line, `diff.suppressBlankEmpty` of git leaves the mark away.
  const mark = first === '\r' && line.length === 1 ? ' ' : first;
  // As in `\ No newline at end of file`.
  if (mark === '\\') return null;
  if (mark !== '+') hunk.old -= 1;
  if (mark !== '-') {
    hunk.left -= 1;
    hunk.next += 1;
  }
  const { path, old, left } = hunk;
  if (!'+- '.includes(mark) || old < 0 || left < 0) {
    tellUnread(state, path, `line ${state.count} of the diff is not of its hunk`);
    state.hunk = null;
    return readOutside(state, line);
  }
  if (old === 0 && left === 0) state.hunk = null;
  return mark === '+' ? { path, line: hunk.next - 1 } : null;
}

// ── Between hunks ────────────────────────────────────────────────────────────────────────────────

/** Patterns, and what the group of the first one that matches says. */
type Table<T> = readonly (readonly [RegExp, (rest: string) => T])[];

function firstOf<T>(table: Table<T>, text: string): T | null {
  for (const [pattern, read] of table) {
    const [, rest] = pattern.exec(text) ?? [];
    if (rest !== undefined) return read(rest);
  }
  return null;
}

/** By `git log` and `git show`, with a mark at times; by `git format-patch`. */
const COMMIT =
  /^(?:commit (?:[-<>=+^] )?(?=[0-9a-f]{7})|From (?=[0-9a-f]{40}))([0-9a-f]{7,64})(?![0-9a-z])/;

/** What begins a file. */
const FILES: Table<DiffFile> = [
  [/^diff --git (.*)$/s, (names) => ({ path: secondOf(names) })],
  [/^diff --(?:cc|combined) (.*)$/s, (name) => ({ path: unquoted(name), unread: MERGE })],
  [/^(@@@+ -[-+0-9, ]*)/, (ranges) => ({ path: ranges, unread: MERGE })],
  [/^--- (.*)$/s, (name) => ({ path: pathOf(name), isPlain: true })],
  [/^Binary files (.*) differ$/s, plainBinary],
];

/** What the lines of a header say. */
const HEADERS: Table<Partial<DiffFile>> = [
  [/^\+\+\+ (\/dev\/null)(?:\t|$)/, () => ({ isNamed: true, isDeleted: true })],
  [/^\+\+\+ (.*)$/s, (name) => ({ isNamed: true, path: pathOf(name) })],
  [/^(?:rename|copy) to (.*)$/s, (name) => ({ path: unquoted(name) })],
  [/^(deleted) file mode /, () => ({ isDeleted: true })],
  [/^(GIT binary patch|Binary files .* differ)$/s, () => ({ unread: BINARY })],
  [/^(---|index|(?:old|new|new file) mode|\w*similarity index|(?:copy|rename) from) /, () => ({})],
];

/** Of a merge, all is passed over that may be of its header or its hunks. */
const OF_MERGE = /^(?:[-+ \\@]|index |mode |new file |deleted file |Binary files |$)/;

const HUNK = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** One character a byte. A diff that went through a text file of Windows has a CR at line ends. */
function readOutside(state: State, line: Buffer): Place | null {
  const text = line.toString('latin1').replace(/\r$/, '');
  if (state.file === null || !isOfFile(state, state.file, text)) {
    endFile(state);
    beginCommit(state, text);
    state.file = firstOf(FILES, text);
  }
  const { file, count, start } = state;
  const isMessage = file === null || (file.isPlain && !file.isTold);
  return isMessage ? { path: null, line: count - start } : null;
}

function beginCommit(state: State, text: string): void {
  const [, commit] = COMMIT.exec(text) ?? [];
  if (commit === undefined) return;
  if (commit !== state.commit) state.scan.tally.texts += 1;
  state.commit = commit;
  state.start = state.count - 1;
  state.isDiff = true;
}

/** Whether a line is of the header of this file, or begins a hunk of it. */
function isOfFile(state: State, file: DiffFile, text: string): boolean {
  const [, old = '1', next, left = '1'] = HUNK.exec(text) ?? [];
  if (next !== undefined && file.isNamed) {
    tellFile(state, file);
    state.file = { ...file, isTold: true };
    const hunk = { path: file.path, old: Number(old), left: Number(left), next: Number(next) };
    state.hunk = hunk.old === 0 && hunk.left === 0 ? null : hunk;
    return true;
  }
  if (file.unread === MERGE) return OF_MERGE.test(text);
  if (file.isTold) return text.startsWith('\\');
  if (file.isPlain && !text.startsWith('+++ ')) return false;
  const said = firstOf(HEADERS, text);
  if (said !== null) state.file = { ...file, ...said };
  return said !== null;
}

/** A line that begins with `--- ` may be of a message, unless hunks follow. */
function endFile(state: State): void {
  const { file } = state;
  if (file !== null && (!file.isPlain || file.unread !== undefined)) tellFile(state, file);
  state.file = null;
}

function tellFile(state: State, { path, isTold, isDeleted, unread }: DiffFile): void {
  const { scan, found, commit } = state;
  state.isDiff = true;
  if (isTold || isDeleted || scan.ignored(path)) return;
  scan.tally.texts += 1;
  found.push(...keysInName(scan, path, { path, commit }));
  if (unread !== undefined) tellUnread(state, path, unread);
}

function tellUnread({ scan, commit }: State, path: string, why: string): void {
  scan.tellUnread(commit === null ? path : `${path} in commit ${commit.slice(0, 12)}`, why);
}

// ── Names ────────────────────────────────────────────────────────────────────────────────────────

/** Of `a/x b/x`: without a renaming, both are as long. */
function secondOf(names: string): string {
  const middle = (names.length - 1) / 2;
  return pathOf(names[middle] === ' ' ? names.slice(middle + 1) : names);
}

/** By `diff -u`, which says `a/x and b/x`. */
function plainBinary(names: string): DiffFile {
  const last = names.slice(names.lastIndexOf(' and ') + ' and '.length);
  return { path: pathOf(last), isPlain: true, unread: BINARY };
}

/** Without `b/` in front, and without what is behind a tab: `diff -u` writes a time there. */
function pathOf(name: string): string {
  return unquoted(name.replace(/\t.*$/s, '')).replace(/^b\//, '');
}

/** In UTF-8. Git and diff write some names in quotes, as C does. */
function unquoted(name: string): string {
  const [, inner] = /^"(.*)"$/s.exec(name) ?? [];
  const bytes = inner?.replace(/\\([0-3][0-7]{2}|.)/gs, (_, code: string) => {
    if (code.length > 1) return String.fromCharCode(Number.parseInt(code, 8));
    return '\x07\b\t\n\v\f\r'['abtnvfr'.indexOf(code)] ?? code;
  });
  return Buffer.from(bytes ?? name, 'latin1').toString('utf8');
}
