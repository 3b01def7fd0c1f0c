/** Reads diffs as `keyscope scan --diff` does. */
import { keysInDiff } from '../../src/tools/cli/scan/diff.js';
import type { Finder } from '../../src/tools/cli/scan/finder.js';
import { createScan, type Found, type Tally } from '../../src/tools/cli/scan/scanner.js';
import { captureOutput } from './output.ts';

/** The results of scanning a diff. */
export interface ReadDiff {
  readonly found: readonly Found[];
  readonly said: readonly string[];
  readonly tally: Tally;
}

/** Options for reading a diff. */
export interface Reading {
  /** The size of the pieces that it arrives in. */
  readonly pieceBytes?: number;
  /** Whether every line that is examined counts as a find, with its mark. */
  readonly findsLines?: boolean;
}

/** Finds each complete line, and file names, which arrive in one piece. */
function createLineFinder(isName: boolean): Finder {
  let begun = '';
  let count = 0;
  return {
    push(piece) {
      const text = Buffer.from(piece).toString('latin1');
      const lines = isName ? [text] : `${begun}${text}`.split('\n');
      begun = isName ? '' : (lines.pop() ?? '');
      return lines.map((key) => {
        count += 1;
        return { prefix: 'acme', key, hint: '', line: count, column: 1 };
      });
    },
  };
}

/** Reads a diff and skips what is in `ignored/`. */
export async function readDiff(diff: Buffer, options: Reading = {}): Promise<ReadDiff> {
  const { pieceBytes = 65_536, findsLines = false } = options;
  const { output, said } = captureOutput(80);
  const scan = createScan(['acme'], (path) => path.startsWith('ignored/'), output);
  // All pieces share one buffer, as when a file is read.
  const piece = Buffer.alloc(pieceBytes);
  async function* pieces() {
    for (let start = 0; start < diff.length; start += pieceBytes) {
      const length = diff.copy(piece, 0, start, start + pieceBytes);
      yield piece.subarray(0, length);
      piece.fill('#');
    }
  }
  // The first finder is for the diff itself.
  let count = 0;
  function createFinder(): Finder {
    count += 1;
    return findsLines ? createLineFinder(count > 1) : scan.createFinder();
  }
  const found: Found[] = [];
  for await (const each of keysInDiff({ ...scan, createFinder }, pieces())) {
    scan.tally.found += 1;
    found.push(each);
  }
  return { found, said, tally: scan.tally };
}
