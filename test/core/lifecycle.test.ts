/**
 * The life cycle at ±1 ms of each deadline. Each vector runs on a new keyring, through its public
 * operations.
 */
import type { IssuedKey, Principal } from 'keyscope';
import { createKeyring, defineScopes, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import type { Vector } from '../support/vectors.ts';
import { failures, readVectors, uuid } from '../support/vectors.ts';

/** An act at a time. */
interface Step {
  readonly at: number;
  readonly issue?: { readonly expiresAt: number | null; readonly entities?: readonly number[] };
  readonly rotate?: {
    readonly key: number;
    readonly overlapMs: number;
    readonly expiresAt?: number | null;
    readonly entities?: readonly number[];
  };
  readonly revoke?: OnKey;
  readonly revokeLineage?: OnKey;
  readonly suspend?: OnKey;
  readonly resume?: OnKey;
  readonly withdraw?: OnKey & { readonly entity: number };
  /** The reason for refusing the step. */
  readonly refused?: string;
}

interface OnKey {
  readonly key: number;
}

type LifecycleVector = Vector & {
  readonly steps: readonly Step[];
  readonly verify: OnKey & { readonly at: number; readonly entities?: readonly number[] };
  readonly result: 'accepted' | 'revoked' | 'suspended' | 'retired' | 'expired';
};

const { tests } = readVectors<{ tests: readonly LifecycleVector[] }>('lifecycle');
const catalog = defineScopes({ threats: { read: 'Read threats.' } });
const uuids = (numbers: readonly number[] = []) => numbers.map(uuid);
const authority = { entityId: uuid(1), entities: uuids([2, 3, 4]), scopes: 'all' } as const;
/** The range of a `Date` (ECMA-262 §21.4.1.1). */
const MAX_TIME = 8.64e15;
const expiry = (time: number | null): Date | 'never' => (time === null ? 'never' : new Date(time));

/** The result of a step or a verification. */
interface Outcome {
  /** `accepted`, or the reason of a refusal. */
  readonly reason: string;
  readonly value: unknown;
}

async function outcomeOf(call: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { reason: 'accepted', value: await call() };
  } catch (error) {
    if (isAccessError(error)) return { reason: error.reason, value: undefined };
    throw error;
  }
}

const ON_A_KEY = ['revoke', 'revokeLineage', 'suspend', 'resume'] as const;

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

  async function perform(step: Step): Promise<void> {
    const { issue, rotate, withdraw } = step;
    if (issue) {
      const expiresAt = expiry(issue.expiresAt);
      const accessibleEntities = uuids(issue.entities);
      const input = { name: 'ci', scopes: [], expiresAt, accessibleEntities };
      keep(await keyring.issue(input, authority));
    }
    if (rotate) {
      const { key, overlapMs, expiresAt, entities } = rotate;
      const ofExpiry = expiresAt === undefined ? {} : { expiresAt: expiry(expiresAt) };
      const ofEntities = entities === undefined ? {} : { accessibleEntities: uuids(entities) };
      const input = { overlapMs, ...ofExpiry, ...ofEntities };
      keep(await keyring.rotate(keyAt(key).keyId, input, authority));
    }
    if (withdraw) {
      await keyring.withdraw(keyAt(withdraw.key).keyId, { entityId: uuid(withdraw.entity) });
    }
    for (const name of ON_A_KEY) {
      const act = step[name];
      if (act) await keyring[name](keyAt(act.key).keyId, authority);
    }
  }

  return {
    async run(step: Step): Promise<string> {
      time = step.at;
      const { reason } = await outcomeOf(() => perform(step));
      return reason;
    },
    /** The result of `verify` at a time, and the entities that the key can address then. */
    async verify(key: number, when: number) {
      time = when;
      const { reason, value } = await outcomeOf(() => keyring.verify(keyAt(key).key));
      return { reason, entities: (value as Principal | undefined)?.accessibleEntities };
    },
  };
}

/** Compares the result of a verification with its vector. */
function check(
  { verify, result }: LifecycleVector,
  answer: { readonly reason: string; readonly entities: readonly string[] | undefined },
): void {
  expect(answer.reason).toBe(result);
  if (verify.entities !== undefined) expect(answer.entities).toEqual(uuids(verify.entities));
}

describe.each([
  ['with a pepper', [{ id: 'p1', secret: 'a secret of at least thirty-two bytes' }]],
  ['without peppers', 'none'],
] as const)('the life of a key %s', (_, peppers) => {
  it('matches each vector', async () => {
    expect(tests.length).toBeGreaterThan(200);
    const failed = await failures(tests, async (vector) => {
      const { run, verify } = keyringAt(peppers);
      for (const step of vector.steps) expect(await run(step)).toBe(step.refused ?? 'accepted');
      check(vector, await verify(vector.verify.key, vector.verify.at));
    });
    expect(failed).toEqual([]);
  });

  it('does not depend on earlier verifications, which change nothing', async () => {
    // All use the same store and record: the result of one verification must not replace the next.
    const failed = await failures(tests, async (vector) => {
      const { run, verify } = keyringAt(peppers);
      const { key, at } = vector.verify;
      for (const step of vector.steps) {
        await run(step);
        await verify(key, step.at);
      }
      for (const when of [at - 1_000_000_000_000, at + 1_000_000_000_000, at - 1]) {
        await verify(key, Math.min(when, MAX_TIME));
      }
      check(vector, await verify(key, at));
    });
    expect(failed).toEqual([]);
  });
});
