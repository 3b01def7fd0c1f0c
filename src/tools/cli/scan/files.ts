/** Files: those that were named, and those in folders. */
import { createReadStream } from 'node:fs';
import { open, opendir, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import type { Ignored } from './ignored.js';
import type { Text } from './text.js';

/** Folders that are passed over, unless they are named themselves. */
const PASSED_OVER: readonly string[] = ['.git', 'node_modules'];

/** Stands for standard input. */
export const STANDARD_INPUT = '-';

const PIECE_BYTES = 1024 * 1024;

/** Hears of what could not be read, and why: a code of the system, such as `EACCES`. */
export type TellUnread = (path: string, error: unknown) => void;

/**
 * The files under these paths, in no order. A folder is read entry by entry, and no link in it is
 * followed: what a link leads to is looked through where it stands itself.
 */
export async function* filesUnder(
  paths: readonly string[],
  ignored: Ignored,
  tellUnread: TellUnread,
): AsyncGenerator<Text> {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  for (const path of paths) {
    if (path === STANDARD_INPUT) {
      yield { path, object: null, pieces: process.stdin };
      continue;
    }
    for await (const file of filesFrom(path, ignored, tellUnread)) {
      yield { path: slashed(file.path), object: null, pieces: piecesOf(file, buffer) };
    }
  }
}

interface File {
  readonly path: string;
  /** A pipe, say, which can be read but not from a place. */
  readonly isStream: boolean;
}

async function* filesFrom(
  path: string,
  ignored: Ignored,
  tellUnread: TellUnread,
): AsyncGenerator<File> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) yield* filesIn(path, ignored, tellUnread);
    else if (!isIgnored(path, ignored, false)) yield { path, isStream: !found.isFile() };
  } catch (error) {
    tellUnread(slashed(path), error);
  }
}

async function* filesIn(
  folder: string,
  ignored: Ignored,
  tellUnread: TellUnread,
): AsyncGenerator<File> {
  // Gone into once this folder is closed, so that no more than one is open.
  const folders: string[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name);
      const isFolder = entry.isDirectory();
      if (isFolder && PASSED_OVER.includes(entry.name)) continue;
      if (isIgnored(path, ignored, isFolder)) continue;
      if (isFolder) folders.push(path);
      else if (entry.isFile()) yield { path, isStream: false };
    }
  } catch (error) {
    tellUnread(slashed(folder), error);
  }
  for (const path of folders) yield* filesIn(path, ignored, tellUnread);
}

/** Patterns count from the working directory. */
function isIgnored(path: string, ignored: Ignored, isFolder: boolean): boolean {
  const fromHere = slashed(relative('.', resolve(path)));
  return ignored(isFolder ? `${fromHere}/` : fromHere);
}

function slashed(path: string): string {
  return path.split(sep).join('/');
}

async function* piecesOf({ path, isStream }: File, buffer: Buffer): AsyncGenerator<Uint8Array> {
  if (isStream) {
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
