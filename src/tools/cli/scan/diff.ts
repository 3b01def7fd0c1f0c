/**
 * Finds keys in a unified diff, as `git diff`, `git show`, `git log -p` and `diff -u` print it: in
 * added lines, commit messages and file names. Memory does not grow with the diff.
 *
 * A hunk announces its number of lines, so a line of a file is never mistaken for a header. Every
 * line outside a file counts as a message, so that no line is lost.
 */
import { usageError } from '../command-error.js';
import type { Find, Finder } from './finder.js';
import { type Found, keysInName, type Scan } from './scanner.js';

const BINARY = 'the diff leaves out its contents. Run git with -a';
const MERGE = 'its diff is a combined merge diff. Run git with -m or --diff-merges=separate';
const NO_DIFF = 'it is not a diff. Pipe one without colours (--no-color), or remove --diff';

/** The state of the reader. */
interface State {
  readonly scan: Scan;
  readonly finder: Finder;
  /** Finds in lines that are not read yet. */
  readonly finds: Find[];
  /** Finds to yield. */
  readonly found: Found[];
  /** The start of a line that is too short to classify. */
  begun: Buffer;
  /** The place of a long line whose start has been read; undefined between lines. */
  place: Place | null | undefined;
  /** Whether the input has anything that only a diff or a log has. */
  isDiff: boolean;
  commit: string | null;
  /** The number of lines so far, and of those before the message. */
  count: number;
  start: number;
  /** The file whose header or hunks may continue. */
  file: DiffFile | null;
  hunk: Hunk | null;
}

/** The place of a line; null for lines of headers, context lines and removed lines. */
interface Place {
  /** Null for a message. */
  readonly path: string | null;
  readonly line: number;
}

interface DiffFile {
  readonly path: string;
  /** Named by the two header lines of `diff -u`, which a message may contain as well. */
  readonly isPlain?: true;
  /** `+++` has been read, so hunks may follow. */
  readonly isNamed?: true;
  readonly isDeleted?: true;
  /** Why its contents cannot be read. */
  readonly unread?: string;
  /** A hunk has been read, so the header is over. */
  readonly isTold?: true;
}

/** The lines of both files still to come, and the number of the next new one. */
interface Hunk {
  readonly path: string;
  old: number;
  left: number;
  next: number;
}

/**
 * Yields the keys that a diff adds.
 *
 * @throws CommandError if the input is not a diff and has no keys.
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
  if (state.hunk !== null) tellUnread(state, state.hunk.path, 'the diff ends inside a hunk');
  endFile(state);
  yield* state.found.splice(0);
  if (scan.tally.bytes === 0) return scan.say('Standard input is empty.');
  if (state.isDiff) return;
  if (scan.tally.found === 0) throw usageError(`Cannot read standard input: ${NO_DIFF}.`);
  scan.tellUnread('Standard input', NO_DIFF);
}

// ── Lines ────────────────────────────────────────────────────────────────────────────────────────

const LINE_FEED = 0x0a;
const NOTHING: Buffer = Buffer.alloc(0);

/** The longest header: two paths of 4 KiB, with up to four characters per byte. */
const HEADER_BYTES = 65_536;

/** In a hunk, the first byte classifies a line, unless the hunk breaks off at a header. */
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
  // A copy, because the caller may reuse the piece.
  state.begun = isEnough ? NOTHING : Buffer.from(rest);
}

function readPart(state: State, part: Buffer): void {
  if (state.place === undefined) {
    state.count += 1;
    const { hunk } = state;
    state.place = hunk === null ? readOutside(state, part) : readInHunk(state, hunk, part);
  }
  const { scan, finds, found, commit, count, place } = state;
  // Lines and finds arrive in the same order.
  for (let [find] = finds; find?.line === count; [find] = finds) {
    finds.shift();
    if (place === null || (place.path !== null && scan.ignored(place.path))) continue;
    found.push({ find, commit, ...place, column: find.column - (place.path === null ? 0 : 1) });
  }
}

