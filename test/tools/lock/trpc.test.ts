/** Procedures in the shape that tRPC 11 has; test/frameworks has the real one. */
import { expect, test } from 'vitest';
import { linesOf } from '../../support/route-lines.ts';

const MARK = Symbol.for('keyscope.operation');

const guard = Object.assign(() => {}, { [MARK]: 'one' });

test('lists procedures with the guards among their middleware', () => {
  const procedure = (type: string, ...middlewares: readonly unknown[]) => {
    return Object.assign(() => {}, { _def: { type, middlewares } });
  };
  const procedures = {
    a: procedure('query', () => {}, guard),
    'in.b': procedure('mutation', guard),
    'in.c': procedure('subscription'),
    d: procedure('later'),
  };
  expect(linesOf({ _def: { router: true, procedures } })).toEqual([
    'QUERY a: one',
    'later d:',
    'MUTATION in.b: one',
    'SUBSCRIPTION in.c:',
  ]);
});
