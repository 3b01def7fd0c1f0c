/**
 * Compares `diffLocks` with a simple model, over every grant for a small catalog, every state of
 * its scopes before and after, and every set of scopes that a route may need.
 */
import fc from 'fast-check';
import { type AccessLock, diffLocks } from 'keyscope/lock';
import { describe, expect, it } from 'vitest';
import { lockWith, type Scopes } from '../../support/locks.ts';

const ROUTE = 'GET /it';
const ALL = ['a:x', 'a:y', 'b:x'] as const;
const PATTERNS = [...ALL, 'a:*', 'b:*', '*:x', '*:y', '*:*'];
const GRANTS = Array.from({ length: 2 ** PATTERNS.length }, (_, bits) =>
  PATTERNS.filter((_pattern, at) => bits & (1 << at)),
);

/** The states of a scope: absent, open or reserved, and whether the route needs it. */
const STATES = ['absent', 'open', 'open, needed', 'reserved', 'reserved, needed'] as const;

interface Side {
  readonly lock: AccessLock;
  /** Whether a key with this grant may call the route. */
  readonly lets: (grant: readonly string[]) => boolean;
}

/** The model, independent of the tested code. */
function sideOf(states: readonly (typeof STATES)[number][]): Side {
  const scopes: Record<string, 'open' | 'reserved'> = {};
  const needed: string[] = [];
  for (const [at, scope] of ALL.entries()) {
    const state = states[at] ?? 'absent';
    if (state === 'absent') continue;
    scopes[scope] = state.startsWith('open') ? 'open' : 'reserved';
    if (state.endsWith('needed')) needed.push(scope);
  }
  return { lock: lockWith(scopes, { [ROUTE]: needed }), lets: lettingIn(scopes, needed) };
}

function lettingIn(scopes: Scopes, needed: readonly string[]): Side['lets'] {
  return (grant) =>
    needed.every((scope) => {
      const byName = grant.includes(scope);
      const [resource = '', action = ''] = scope.split(':');
      const wildcards = [`${resource}:*`, `*:${action}`, '*:*'];
      const byWildcard = scopes[scope] === 'open' && wildcards.some((each) => grant.includes(each));
      return byName || byWildcard;
    });
}

function everySide(): readonly Side[] {
  const sides: Side[] = [];
  for (const first of STATES) {
    for (const second of STATES) {
      for (const third of STATES) {
        const states = [first, second, third];
        // A catalog has at least one scope.
        if (states.some((state) => state !== 'absent')) sides.push(sideOf(states));
      }
    }
  }
  return sides;
}

describe('diffLocks', () => {
  it('agrees with the model for every grant over a small catalog', () => {
    const sides = everySide();
    const open = sides.map(({ lets }) => GRANTS.map(lets));
    let pairs = 0;
    for (const [from, before] of sides.entries()) {
      for (const [to, after] of sides.entries()) {
        const gained = GRANTS.some((_, at) => open[to]?.[at] && !open[from]?.[at]);
        const lost = GRANTS.some((_, at) => open[from]?.[at] && !open[to]?.[at]);
        const { widened, narrowed } = diffLocks(before.lock, after.lock);
        const said = { gained: widened.length > 0, lost: narrowed.length > 0 };
        if (said.gained !== gained || said.lost !== lost) {
          expect.fail(JSON.stringify([before.lock, after.lock, said, { gained, lost }]));
        }
        pairs += 1;
      }
    }
    expect(pairs).toBe(124 ** 2);
  });

  it('widens one way exactly if it narrows the other way, over large catalogs', () => {
    const scope = fc.constantFrom(
      ...Array.from({ length: 30 }, (_, at) => `r${at % 6}:a${Math.floor(at / 6)}`),
    );
    const service = fc
      .uniqueArray(scope, { minLength: 1, maxLength: 30 })
      .chain((scopes) =>
        fc.record({
          scopes: fc.constant(scopes),
          reserved: fc.subarray(scopes),
          needed: fc.subarray(scopes),
        }),
      )
      .map(({ scopes, reserved, needed }) => {
        const states = scopes.map((each) => [each, reserved.includes(each) ? 'reserved' : 'open']);
        const table = Object.fromEntries(states) as Scopes;
        return { needed, table, lock: lockWith(table, { [ROUTE]: needed }) };
      });
    fc.assert(
      fc.property(service, service, (one, other) => {
        const there = diffLocks(one.lock, other.lock);
        const back = diffLocks(other.lock, one.lock);
        expect(there.widened.length).toBe(back.narrowed.length);
        expect(there.narrowed.length).toBe(back.widened.length);
        expect(diffLocks(one.lock, one.lock).isEmpty).toBe(true);
        // A grant that proves it: all scopes by name, or one of them by a wildcard.
        const lets = {
          before: lettingIn(one.table, one.needed),
          after: lettingIn(other.table, other.needed),
        };
        const grants = [
          other.needed,
          ...other.needed.map((each) => [
            ...other.needed.filter((named) => named !== each),
            `${each.split(':')[0]}:*`,
          ]),
        ];
        const isWider = grants.some((grant) => lets.after(grant) && !lets.before(grant));
        expect(there.widened.length > 0).toBe(isWider);
      }),
    );
  });

  it('lists exactly the keys that can newly call the route', () => {
    const keys = GRANTS.filter((grant) => grant.every((pattern) => !pattern.includes('*')));
    for (const before of everySide()) {
      for (const after of everySide()) {
        const live = keys.map((scopes, at) => {
          return {
            keyId: String(at),
            prefix: 'acme',
            hint: 'KrPP',
            name: 'x',
            entityId: 'e',
            scopes,
          };
        });
        const { gains } = diffLocks(before.lock, after.lock, { keys: live });
        const expected = keys.flatMap((scopes, at) => {
          return after.lets(scopes) && !before.lets(scopes) ? [String(at)] : [];
        });
        expect(gains.map(({ keyId }) => keyId)).toEqual(expected);
      }
    }
  });
});