function readInHunk(state: State, hunk: Hunk, line: Buffer): Place | null {
  const first = String.fromCharCode(line[0] ?? 0x20);
  // `diff.suppressBlankEmpty` of git omits the mark of an empty line.
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
    tellUnread(state, path, `line ${state.count} of the diff does not fit its hunk`);
    state.hunk = null;
    return readOutside(state, line);
  }
  if (old === 0 && left === 0) state.hunk = null;
  return mark === '+' ? { path, line: hunk.next - 1 } : null;
}

// ── Between hunks ────────────────────────────────────────────────────────────────────────────────

/** Patterns, each with a function of its group. */
type Table<T> = readonly (readonly [RegExp, (rest: string) => T])[];

function firstOf<T>(table: Table<T>, text: string): T | null {
  for (const [pattern, read] of table) {
    const [, rest] = pattern.exec(text) ?? [];
    if (rest !== undefined) return read(rest);
  }
  return null;
}

/** As printed by `git log` and `git show`, sometimes with a mark, and by `git format-patch`. */
const COMMIT =
  /^(?:commit (?:[-<>=+^] )?(?=[0-9a-f]{7})|From (?=[0-9a-f]{40}))([0-9a-f]{7,64})(?![0-9a-z])/;

/** Lines that start a file. */
const FILES: Table<DiffFile> = [
  [/^diff --git (.*)$/s, (names) => ({ path: secondOf(names) })],
  [/^diff --(?:cc|combined) (.*)$/s, (name) => ({ path: unquoted(name), unread: MERGE })],
  [/^(@@@+ -[-+0-9, ]*)/, (ranges) => ({ path: ranges, unread: MERGE })],
  [/^--- (.*)$/s, (name) => ({ path: pathOf(name), isPlain: true })],
  [/^Binary files (.*) differ$/s, plainBinary],
];

/** Lines of a header. */
const HEADERS: Table<Partial<DiffFile>> = [
  [/^\+\+\+ (\/dev\/null)(?:\t|$)/, () => ({ isNamed: true, isDeleted: true })],
  [/^\+\+\+ (.*)$/s, (name) => ({ isNamed: true, path: pathOf(name) })],
  [/^(?:rename|copy) to (.*)$/s, (name) => ({ path: unquoted(name) })],
  [/^(deleted) file mode /, () => ({ isDeleted: true })],
  [/^(GIT binary patch|Binary files .* differ)$/s, () => ({ unread: BINARY })],
  [/^(---|index|(?:old|new|new file) mode|\w*similarity index|(?:copy|rename) from) /, () => ({})],
];

/** In a merge, lines that may belong to its header or hunks are skipped. */
const OF_MERGE = /^(?:[-+ \\@]|index |mode |new file |deleted file |Binary files |$)/;

const HUNK = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Decodes one character per byte. A diff saved on Windows has CR at line ends. */
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

/** Whether a line belongs to the header of this file, or starts one of its hunks. */
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

/** A line that starts with `--- ` may belong to a message, unless hunks follow. */
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

/** Returns the second name in `a/x b/x`: unless renamed, both have the same length. */
function secondOf(names: string): string {
  const middle = (names.length - 1) / 2;
  return pathOf(names[middle] === ' ' ? names.slice(middle + 1) : names);
}

/** Reads the names in `Binary files a/x and b/x differ` of `diff -u`. */
function plainBinary(names: string): DiffFile {
  const last = names.slice(names.lastIndexOf(' and ') + ' and '.length);
  return { path: pathOf(last), isPlain: true, unread: BINARY };
}

/** Strips `b/`, and the timestamp that `diff -u` writes after a tab. */
function pathOf(name: string): string {
  return unquoted(name.replace(/\t.*$/s, '')).replace(/^b\//, '');
}

/** Decodes a name as UTF-8, and as a C string if it is in quotes. */
function unquoted(name: string): string {
  const [, inner] = /^"(.*)"$/s.exec(name) ?? [];
  const bytes = inner?.replace(/\\([0-3][0-7]{2}|.)/gs, (_, code: string) => {
    if (code.length > 1) return String.fromCharCode(Number.parseInt(code, 8));
    return '\x07\b\t\n\v\f\r'['abtnvfr'.indexOf(code)] ?? code;
  });
  return Buffer.from(bytes ?? name, 'latin1').toString('utf8');
}
