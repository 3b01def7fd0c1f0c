/**
 * The law of lineages: once `revokeLineage` has returned, a thief with a key of the lineage has no
 * live key and gets none, after any calls before, meanwhile and afterwards.
 */
import fc from 'fast-check';
import type { KeyStore } from 'keyscope';
import { isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { AUTHORITY, delayed, issue, type Ring, START, setUp, wrap } from '../support/keyring.ts';
import {
  EVE,
  GRANT,
  idsOfChain,
  issueUnder,
  leftIn,
  type Made,
  OVERLAP,
  rotated,
  under,
} from '../support/lineages.ts';
import { outcome } from '../support/outcome.ts';
import { runs } from '../support/runs.ts';

// ── One interruption ────────────────────────────────────────────────────────────────────────────

/** A leaked key and its rotation, a key that it issued, and a suspended one. */
async function leak() {
  const inner = memoryStore();
  const { keyring } = setUp({ store: inner });
  const [leaked = ''] = await idsOfChain(keyring, 1);
  const child = await issueUnder(keyring, leaked);
  const suspended = await issueUnder(keyring, leaked);
  await keyring.suspend(suspended, AUTHORITY);
  const next = await rotated(keyring, leaked);
  return { inner, keyring, ids: { leaked, next, child, suspended } };
}

type Leaked = Awaited<ReturnType<typeof leak>>;
type Act = (keyring: Ring, ids: Leaked['ids']) => Promise<unknown>;

const ACTS: Readonly<Record<string, Act>> = {
  'a key that is issued under it': (keyring, { next }) => issueUnder(keyring, next),
  'a rotation of it': (keyring, { next }) => keyring.rotate(next, OVERLAP, under(next)),
  'a rotation of it by a person': (keyring, { next }) => rotated(keyring, next),
  'a rotation of a key that it issued': (keyring, { child }) =>
    keyring.rotate(child, OVERLAP, under(child)),
  'a resumption of a key that it issued': (keyring, { next, suspended }) =>
    keyring.resume(suspended, under(next)),
};

const revocation: Act = (keyring, { leaked }) => keyring.revokeLineage(leaked, EVE);

/** More calls than any of these makes. */
const MOST_CALLS = 40;

/**
 * Runs `first`, and `second` before its n-th call of the store, for every n. Returns how often
 * `first` passed.
 */
async function interrupted(first: Act, second: Act): Promise<{ passed: number; places: number }> {
  let passed = 0;
  for (let nth = 1; nth < MOST_CALLS; nth++) {
    const { inner, keyring, ids } = await leak();
    let calls = 0;
    const store = wrap(inner, async (_method, _args, call) => {
      calls += 1;
      if (calls === nth) await outcome(() => second(keyring, ids));
      return call();
    });
    if ((await outcome(() => first(setUp({ store }).keyring, ids))) === 'passed') passed += 1;
    if (calls < nth) return { passed, places: nth - 1 };
    expect(await leftIn(inner), `in call ${nth}`).toEqual([]);
  }
  throw new Error('raise MOST_CALLS');
}

describe.each(Object.entries(ACTS))('%s', (_what, act) => {
  it('leaves no live key if the lineage is revoked at any moment', async () => {
    const { places } = await interrupted(act, revocation);
    expect(places).toBeGreaterThanOrEqual(3);
  });

  it('leaves no live key if it happens at any moment of the revocation', async () => {
    const { passed, places } = await interrupted(revocation, act);
    // The revocation itself always passes; the last run is without an interruption.
    expect(passed).toBe(places + 1);
  });
});

// ── Any interleaving ────────────────────────────────────────────────────────────────────────────

/** The next call of the thief, with one of the keys that they hold. */
interface Step {
  readonly act: 'issue' | 'rotate' | 'resume' | 'suspend';
  readonly by: number;
  readonly on: number;
  readonly overlapMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom('issue', 'issue', 'rotate', 'rotate', 'resume', 'suspend'),
  by: fc.nat({ max: 3 }),
  on: fc.nat({ max: 3 }),
  overlapMs: fc.constantFrom(0, OVERLAP.overlapMs),
});

