/** Keys in a diff: in the lines that it adds, in messages of commits and in names of files. */
import { usageError } from '../command-error.js';
import { createDiffLines, type DiffFile, type DiffLines, type LinePlace } from './diff-lines.js';
import { bufferOf, type Find, type Finder } from './finder.js';
import { type Found, keysInName, type Scan } from './scanner.js';

const LINE_FEED = 0x0a;

/** Of one commit; beyond them, a key may be named twice. */
const MAX_REMEMBERED = 10_000;

const BINARY = 'the diff does not show what is in it. Give git the option -a';

const NOTHING: Buffer = Buffer.alloc(0);

/** The line that is being read. */
interface Line {
  number: number;
  /** Its beginning, which says what it is. */
  head: Buffer;
  /** Undefined while that is not known. */
  place: LinePlace | null | undefined;
  /** Until then. */
  held: Find[];
}

/** One diff that is being looked through. */
interface Reading {
  readonly finder: Finder;
  readonly lines: DiffLines;
  readonly line: Line;
  /** What was found and not yet handed on. */
  found: Found[];
}

/**
 * The keys that a diff adds, each once a commit. It is read in memory that does not grow with it.
 *
 * @throws CommandError if it is no diff at all, and nothing was found in it.
 */
export async function* keysInDiff(
  scan: Scan,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Found> {
  const reading = createReading(scan);
  const isNew = createIsNew();
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    scan.advance(piece.length);
    readPiece(scan, reading, bufferOf(piece));
    yield* reading.found.filter(isNew);
    reading.found = [];
  }
  if (reading.line.head.length > 0) decide(reading);
  handOn(scan, reading);
  reading.lines.end();
  yield* reading.found.filter(isNew);
  if (bytes === 0) scan.say('Standard input was empty.');
  else if (!reading.lines.isDiff) refuse(scan);
}

function refuse(scan: Scan): void {
  const why = 'it holds no diff. Pipe one without colours (--no-color), or leave out --diff';
  if (scan.tally.found === 0) throw usageError(`Standard input cannot be read: ${why}.`);
  scan.tellUnread('Standard input', why);
}

/** Whether a key has not been seen at that place: a merge is shown once for each parent. */
function createIsNew(): (found: Found) => boolean {
  let commit: string | null = null;
  const seen = new Set<string>();
  return (found) => {
    if (found.commit === null) return true;
    if (found.commit !== commit || seen.size >= MAX_REMEMBERED) seen.clear();
    commit = found.commit;
    const { find, path, line, column } = found;
    const place = JSON.stringify([path, line, column, find.key]);
    const isNew = !seen.has(place);
    seen.add(place);
    return isNew;
  };
}

function createReading(scan: Scan): Reading {
  const { createFinder, ignored, tally, tellUnread } = scan;
  let last: string | null = null;
  const reading: Reading = {
    finder: createFinder(),
    line: { number: 1, head: NOTHING, place: undefined, held: [] },
    found: [],
    lines: createDiffLines({
      onCommit(commit) {
        if (commit !== last) tally.texts += 1;
        last = commit;
      },
      onFile(file) {
        if (ignored(file.path)) return;
        tally.texts += 1;
        reading.found.push(...keysInName(scan, file.path, file));
        if (file.isBinary) tellUnread(shownFile(file), BINARY);
      },
      onBroken: tellUnread,
    }),
  };
  return reading;
}

function shownFile({ path, commit }: DiffFile): string {
  return commit === null ? path : `${path} in commit ${commit.slice(0, 12)}`;
}

/** Lines and finds come in the same order, so that one walk brings them together. */
function readPiece(scan: Scan, reading: Reading, piece: Buffer): void {
  const { line } = reading;
  let start = 0;
  let end = piece.indexOf(LINE_FEED);
  const finds = reading.finder.push(piece)[Symbol.iterator]();
  let find = finds.next();
  for (;;) {
    readPart(reading, piece.subarray(start, end === -1 ? piece.length : end), end !== -1);
    for (; !find.done && find.value.line === line.number; find = finds.next()) {
      line.held.push(find.value);
    }
    handOn(scan, reading);
    if (end === -1) return;
    line.number += 1;
    line.place = undefined;
    start = end + 1;
    end = piece.indexOf(LINE_FEED, start);
  }
}

/** Adds to the beginning of the line, until that is long enough to say what the line is. */
function readPart(reading: Reading, part: Buffer, isLast: boolean): void {
  const { line, lines } = reading;
  if (line.place !== undefined) return;
  const isBegun = line.head.length > 0;
  const needs = lines.needs(isBegun ? line.head[0] : part[0]);
  const more = part.subarray(0, needs - line.head.length);
  line.head = isBegun ? Buffer.concat([line.head, more]) : more;
  if (isLast || line.head.length === needs) decide(reading);
  // A copy, because the piece may be used again.
  else if (!isBegun) line.head = Buffer.from(more);
}

function decide({ lines, line }: Reading): void {
  line.place = lines.read(line.head);
  line.head = NOTHING;
}

/** Once it is known where the line is, so are the keys in it. */
function handOn({ ignored }: Scan, { line, found }: Reading): void {
  const { place, held } = line;
  if (place === undefined || held.length === 0) return;
  line.held = [];
  if (place === null || (place.path !== null && ignored(place.path))) return;
  for (const find of held) {
    const column = find.column - place.marks;
    found.push({ find, commit: place.commit, path: place.path, line: place.line, column });
  }
}
