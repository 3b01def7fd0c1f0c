/** Rotations over a catalog small enough to try them all, with the expected answer to each. */
import type { Keyring, KeyStore } from 'keyscope';
import { coversScopes, createKeyring, defineScopes, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { OTHER, OWN, THIRD, untyped } from './keyring.ts';

export const SCOPES: readonly string[] = ['a:r', 'a:w', 'b:r'];
export const OTHERS: readonly string[] = [OTHER, THIRD];

const SENTENCE = 'A scope.';
export const SMALL_CATALOG = defineScopes({ a: { r: SENTENCE, w: SENTENCE }, b: { r: SENTENCE } });

/** A key's scopes and entities. */
export interface Rights {
  readonly scopes: readonly string[];
  /** In addition to its own entity. */
  readonly accessibleEntities: readonly string[];
}

/** The scopes and entities that a rotation requests. */
export interface Asked {
  readonly scopes?: readonly string[];
  readonly accessibleEntities?: readonly string[];
  readonly expiresAt?: Date | 'never';
  readonly justification?: string;
}

/** The scopes and entities that an authority has. */
export interface Held {
  readonly scopes: readonly string[] | 'all';
  readonly entities?: readonly string[];
  readonly maxLifetimeMs?: number;
}

/** An authority that may grant everything. */
export const EVERYTHING = { entityUuid: OWN, entities: OTHERS, scopes: 'all' } as const;

/** A keyring without peppers, so that most of the time goes into decisions. */
export function smallKeyring(
  store: KeyStore,
  now: () => number,
  catalog: object = SMALL_CATALOG,
  maxLifetimeMs?: number,
): Keyring {
  const shared = { prefix: 'acme', store, now, maxLifetimeMs } as const;
  return createKeyring({
    ...shared,
    catalog: untyped<typeof SMALL_CATALOG>(catalog),
    peppers: 'none',
  });
}

export function patternsOf({ scopes }: Held): readonly string[] {
  return scopes === 'all' ? ['*:*'] : scopes;
}

export function entitiesOf({ entities = [] }: Held): readonly string[] {
  return [OWN, ...entities];
}

export function subsetsOf<T>(list: readonly T[]): T[][] {
  const [first, ...others] = list;
  if (first === undefined) return [[]];
  const without = subsetsOf(others);
  return [...without, ...without.map((subset) => [first, ...subset])];
}

/**
 * The expected answer to a rotation: the rights of the successor, or the reason for the refusal.
 */
export function answerTo(old: Rights, asked: Asked, held: Held): string {
  const { scopes = old.scopes, accessibleEntities: others = old.accessibleEntities } = asked;
  const added = scopes.filter((scope) => !old.scopes.includes(scope));
  if (added.length > 0) return `scopes_beyond_predecessor ${added.join(' ')}`;
  const reached = others.filter((entity) => !old.accessibleEntities.includes(entity));
  if (reached.length > 0) return `entities_beyond_predecessor ${reached.join(' ')}`;
  const scopesBeyond = scopes.filter((scope) => !coversScopes(patternsOf(held), [scope]));
  const entitiesBeyond = others.filter((entity) => !entitiesOf(held).includes(entity));
  const excess = [...scopesBeyond, ...entitiesBeyond];
  const word = scopesBeyond.length > 0 ? 'scopes' : 'entities';
  if (excess.length > 0) return `${word}_beyond_authority ${excess.join(' ')}`;
  return `${scopes.join(' ')} for ${[OWN, ...others].join(' ')}`;
}

/** All combinations to try. */
export interface Combinations {
  readonly authorities: readonly Held[];
  readonly old: readonly Rights[];
  readonly asked: readonly Asked[];
}

/** Tries all combinations and returns those whose answer differs from {@link answerTo}. */
export async function tryAll({ authorities, old, asked }: Combinations) {
  const keyring = smallKeyring(memoryStore(), () => 0);
  const wrong: string[] = [];
  let count = 0;

  async function tryOne(keyId: string, rights: Rights, wish: Asked, held: Held): Promise<boolean> {
    const authority = { entityUuid: OWN, ...held };
    let answer: string;
    let isRotated = false;
    try {
      const { info } = await keyring.rotate(keyId, { overlapMs: 0, ...wish }, authority);
      answer = `${info.scopes.join(' ')} for ${info.accessibleEntities.join(' ')}`;
      isRotated = true;
    } catch (error) {
      if (!isAccessError(error)) throw error;
      answer = `${error.reason} ${error.excess?.join(' ')}`;
    }
    const right = answerTo(rights, wish, held);
    if (answer !== right) wrong.push(`${answer}, not ${right}`);
    count += 1;
    return isRotated;
  }

  // A refusal changes nothing, so the same key serves for the next try.
  for (const rights of old) {
    const input = { name: 'n', expiresAt: 'never', ...rights } as const;
    const issue = () => keyring.issue(untyped(input), EVERYTHING);
    let keyId = (await issue()).info.keyId;
    for (const wish of asked) {
      for (const held of authorities) {
        const isRotated = await tryOne(keyId, rights, wish, held);
        if (isRotated) keyId = (await issue()).info.keyId;
      }
    }
  }
  return { count, wrong };
}

/** Every selection from a list, plus omitting the field. */
export function wishes<Name extends string>(name: Name, list: readonly string[]): object[] {
  return [{}, ...subsetsOf(list).map((subset) => ({ [name]: subset }))];
}
