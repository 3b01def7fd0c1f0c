/** Listed routes, to be compared at a glance. */
import { routesOf } from '../../src/tools/lock/index.js';

/** `GET /path: one two` for each, and `GET /path: (three)` for one that is behind another. */
export function linesOf(app: unknown): readonly string[] {
  return routesOf(app).map(({ method, path, operations, behind }) => {
    const hints = behind === undefined ? [] : [`(${behind.join(' ')})`];
    return `${method} ${path}: ${[...operations, ...hints].join(' ')}`.trimEnd();
  });
}
