/** Reads files, folders and standard input, in pieces. */
import { open, opendir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { CommandError } from '../command-error.js';
import type { Find } from './finder.js';
import type { Scan } from './scanner.js';

/** Folders that are skipped unless named on the command line. */
const PASSED_OVER: readonly string[] = ['.git', 'node_modules'];

/** The name of standard input. */
export const STANDARD_INPUT = '-';

const PIECE_BYTES = 1024 * 1024;

/** A find, and where it is. */
export interface Found extends Find {
  /** With `/`; `-` for standard input. */
  readonly path: string;
}

/**
 * Yields what is found in the files under these paths, in no particular order. Reports and skips
 * anything that it cannot read completely.
 */
export async function* findsIn(scan: Scan, paths: readonly string[]): AsyncGenerator<Found> {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  for (const path of paths) {
    if (path === STANDARD_INPUT) {
      yield* findsInPieces(scan, path, standardInput());
      continue;
    }
    for await (const file of filesFrom(scan, path)) {
      yield* findsInPieces(scan, slashed(file), piecesOf(file, buffer));
    }
  }
}

async function* findsInPieces(
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
      for (const find of finds) yield { ...find, path };
    }
  } catch (error) {
    tellUnread(path, reasonOf(error));
  }
  for (const find of finder.end()) yield { ...find, path };
}

/** Returns our own text, or the system's code of an error, such as `EACCES`. */
function reasonOf(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'unknown error';
}

function slashed(path: string): string {
  return path.split(sep).join('/');
}

/** Yields a file, or those in a folder. */
async function* filesFrom(scan: Scan, path: string): AsyncGenerator<string> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) yield* filesIn(scan, path);
    else yield path;
  } catch (error) {
    scan.tellUnread(slashed(path), reasonOf(error));
  }
}

/** Follows no links: their targets are searched where they are. */
async function* filesIn(scan: Scan, folder: string): AsyncGenerator<string> {
  // Entered after this folder is closed, so that only one is open at a time.
  const folders: string[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name);
      if (entry.isFile()) yield path;
      else if (entry.isDirectory() && !PASSED_OVER.includes(entry.name)) folders.push(path);
    }
  } catch (error) {
    scan.tellUnread(slashed(folder), reasonOf(error));
  }
  for (const path of folders) yield* filesIn(scan, path);
}

async function* piecesOf(path: string, buffer: Buffer): AsyncGenerator<Uint8Array> {
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

/** If the program before the pipe fails, it writes nothing. That is not a clean result. */
async function* standardInput(): AsyncGenerator<Uint8Array> {
  let isEmpty = true;
  for await (const piece of process.stdin as AsyncIterable<Buffer>) {
    isEmpty = false;
    yield piece;
  }
  if (isEmpty) throw new CommandError('store', EMPTY);
}

const EMPTY = 'standard input is empty. Check the command before the pipe';
