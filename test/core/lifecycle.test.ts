/**
 * The life cycle at ±1 ms of each deadline: each vector on a keyring of its own, through its public
 * operations.
 */
import { createKeyring, defineScopes, type IssuedKey, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import type { Vector } from '../support/vectors.ts';
import { failures, readVectors, uuid } from '../support/vectors.ts';

interface Step {
  readonly at: number;
  readonly issue?: { readonly expiresAt: number | null };
  readonly rotate?: {
    readonly key: number;
    readonly overlapMs: number;
    readonly expiresAt?: number | null;
  };
  readonly revoke?: { readonly key: number };
  /** The reason with which the step is refused. */
  readonly refused?: string;
}
type LifecycleVector = Vector & {
  readonly steps: readonly Step[];
  readonly verify: { readonly key: number; readonly at: number };
  readonly result: 'accepted' | 'revoked' | 'retired' | 'expired';
};

const { tests } = readVectors<{ tests: readonly LifecycleVector[] }>('lifecycle');
const catalog = defineScopes({ threats: { read: 'Read threats.' } });
const authority = { entityUuid: uuid(1) };
/** What a `Date` can hold (ECMA-262 §21.4.1.1). */
const MAX_TIME = 8.64e15;
const expiry = (time: number | null): Date | 'never' => (time === null ? 'never' : new Date(time));

async function reasonOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return 'accepted';
  } catch (error) {
    if (isAccessError(error)) return error.reason;
    throw error;
  }
}

function keyringAt(peppers: 'none' | readonly { id: string; secret: string }[]) {
  let time = 0;
  const keyring = createKeyring({
    prefix: 'acme',
    catalog,
    store: memoryStore(),
    peppers,
    now: () => time,
  });
  const keys: { readonly key: string; readonly keyId: string }[] = [];
  const keep = ({ key, info }: IssuedKey): void => {
    keys.push({ key, keyId: info.keyId });
  };
  const keyAt = (index: number) => keys[index] ?? { key: '', keyId: '' };
  const perform = async ({ issue, rotate, revoke }: Step): Promise<void> => {
    if (issue) {
      keep(
        await keyring.issue(
          { name: 'ci', scopes: [], expiresAt: expiry(issue.expiresAt) },
          authority,
        ),
      );
    } else if (rotate) {
      const { key, overlapMs, expiresAt } = rotate;
      const input =
        expiresAt === undefined ? { overlapMs } : { overlapMs, expiresAt: expiry(expiresAt) };
      keep(await keyring.rotate(keyAt(key).keyId, input, authority));
    } else if (revoke) {
      await keyring.revoke(keyAt(revoke.key).keyId, authority);
    }
  };
  return {
    run: (step: Step) => {
      time = step.at;
      return reasonOf(() => perform(step));
    },
    verify: (key: number, when: number) => {
      time = when;
      return reasonOf(() => keyring.verify(keyAt(key).key));
    },
  };
}

describe.each([
  ['with a pepper', [{ id: 'p1', secret: 'a secret of at least thirty-two bytes' }]],
  ['without peppers', 'none'],
] as const)('the life of a key %s', (_, peppers) => {
  it('ends when each vector says', async () => {
    expect(tests.length).toBeGreaterThan(100);
    const failed = await failures(tests, async ({ steps, verify, result }) => {
      const { run, verify: outcome } = keyringAt(peppers);
      for (const step of steps) expect(await run(step)).toBe(step.refused ?? 'accepted');
      expect(await outcome(verify.key, verify.at)).toBe(result);
    });
    expect(failed).toEqual([]);
  });

  it('ends then whatever was verified before: no verification changes anything', async () => {
    // The same store and record for all: what one verification finds out must not stand in for the
    // next.
    const failed = await failures(tests, async ({ steps, verify, result }) => {
      const { run, verify: outcome } = keyringAt(peppers);
      for (const step of steps) await run(step);
      for (const when of [
        verify.at - 1_000_000_000_000,
        verify.at + 1_000_000_000_000,
        verify.at - 1,
      ]) {
        await outcome(verify.key, Math.min(when, MAX_TIME));
      }
      expect(await outcome(verify.key, verify.at)).toBe(result);
    });
    expect(failed).toEqual([]);
  });
});