const race = fc.record({
  /** Several at a time. */
  thieves: fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 }),
  /** How many turns of the event loop each call of the store takes. */
  delays: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 12 }),
  /** When the lineage is revoked, in turns. */
  start: fc.nat({ max: 100 }),
  length: fc.integer({ min: 1, max: 3 }),
  /** The keys of the chain from which it is revoked, and which leaked. */
  from: fc.nat({ max: 2 }),
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Makes calls of the store take turns, in a cycle. */
function slow(store: KeyStore, delays: readonly number[]): KeyStore {
  let calls = 0;
  return wrap(delayed(store), async (_method, _args, call) => {
    calls += 1;
    await turns(delays[calls % delays.length] ?? 0);
    return call();
  });
}

/** Everything that the thief has got. */
class Loot {
  readonly keys: Made[];
  got = 0;
  refused = 0;

  constructor(leaked: readonly Made[]) {
    this.keys = [...leaked];
  }

  async take(keyring: Ring, { act, by, on, overlapMs }: Step): Promise<void> {
    const idAt = (index: number) => this.keys[index % this.keys.length]?.keyId ?? '';
    const authority = under(idAt(by));
    try {
      if (act === 'resume' || act === 'suspend') return await keyring[act](idAt(on), authority);
      // Within the overlap of the leaked key.
      const expiresAt = new Date(START + OVERLAP.overlapMs);
      const made =
        act === 'issue'
          ? await keyring.issue({ name: 'loot', scopes: [], expiresAt }, authority)
          : await keyring.rotate(idAt(on), { overlapMs, expiresAt }, authority);
      this.keys.push({ key: made.key, keyId: made.info.keyId });
      this.got += 1;
    } catch (error) {
      if (!isAccessError(error)) throw error;
      this.refused += 1;
    }
  }
}

describe('a thief with one leaked key', () => {
  // The walk went on for as long as the thief rotated faster than it listed.
  it('adds nothing once the first key of the chain has ended, at any speed', async () => {
    for (const name of ['issue', 'rotate'] as const) {
      const { inner, keyring, ids } = await leak();
      let newest = ids.next;
      let isOver = false;
      const added: boolean[] = [];
      const store = wrap(inner, async (method, _args, call) => {
        const authority = under(newest);
        const input = { name: 'loot', scopes: [], expiresAt: 'never' } as const;
        const act = async (): Promise<void> => {
          const { info } =
            name === 'issue'
              ? await keyring.issue(input, authority)
              : await keyring.rotate(newest, OVERLAP, authority);
          if (name === 'rotate') newest = info.keyId;
        };
        if (added.length < 200 && (await outcome(act)) === 'passed') added.push(isOver);
        const answer = await call();
        if (method === 'mark') isOver = true;
        return answer;
      });
      await setUp({ store }).keyring.revokeLineage(ids.leaked, EVE);
      expect(added).toContain(false);
      expect(added).not.toContain(true);
      expect(await leftIn(inner)).toEqual([]);
    }
  });

  it('has no live key once revokeLineage has returned, after any calls meanwhile', async () => {
    let got = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(race, async ({ thieves, delays, start, length, from }) => {
        const inner = memoryStore();
        const owner = setUp({ store: inner });
        const bystander = await issue(owner.keyring);
        const first = await issue(owner.keyring);
        const chain: Made[] = [{ key: first.key, keyId: first.info.keyId }];
        while (chain.length < length) {
          const last = chain.at(-1)?.keyId ?? '';
          const { key, info } = await owner.keyring.rotate(last, OVERLAP, GRANT);
          chain.push({ key, keyId: info.keyId });
        }
        const leaked = chain[from % length] as Made;
        const loot = new Loot([leaked]);
        const { keyring } = setUp({ store: slow(inner, delays) });

        async function expectNothing(): Promise<void> {
          const alive = loot.keys.map(({ key }) => outcome(() => owner.keyring.verify(key)));
          expect(await Promise.all(alive)).not.toContain('passed');
        }

        async function revoke(): Promise<void> {
          await turns(start);
          await keyring.revokeLineage(leaked.keyId, EVE);
          await expectNothing();
        }

        async function steal(steps: readonly Step[]): Promise<void> {
          for (const each of steps) await loot.take(keyring, each);
        }

        await Promise.all([...thieves.map(steal), revoke()]);
        await expectNothing();
        for (const steps of thieves) await steal(steps);
        await expectNothing();
        expect(await leftIn(inner)).toEqual([bystander.info.keyId]);
        got += loot.got;
        refused += loot.refused;
      }),
      { numRuns: runs(150) },
    );
    // The property would also hold if the thief never got anything, or were never too late.
    expect(got).toBeGreaterThan(runs(150) / 2);
    expect(refused).toBeGreaterThan(runs(150));
  });
});
