/** Reads what a server prints at start-up. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';

/** Waits until each pattern was printed anywhere and returns its first group. */
export function untilPrinted(
  child: ChildProcessWithoutNullStreams,
  patterns: readonly RegExp[],
): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (chunk: unknown): void => {
      text += String(chunk);
      const found = patterns.flatMap((pattern) => pattern.exec(text)?.[1] ?? []);
      if (found.length === patterns.length) resolve(found);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', (code) => reject(new Error(`ended with ${code}: ${text}`)));
  });
}
