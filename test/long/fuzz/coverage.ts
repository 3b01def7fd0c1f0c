/**
 * Which parts of the source ran and how often, from V8's own counters. Reading them takes a fifth
 * of a millisecond, many times as long as an input. So read them once per batch, and per input only
 * if a batch ran something new.
 */
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector';

export interface Coverage {
  /** Whether new code ran since the last call. Only `gained` updates what is known. */
  isNew(): boolean;
  /**
   * Whether code ran for the first time, or more often than ever before, in powers of two. Updates
   * what is known.
   */
  gained(): boolean;
  /** The characters of all functions that ran, and of the blocks in them that ran. */
  sum(): { readonly all: number; readonly run: number };
}

/** The bit for a number of runs: one for each power of two; 0 means none. */
function bitOf(count: number): number {
  return count === 0 ? 0 : 1 << Math.min(7, Math.floor(Math.log2(count)));
}

/** The bits of each character of a function. */
function bitsOf(ranges: readonly Profiler.CoverageRange[], start: number, end: number): Uint8Array {
  const bits = new Uint8Array(end - start);
  // From the outermost to the innermost.
  for (const { count, startOffset, endOffset } of ranges) {
    bits.fill(bitOf(count), startOffset - start, endOffset - start);
  }
  return bits;
}

/** Counts runs of the scripts whose address begins with `folder`. */
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
  /** By function, one byte for each of its characters, with one bit for each power of two. */
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

  /** Every function that ran since the last call: its known bits and the new ones. */
  *#take(): Generator<{ readonly known: Uint8Array; readonly now: Uint8Array }> {
    let scripts: readonly Profiler.ScriptCoverage[] = [];
    // Within one thread the answer has arrived when `post` returns.
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
