/** Listed routes, to be compared at a glance. */
import { routesOf } from '../../src/tools/lock/index.js';

/** `GET /path: one two` for each. */
export function linesOf(app: unknown): readonly string[] {
  return routesOf(app).map(({ method, path, operations }) =>
    `${method} ${path}: ${operations.join(' ')}`.trimEnd(),
  );
}
