/**
 * Rotations over a catalog so small that a test can try all of them, and the right answer of each.
 */
import type { Keyring, KeyStore } from 'keyscope';
import { coversScopes, createKeyring, defineScopes, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { OTHER, OWN, THIRD, untyped } from './keyring.ts';

export const SCOPES: readonly string[] = ['a:r', 'a:w', 'b:r'];
export const OTHERS: readonly string[] = [OTHER, THIRD];

const SENTENCE = 'A scope.';
export const SMALL_CATALOG = defineScopes({ a: { r: SENTENCE, w: SENTENCE }, b: { r: SENTENCE } });

/** The scopes and entities of a key. */
export interface Rights {
  readonly scopes: readonly string[];
  /** In addition to its own. */
  readonly accessibleEntities: readonly string[];
}

/** The input of a rotation. */
export interface Asked {
  readonly scopes?: readonly string[];
  readonly accessibleEntities?: readonly string[];
  readonly expiresAt?: Date | 'never';
  readonly justification?: string;
}

/** The scopes and entities of an authority. */
export interface Held {
  readonly scopes: readonly string[] | 'all';
  readonly entities?: readonly string[];
  readonly maxLifetimeMs?: number;
}

/** An authority that may hand out everything. */
export const EVERYTHING = { entityId: OWN, entities: OTHERS, scopes: 'all' } as const;

/** Makes a keyring without peppers, so that decisions take most of the time. */
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
 * Returns the right answer of a rotation as text: the rights of the successor, or the reason of a
 * refusal.
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

/** The combinations to try. */
export interface Combinations {
  readonly authorities: readonly Held[];
  readonly old: readonly Rights[];
  readonly asked: readonly Asked[];
}

/** Tries all of them, and returns those whose answer differs from {@link answerTo}. */
export async function tryAll({ authorities, old, asked }: Combinations) {
  const keyring = smallKeyring(memoryStore(), () => 0);
  const wrong: string[] = [];
  let count = 0;

  async function tryOne(keyId: string, rights: Rights, wish: Asked, held: Held): Promise<boolean> {
    const authority = { entityId: OWN, ...held };
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

  // A refusal changes nothing, so the same key can be tried again.
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

/** Returns every way to ask for a part of a list, or to leave it out. */
export function wishes<Name extends string>(name: Name, list: readonly string[]): object[] {
  return [{}, ...subsetsOf(list).map((subset) => ({ [name]: subset }))];
}
