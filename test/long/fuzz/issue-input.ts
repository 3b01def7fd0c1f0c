/** The first argument of `issue`. */
import assert from 'node:assert/strict';
import type { KeyInfo, KeyRecord, KeyStore } from 'keyscope';
import { createKeyring, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import type { Json } from '../../support/vectors.ts';
import { readVectors, unfold } from '../../support/vectors.ts';
import type { Target } from './judge.ts';
import { requireComplaint, requireDenial, settled, timed } from './judge.ts';
import { textsOf } from './mutate.ts';
import { isWider } from './scopes.ts';
import { AUTHORITY, base, catalog, INPUT, LIVE, OTHER, OWN, START } from './subject.ts';

interface IssueVectors {
  readonly now: number;
  readonly tests: readonly { readonly input: Json; readonly expiresAtMs?: number }[];
}

/** Reads the inputs of the vectors, with times close to the clock here. */
function readSeeds(): readonly unknown[] {
  const { now, tests } = readVectors<IssueVectors>('issue-input');
  return tests.map(({ input, expiresAtMs }) => {
    const unfolded: unknown = unfold(input);
    const isTable = typeof unfolded === 'object' && unfolded !== null && !Array.isArray(unfolded);
    if (!isTable || expiresAtMs === undefined) return unfolded;
    return { ...unfolded, expiresAt: new Date(expiresAtMs - now + START) };
  });
}

/** Makes a store of one record, which returns it like a database would. */
function storeOfOne() {
  let kept = '[]';
  const findByDigest: KeyStore['findByDigest'] = () => JSON.parse(kept) as KeyRecord[];
  const insert: KeyStore['insert'] = (inserted) => {
    kept = JSON.stringify([inserted]);
  };
  return { store: { ...memoryStore(), insert, findByDigest }, kept: () => kept };
}

/** The accepted input. */
interface Asked {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | 'never';
  readonly justification?: string;
  readonly accessibleEntities?: readonly string[];
  readonly metadata?: object;
}

/** Checks that a key has what was requested, and no more. */
function checkInfo(got: KeyInfo, asked: Asked): void {
  const { name, scopes, expiresAt, accessibleEntities = [], justification, metadata = {} } = asked;
  assert.equal(got.name, name.normalize('NFC'));
  assert.equal(got.justification, justification?.normalize('NFC') ?? null);
  const isAsked = (scope: string) => scopes.some((pattern) => isWider(pattern, scope));
  assert.deepEqual(got.scopes, catalog.all.filter(isAsked));
  const isNamed = (scope: string) => scopes.includes(scope) && got.justification !== null;
  assert.ok(got.scopes.every((scope) => !catalog.isReserved(scope) || isNamed(scope)));
  assert.deepEqual(got.accessibleEntities, [...new Set([OWN, ...accessibleEntities])]);
  assert.ok(got.accessibleEntities.every((entity) => entity === OWN || entity === OTHER));
  assert.deepEqual(Object.entries(got.metadata), Object.entries(metadata));
  const end = expiresAt === 'never' ? undefined : expiresAt.getTime();
  assert.equal(got.expiresAt?.getTime(), end);
}

export const issue: Target = {
  seeds: [...readSeeds(), { ...INPUT, scopes: ['threats:*'] }],
  words: [
    'name',
    'scopes',
    'expiresAt',
    'accessibleEntities',
    'justification',
    'metadata',
    'entityId',
    'entities',
    '__proto__',
    'never',
    OWN,
    OTHER,
    'threats:read',
    'threats:*',
    '*:*',
    'users:delete',
    'users:*',
    'constructor:read',
    LIVE,
  ],
  async check(given) {
    const one = storeOfOne();
    const over = timed(createKeyring({ ...base, store: one.store }));
    const { value, error } = await settled(over.issue(given as never, AUTHORITY));
    if (isAccessError(error)) {
      requireDenial(error, ['ceiling_exceeded']);
      const texts = textsOf(given);
      const isBeyond = (entity: string) =>
        texts.includes(entity) && entity !== OWN && entity !== OTHER;
      assert.ok(error.excess?.every(isBeyond));
      return;
    }
    if (value === undefined) return requireComplaint(error, given);
    checkInfo(value.info, given as Asked);
    assert.deepEqual((await over.verify(value.key)).scopes, value.info.scopes);
    // The result contains the key, but its JSON does not.
    const shown = JSON.stringify(value) + one.kept();
    assert.ok(!shown.includes(value.key.slice(5)));
  },
};
