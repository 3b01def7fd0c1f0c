/**
 * Every rotation over three scopes and three entities, under every authority that makes a
 * difference.
 */
import { expect, it } from 'vitest';
import { OTHERS, SCOPES, subsetsOf, tryAll, wishes } from '../support/rotations.ts';

/** All pairs of elements from two lists of objects. */
function pairs<A extends object, B extends object>(
  first: readonly A[],
  second: readonly B[],
): (A & B)[] {
  return first.flatMap((a) => second.map((b) => ({ ...a, ...b })));
}

it('a rotation grants what was requested, within predecessor and authority', async () => {
  const scopes = subsetsOf(SCOPES).map((list) => ({ scopes: list }));
  const entities = subsetsOf(OTHERS).map((list) => ({ accessibleEntities: list }));
  const held = ['all' as const, ...subsetsOf(['a:r', 'a:*', '*:r'])];
  const { count, wrong } = await tryAll({
    old: pairs(scopes, entities),
    asked: pairs(wishes('scopes', SCOPES), wishes('accessibleEntities', OTHERS)),
    authorities: pairs(
      held.map((list) => ({ scopes: list })),
      subsetsOf(OTHERS).map((list) => ({ entities: list })),
    ),
  });
  expect(wrong).toEqual([]);
  expect(count).toBe(32 * 45 * 36);
}, 600_000);
