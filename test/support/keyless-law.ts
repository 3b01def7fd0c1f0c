/**
 * The law of keys without a secret: a token is admitted exactly if its claims are those that the
 * key trusts, the key would authenticate, and the token is not older than the key's last change;
 * and then it may do what the record allows, no more.
 */
import fc from 'fast-check';
import type { KeyStore, Principal, Trust } from 'keyscope';
import { isAccessError } from 'keyscope';
import { createKeylessVerifier } from 'keyscope/keyless';
import { expect } from 'vitest';
import { forge, makePair, type Pair } from './jwt.ts';
import { AUDIENCE, ENTRY, ISSUER, JOB } from './keyless.ts';
import { AUTHORITY, OTHER, OWN, START, setUp, stoppedClock } from './keyring.ts';

const PAIR: Pair = await makePair('ES256', 'law');
const ENTITIES = [OWN, OTHER];
const SCOPES = ['threats:read', 'decoys:read'];
const SECOND = 1_000;

/** A change to the key, a second after the one before. */
type Change = 'suspend' | 'resume' | 'revoke' | 'withdraw' | 'expire';

/** What is claimed: a text, several, or something else. */
type Claimed = string | readonly string[] | number | null;

/** A key, what happens to it, and a token. */
export interface Case {
  readonly scopes: readonly string[];
  readonly entities: readonly string[];
  readonly trusted: Trust['claims'];
  readonly changes: readonly Change[];
  readonly claims: Readonly<Record<string, Claimed>>;
  /** In seconds, from the beginning. */
  readonly issuedAt: number;
}

const word = fc.constantFrom('x', 'y', 'X', 'x ');
const wanted = fc.oneof(word, fc.uniqueArray(word, { minLength: 1, maxLength: 3 }));
const claimed = fc.oneof(word, fc.constant(['x']), fc.constant(1), fc.constant(null));
const names = ['repository_id', 'ref', 'constructor'];

const claimsOf = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Readonly<Record<string, T>>> =>
  fc.dictionary(fc.constantFrom(...names), value, { noNullPrototype: true });

/** Any case; the trust always has the claim that identifies. */
export const anyCase: fc.Arbitrary<Case> = fc.record({
  scopes: fc.subarray(SCOPES),
  entities: fc.subarray(ENTITIES, { minLength: 1 }).map((some) => [...new Set([OWN, ...some])]),
  trusted: fc.tuple(claimsOf(wanted), wanted).map(([all, id]) => ({ ...all, repository_id: id })),
  changes: fc.array(fc.constantFrom<Change>('suspend', 'resume', 'revoke', 'withdraw', 'expire'), {
    maxLength: 3,
  }),
  claims: claimsOf<Claimed>(claimed),
  issuedAt: fc.integer({ min: 0, max: 4 }),
});

/** Every case of a smaller world. */
export function* everyCase(): Generator<Case> {
  const values: readonly (Claimed | undefined)[] = ['x', 'y', 1, undefined];
  for (const trusted of [{ repository_id: 'x' }, { repository_id: 'x', ref: ['x', 'y'] }]) {
    for (const changes of [[], ['suspend'], ['suspend', 'resume'], ['revoke'], ['withdraw']]) {
      for (const repository_id of values) {
        for (const ref of values) {
          const given = Object.entries({ repository_id, ref }).filter(([, value]) => value != null);
          const claims = Object.fromEntries(given) as Case['claims'];
          for (const scopes of [[], SCOPES]) {
            for (const issuedAt of [0, 2]) {
              const key = { scopes, entities: ENTITIES, trusted, changes: changes as Change[] };
              yield { ...key, claims, issuedAt };
            }
          }
        }
      }
    }
  }
}

/** What the law says: null if the token is refused. */
function expected({ scopes, entities, trusted, changes, claims, issuedAt }: Case) {
  const matches = Object.entries(trusted).every(([name, values]) => {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    const list: readonly unknown[] = Array.isArray(values) ? values : [values];
    return typeof value === 'string' && list.includes(value);
  });
  let isSuspended = false;
  let changedAt = 0;
  let hasWithdrawn = false;
  for (const [index, change] of changes.entries()) {
    if (change === 'revoke' || change === 'expire') return null;
    const isNew =
      (change === 'suspend' && !isSuspended) ||
      (change === 'resume' && isSuspended) ||
      (change === 'withdraw' && !hasWithdrawn && entities.includes(OTHER));
    if (change === 'suspend') isSuspended = true;
    if (change === 'resume') isSuspended = false;
    if (change === 'withdraw' && isNew) hasWithdrawn = true;
    if (isNew) changedAt = index + 1;
  }
  const isFuture = issuedAt > changes.length + 5;
  if (!matches || isSuspended || issuedAt < changedAt || isFuture) return null;
  return { scopes, entities: hasWithdrawn ? [OWN] : entities };
}

/** Plays a case, through a keyring that reads `readers` and one that writes `store`. */
export async function playKeyless(
  store: KeyStore,
  readers: readonly KeyStore[],
  played: Case,
): Promise<void> {
  const clock = stoppedClock();
  const issuers = [{ ...ENTRY, jwks: { keys: [PAIR.publicKey] } }];
  const tokens = createKeylessVerifier({ audience: AUDIENCE, issuers, now: clock.now });
  const { keyring } = setUp({ store, tokens, now: clock.now });
  const trust = { issuer: ISSUER, claims: played.trusted };
  const rights = { scopes: played.scopes, accessibleEntities: played.entities };
  const expiresAt = new Date(START + 3_600_000);
  const input = { name: 'law', expiresAt, trust, ...rights } as never;
  const { info } = await keyring.issueKeyless(input, { ...AUTHORITY, entities: ENTITIES });
  const { keyId } = info;
  const aud = `${AUDIENCE}#${keyId}`;
  const { repository_id: _id, ref: _ref, ...rest } = JOB;
  const enter = (reader: KeyStore, claims: object) => {
    const token = forge(PAIR, { typ: 'JWT' }, { ...rest, aud, ...claims });
    const through = setUp({ store: reader, tokens, now: clock.now });
    return through.keyring.authenticate(`Bearer ${token}`).catch(ignoreRefusal);
  };
  // So that a cache has the key as it was before the changes.
  const right = Object.entries(played.trusted).map(([name, value]) => [name, firstOf(value)]);
  for (const reader of readers) {
    const claims = Object.fromEntries(right) as object;
    expect((await enter(reader, claims))?.keyId).toBe(keyId);
  }
  for (const change of played.changes) {
    clock.advance(SECOND);
    // A change that does not apply, such as resuming a revoked key, is refused.
    const acting = change === 'withdraw' ? { entityId: OTHER } : AUTHORITY;
    if (change === 'expire') clock.set(START + 3_600_000);
    else await keyring[change](keyId, acting).catch(ignoreRefusal);
  }
  const iat = START / SECOND + played.issuedAt;
  const times = { iat, nbf: iat, exp: iat + 600 };
  const law = expected(played);
  for (const reader of readers) {
    const entered = await enter(reader, { ...times, ...played.claims });
    expect(entered && shown(entered), JSON.stringify(played)).toEqual(law);
  }
}

function firstOf(value: string | readonly string[]): string | undefined {
  return typeof value === 'string' ? value : value[0];
}

function shown({ scopes, accessibleEntities }: Principal) {
  return { scopes, entities: accessibleEntities };
}

function ignoreRefusal(error: unknown): null {
  if (isAccessError(error)) return null;
  throw error;
}
