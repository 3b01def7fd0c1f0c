/**
 * The law of rotation: a successor has only rights that both its predecessor and the authority
 * have, and lives no longer than either limit, whatever happened before.
 */
import fc from 'fast-check';
import type { IssuedKey, KeyInfo, Keyring } from 'keyscope';
import { coversScopes, defineScopes, isAccessError, isInputError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { HOUR, OTHER, OWN, stoppedClock, untyped } from '../support/keyring.ts';
import {
  type Asked,
  EVERYTHING,
  entitiesOf,
  type Held,
  OTHERS,
  patternsOf,
  SCOPES,
  SMALL_CATALOG,
  smallKeyring,
  subsetsOf,
  tryAll,
  wishes,
} from '../support/rotations.ts';
import { runs } from '../support/runs.ts';

const PATTERNS = [...SCOPES, 'a:*', '*:r', '*:*'];

const SENTENCE = 'A scope.';
/** The catalogs of other releases: one without a scope, one with a reserved scope. */
const smaller = defineScopes({ a: { r: SENTENCE }, b: { r: SENTENCE } });
const stricter = defineScopes(
  { a: { r: SENTENCE, w: SENTENCE }, b: { r: SENTENCE } },
  { reserved: ['a:w'] },
);

const isWithin = (part: readonly string[], held: readonly string[]) =>
  part.every((element) => held.includes(element));

// All combinations of both are in test/slow/rotations.test.ts.
describe('a successor gets what the call asks for, within predecessor and authority', () => {
  it('for all scopes of a small catalog, and authorities over them', async () => {
    const { count, wrong } = await tryAll({
      old: subsetsOf(SCOPES).map((scopes) => ({ scopes, accessibleEntities: [OTHER] })),
      asked: wishes('scopes', SCOPES),
      authorities: ['all' as const, ...subsetsOf(['a:r', 'a:*', '*:r', '*:*'])].map((scopes) => ({
        scopes,
        entities: OTHERS,
      })),
    });
    expect(wrong).toEqual([]);
    expect(count).toBe(8 * 9 * 17);
  });

  it('for all sets of entities, and authorities over them', async () => {
    const { count, wrong } = await tryAll({
      old: subsetsOf(OTHERS).map((accessibleEntities) => ({ scopes: ['a:r'], accessibleEntities })),
      asked: wishes('accessibleEntities', OTHERS),
      authorities: wishes('entities', OTHERS).map((held) => ({ scopes: 'all', ...held })),
    });
    expect(wrong).toEqual([]);
    expect(count).toBe(4 * 5 * 5);
  });
});

// ── Any sequence ────────────────────────────────────────────────────────────────────────────────

/** The newest key. */
const NEWEST = -1;

/** The next act: on which key, by which release, under which authority. */
interface Step {
  readonly act: 'rotate' | 'withdraw' | 'suspend' | 'resume' | 'revoke' | 'wait';
  readonly key: number;
  readonly release: number;
  readonly asked: Asked;
  readonly held: Held;
  readonly entity: string;
  readonly overlapMs: number;
  readonly waitMs: number;
}

const life = fc.integer({ min: 1, max: 9 }).map((hours) => hours * HOUR);
const expiry = fc.oneof(
  fc.constant('never' as const),
  life.map((ms) => new Date(ms)),
);

/** Usually the value that causes no refusal. */
function mostly<T>(value: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });
}

const asking: fc.Arbitrary<Asked> = fc
  .record({
    scopes: mostly(undefined, fc.subarray([...SCOPES])),
    accessibleEntities: mostly(undefined, fc.subarray([...OTHERS])),
    expiresAt: mostly(undefined, expiry),
    justification: fc.constantFrom('j', undefined),
  })
  .map((asked) => untyped<Asked>(asked));

const holding: fc.Arbitrary<Held> = fc
  .record({
    scopes: mostly<readonly string[] | 'all'>('all', fc.subarray(PATTERNS, { minLength: 1 })),
    entities: mostly(OTHERS, fc.subarray([...OTHERS])),
    maxLifetimeMs: mostly<number | undefined>(undefined, life),
  })
  .map((held) => untyped<Held>(held));

const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom(
    ...Array<'rotate'>(6).fill('rotate'),
    'withdraw',
    'suspend',
    'resume',
    'resume',
    'revoke',
    'wait',
  ),
  key: mostly(NEWEST, fc.nat({ max: 9 })),
  release: fc.nat({ max: 3 }),
  asked: asking,
  held: holding,
  entity: fc.constantFrom(...OTHERS),
  overlapMs: fc.constantFrom(0, HOUR, 3 * HOUR),
  waitMs: fc.constantFrom(1, HOUR, 4 * HOUR),
});

