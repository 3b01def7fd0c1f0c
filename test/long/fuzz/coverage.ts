/**
 * What of the built package was run, and how often, by V8's own counters. Asking takes a fifth of a
 * millisecond, many times what an input takes: ask once for a batch, and input by input only where
 * a batch ran something new.
 */
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector';

export interface Coverage {
  /**
   * Whether code was run since the last question that never was before; noted by `gained` alone.
   */
  isNew(): boolean;
  /**
   * Whether code was run that never was before, or more often than ever before, in powers of two.
   * Notes it.
   */
  gained(): boolean;
  /** Characters of functions that were run: all of them, and those in blocks that were. */
  sum(): { readonly all: number; readonly run: number };
}

/** The bit of a number of runs: one for each power of two, and none for no run. */
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

/** Counts what is run of the scripts whose address begins with `folder`. */
export function startCoverage(folder: string): Coverage {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  // For each function, what was seen of each of its characters: one bit a power of two.
  const seen = new Map<string, Uint8Array>();

  /**
   * Calls `found` with every function that was run since: what is known of it, and the bits of this
   * time.
   */
  function take(found: (known: Uint8Array, now: Uint8Array) => void): void {
    let scripts: readonly Profiler.ScriptCoverage[] = [];
    // Within one thread the answer is there when `post` returns.
    session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      scripts = result;
    });
    for (const { url, functions } of scripts) {
      if (!url.startsWith(folder)) continue;
      for (const { ranges } of functions) {
        const whole = ranges[0];
        if (whole === undefined || whole.count === 0) continue;
        const { startOffset, endOffset } = whole;
        const name = `${url}:${startOffset}:${endOffset}`;
        const now = bitsOf(ranges, startOffset, endOffset);
        const known = seen.get(name) ?? new Uint8Array(now.length);
        seen.set(name, known);
        found(known, now);
      }
    }
  }

  return {
    isNew() {
      let fresh = false;
      take((known, now) => {
        fresh ||= now.some((bits, i) => bits !== 0 && known[i] === 0);
      });
      return fresh;
    },
    gained() {
      let more = false;
      take((known, now) => {
        for (const [i, bits] of now.entries()) {
          const before = known[i] ?? 0;
          more ||= (bits & ~before) !== 0;
          known[i] = before | bits;
        }
      });
      return more;
    },
    sum() {
      let all = 0;
      let run = 0;
      for (const known of seen.values()) {
        all += known.length;
        run += known.filter((bits) => bits !== 0).length;
      }
      return { all, run };
    },
  };
}
