/** Finds keys in files, folders and standard input. */
import { createReadStream } from 'node:fs';
import { open, opendir, stat } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import type { Ignored } from './ignored.js';
import { type Found, keysInName, type Scan } from './scanner.js';

/** Folders that are skipped unless named on the command line. */
const PASSED_OVER: readonly string[] = ['.git', 'node_modules'];

/** The name of standard input. */
export const STANDARD_INPUT = '-';

const PIECE_BYTES = 1024 * 1024;

/**
 * Yields the keys in the files under these paths and in the names of files and folders, in no
 * particular order. Reports and skips anything that it cannot read completely.
 */
export async function* keysInFiles(scan: Scan, paths: readonly string[]): AsyncGenerator<Found> {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  for (const path of paths) {
    if (path === STANDARD_INPUT) {
      yield* keysInPieces(scan, path, process.stdin);
      continue;
    }
    for await (const entry of entriesFrom(path, scan)) {
      yield* keysInName(scan, entry.name, { path: entry.path, commit: null });
      if (entry.kind === 'name') continue;
      yield* keysInPieces(scan, entry.path, piecesOf(entry, buffer));
    }
  }
}

async function* keysInPieces(
  { createFinder, tally, advance, tellUnread }: Scan,
  path: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Found> {
  const finder = createFinder();
  tally.texts += 1;
  try {
    for await (const piece of pieces) {
      const finds = finder.push(piece);
      advance(piece.length);
      for (const find of finds) {
        yield { find, path, commit: null, line: find.line, column: find.column };
      }
    }
  } catch (error) {
    tellUnread(path, codeOf(error));
  }
}

/** Returns the system's code of an error, such as `EACCES`. */
export function codeOf(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'unknown error';
}

/** A file, or something that is searched by name only. */
interface Entry {
  /** With `/`. */
  readonly path: string;
  /** The last part of the path, so that a folder's name is searched only once. */
  readonly name: string;
  /** A stream, such as a pipe, can be read only from its start. */
  readonly kind: 'file' | 'stream' | 'name';
}

/**
 * Yields a file, or the entries of a folder. Follows no links inside folders: their targets are
 * searched where they are.
 */
async function* entriesFrom(path: string, scan: Scan): AsyncGenerator<Entry> {
  const entry = { path: slashed(path), name: basename(path) };
  try {
    const found = await stat(path);
    if (isIgnored(path, scan.ignored, found.isDirectory())) return;
    if (found.isDirectory()) {
      yield { ...entry, kind: 'name' };
      yield* entriesIn(path, scan);
    } else {
      yield { ...entry, kind: found.isFile() ? 'file' : 'stream' };
    }
  } catch (error) {
    scan.tellUnread(entry.path, codeOf(error));
  }
}

async function* entriesIn(folder: string, scan: Scan): AsyncGenerator<Entry> {
  // Entered after this folder is closed, so that only one is open at a time.
  const folders: string[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      const { name } = entry;
      const path = join(folder, name);
      const isFolder = entry.isDirectory();
      if (isFolder && PASSED_OVER.includes(name)) continue;
      if (isIgnored(path, scan.ignored, isFolder)) continue;
      if (isFolder) folders.push(path);
      yield { path: slashed(path), name, kind: entry.isFile() ? 'file' : 'name' };
    }
  } catch (error) {
    scan.tellUnread(slashed(folder), codeOf(error));
  }
  for (const path of folders) yield* entriesIn(path, scan);
}

/** Patterns are relative to the working directory. */
function isIgnored(path: string, ignored: Ignored, isFolder: boolean): boolean {
  const fromHere = slashed(relative('.', resolve(path)));
  return ignored(isFolder ? `${fromHere}/` : fromHere);
}

function slashed(path: string): string {
  return path.split(sep).join('/');
}

async function* piecesOf({ path, kind }: Entry, buffer: Buffer): AsyncGenerator<Uint8Array> {
  if (kind === 'stream') {
    yield* createReadStream(path) as AsyncIterable<Buffer>;
    return;
  }
  const file = await open(path);
  try {
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