/** The limit of the last release. */
const RELEASE_LIMIT_MS = 5 * HOUR;

/** The expected state of a key, from its history. */
interface Known {
  readonly key: string;
  readonly info: KeyInfo;
  /** The entities that it can address: fewer with each withdrawal. */
  reach: readonly string[];
}

/** The keys of one run, and the releases that serve them. */
class World {
  readonly clock = stoppedClock(0);
  readonly store = memoryStore();
  readonly known: Known[] = [];
  readonly releases: readonly Keyring[];
  rotations = 0;

  constructor() {
    const { store, clock } = this;
    this.releases = [
      smallKeyring(store, clock.now),
      smallKeyring(store, clock.now, smaller),
      smallKeyring(store, clock.now, stricter),
      smallKeyring(store, clock.now, SMALL_CATALOG, RELEASE_LIMIT_MS),
    ];
  }

  add({ key, info }: IssuedKey): void {
    this.known.push({ key, info, reach: info.accessibleEntities });
  }

  at(index: number): Known {
    return this.known.at(index % this.known.length) as Known;
  }

  /** A key, and the keys that it was rotated from or to. */
  chainOf({ info }: Known): readonly Known[] {
    return this.known.filter((each) => each.info.rootKeyId === info.rootKeyId);
  }
}

/** The law, for one rotation that succeeded. */
function checkLaw(world: World, old: Known, next: KeyInfo, { held, release }: Step): void {
  expect(isWithin(next.scopes, old.info.scopes)).toBe(true);
  expect(coversScopes(patternsOf(held), next.scopes)).toBe(true);
  expect(isWithin(next.accessibleEntities, old.reach)).toBe(true);
  expect(isWithin(next.accessibleEntities, entitiesOf(held))).toBe(true);
  const ofRelease = release === 3 ? RELEASE_LIMIT_MS : Number.POSITIVE_INFINITY;
  const limit = Math.min(held.maxLifetimeMs ?? Number.POSITIVE_INFINITY, ofRelease);
  const endsAt = next.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
  expect(endsAt - world.clock.now()).toBeLessThanOrEqual(limit);
  if (release === 1) expect(next.scopes).not.toContain('a:w');
  const needsReason = release === 2 && next.scopes.includes('a:w');
  if (needsReason) expect(next.justification).not.toBeNull();
}

async function perform(world: World, given: Step): Promise<void> {
  const { act, key, release, asked, held, entity, overlapMs, waitMs } = given;
  const keyring = world.releases[release] as Keyring;
  const old = world.at(key);
  const { keyId } = old.info;
  const own = { entityId: OWN };
  switch (act) {
    case 'wait':
      world.clock.advance(waitMs);
      return;
    case 'withdraw':
      await keyring.withdraw(keyId, { entityId: entity });
      for (const each of world.chainOf(old)) {
        each.reach = each.reach.filter((reached) => reached !== entity);
      }
      return;
    case 'rotate': {
      const authority = { ...own, ...held };
      const next = await keyring.rotate(keyId, { overlapMs, ...asked }, authority);
      checkLaw(world, old, next.info, given);
      world.add(next);
      world.rotations += 1;
      return;
    }
    default:
      await keyring[act](keyId, own);
  }
}

/** At the end, whatever was refused, no key verifies with more than its rights. */
async function checkAll(world: World): Promise<void> {
  const [first] = world.known as [Known];
  const keyring = world.releases[0] as Keyring;
  for (const { key, info, reach } of world.known) {
    expect(isWithin(info.scopes, first.info.scopes)).toBe(true);
    const principal = await keyring.verify(key).catch(() => null);
    if (principal === null) continue;
    expect(principal.scopes).toEqual(info.scopes);
    expect(principal.accessibleEntities).toEqual(reach);
  }
}

describe('no sequence of calls makes a key wider', () => {
  it('with any rotations, withdrawals, suspensions, revocations and waits', async () => {
    let rotations = 0;
    const issuing = fc.record({
      scopes: fc.subarray([...SCOPES], { minLength: 1 }),
      accessibleEntities: fc.subarray([...OTHERS]),
      expiresAt: expiry,
    });
    const steps = fc.array(step, { minLength: 3, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(issuing, steps, async (input, given) => {
        const world = new World();
        const [keyring] = world.releases as [Keyring];
        world.add(await keyring.issue(untyped({ name: 'n', ...input }), EVERYTHING));
        for (const each of given) {
          await perform(world, each).catch((error: unknown) => {
            if (!isAccessError(error) && !isInputError(error)) throw error;
          });
        }
        await checkAll(world);
        rotations += world.rotations;
      }),
      { numRuns: runs(200) },
    );
    // The property would also hold for an empty run.
    expect(rotations).toBeGreaterThan(runs(200) / 2);
  });
});
