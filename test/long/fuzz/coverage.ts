/**
 * Reports which source was run, and how often, by V8's counters. A query takes a fifth of a
 * millisecond, many times as long as an input. Query once for a batch, and for single inputs only
 * if the batch ran something new.
 */
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector';

export interface Coverage {
  /** Says whether new code was run since the last query. Only `gained` remembers it. */
  isNew(): boolean;
  /**
   * Says whether new code was run, or code more often than ever before, in powers of two. Remembers
   * it.
   */
  gained(): boolean;
  /**
   * Returns the number of characters in functions that were run: all, and those in blocks that were
   * run.
   */
  sum(): { readonly all: number; readonly run: number };
}

/** Returns the bit for a number of runs: one for each power of two, none for zero. */
function bitOf(count: number): number {
  return count === 0 ? 0 : 1 << Math.min(7, Math.floor(Math.log2(count)));
}

/** Returns the bits of each character of a function. */
function bitsOf(ranges: readonly Profiler.CoverageRange[], start: number, end: number): Uint8Array {
  const bits = new Uint8Array(end - start);
  // Ranges are ordered from the outermost to the innermost.
  for (const { count, startOffset, endOffset } of ranges) {
    bits.fill(bitOf(count), startOffset - start, endOffset - start);
  }
  return bits;
}

/** Starts to count runs of the scripts whose address starts with `folder`. */
export function startCoverage(folder: string): Coverage {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return new CountedCoverage(session, folder);
}

class CountedCoverage implements Coverage {
  readonly #session: Session;
  readonly #folder: string;
  /** The bits seen so far for each character of each function. */
  readonly #seen = new Map<string, Uint8Array>();

  constructor(session: Session, folder: string) {
    this.#session = session;
    this.#folder = folder;
  }

  isNew(): boolean {
    let fresh = false;
    for (const { known, now } of this.#take()) {
      fresh ||= now.some((bits, index) => bits !== 0 && known[index] === 0);
    }
    return fresh;
  }

  gained(): boolean {
    let more = false;
    for (const { known, now } of this.#take()) {
      for (const [index, bits] of now.entries()) {
        const before = known[index] ?? 0;
        more ||= (bits & ~before) !== 0;
        known[index] = before | bits;
      }
    }
    return more;
  }

  sum(): { readonly all: number; readonly run: number } {
    let all = 0;
    let run = 0;
    for (const known of this.#seen.values()) {
      all += known.length;
      run += known.filter((bits) => bits !== 0).length;
    }
    return { all, run };
  }

  /** Yields every function that was run since: its known bits, and the new ones. */
  *#take(): Generator<{ readonly known: Uint8Array; readonly now: Uint8Array }> {
    let scripts: readonly Profiler.ScriptCoverage[] = [];
    // Within one thread, the answer is available when `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      scripts = result;
    });
    for (const { url, functions } of scripts) {
      if (!url.startsWith(this.#folder)) continue;
      for (const { ranges } of functions) {
        const whole = ranges[0];
        if (whole === undefined || whole.count === 0) continue;
        const { startOffset, endOffset } = whole;
        const name = `${url}:${startOffset}:${endOffset}`;
        const now = bitsOf(ranges, startOffset, endOffset);
        const known = this.#seen.get(name) ?? new Uint8Array(now.length);
        this.#seen.set(name, known);
        yield { known, now };
      }
    }
  }
}
