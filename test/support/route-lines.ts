/** Writes routes as lines that are easy to compare. */
import { routesOf } from '../../src/tools/lock/index.js';

/** Returns `GET /path: one two` for guards, and `GET /path: (three)` for hints. */
export function linesOf(app: unknown): readonly string[] {
  return routesOf(app).map(({ method, path, operations, behind }) => {
    const hints = behind === undefined ? [] : [`(${behind.join(' ')})`];
    return `${method} ${path}: ${[...operations, ...hints].join(' ')}`.trimEnd();
  });
}
