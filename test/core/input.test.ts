import { createKeyring, defineScopes, isKey, parseKey, redactKeys, toMe } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { expect, it, vi } from 'vitest';
import {
  AUTHORITY,
  OTHER,
  OWN,
  PLAIN,
  START,
  setUp,
  typeError,
  untyped,
} from '../support/keyring.ts';

const catalog = defineScopes({ threats: { read: 'Read.' } });

// The names of its letters were listed before it was seen to be no object: 0.2 s for a megabyte.
it('does not take a text apart that should be an object', async () => {
  const { keyring } = setUp();
  const ownKeys = vi.spyOn(Reflect, 'ownKeys');
  await typeError(
    () => keyring.issue(untyped('a'.repeat(1_000_000)), AUTHORITY),
    /issue: pass an object of name/,
  );
  const texts = ownKeys.mock.calls.filter(
    ([target]) => Object.prototype.toString.call(target) === '[object String]',
  );
  ownKeys.mockRestore();
  expect(texts).toEqual([]);
});

it('names the position of an odd entity in the list that was given, repetitions included', async () => {
  const accessibleEntities = [OTHER, OTHER, OTHER, 'odd'];
  await typeError(
    () =>
      setUp().keyring.issue(
        { ...PLAIN, accessibleEntities },
        { entityUuid: OWN, entities: [OTHER] },
      ),
    /^accessibleEntities: element 3: .*not "odd"/,
  );
});

it('reads a Date as it is, whatever its methods answer', async () => {
  class Odd extends Date {
    override getTime(): number {
      return Infinity;
    }
  }
  const { keyring } = setUp();
  const { info } = await keyring.issue({ ...PLAIN, expiresAt: new Odd(START + 1000) }, AUTHORITY);
  expect(info.expiresAt).toEqual(new Date(START + 1000));
});

it('names what is missing in our words, not in the engine’s', () => {
  const none = untyped<{ prefix: string }>(undefined);
  for (const call of [
    () => parseKey('x', none),
    () => isKey('x', none),
    () => redactKeys('x', none),
  ])
    expect(call).toThrow(/^prefix: .*, not undefined$/);
  expect(() => parseKey('x', untyped({ prefix: null }))).toThrow(/^prefix: .*, not null$/);
  expect(() => toMe(untyped(undefined))).toThrow(/^toMe: pass the principal/);
  const options = { prefix: 'acme', catalog, store: memoryStore(), peppers: 'none', tokens: null };
  expect(() => createKeyring(options as never)).toThrow(/^tokens\.verify: pass a function/);
});
