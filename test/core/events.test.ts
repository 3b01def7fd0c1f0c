import type { EventListener, KeyringEvent } from 'keyscope';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createEmit } from '../../src/core/events.js';
import {
  AUTHORITY,
  bearer,
  denied,
  issue,
  NOWHERE,
  OWN,
  policy,
  START,
  setUp,
} from '../support/keyring.ts';

/** Something with a `then` of the test's own: what a listener may return that is no promise. */
const thenable = (then: (resolve: unknown, reject: (error: Error) => void) => void): object => ({
  then,
});

/** What listeners do that a keyring must survive. */
const LISTENERS: readonly (readonly [string, EventListener])[] = [
  [
    'throws',
    () => {
      throw new Error('sink');
    },
  ],
  ['rejects', () => Promise.reject(new Error('sink'))],
  [
    'returns a thenable that throws',
    () =>
      thenable(() => {
        throw new Error('sink');
      }),
  ],
  ['returns a thenable that rejects', () => thenable((_, reject) => reject(new Error('sink')))],
  ['never settles', () => new Promise(() => {})],
  ['resolves', async () => 7],
  ['returns null', () => null],
];

const EVENT = { type: 'key.issued', time: START, keyId: NOWHERE, entityUuid: OWN } as const;

/** An unhandled rejection fails the run by itself, once it had the turn that it needs to show. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

afterEach(() => {
  vi.restoreAllMocks();
});

describe('createEmit', () => {
  it('is undefined without a listener, so that no event is made', () => {
    expect(createEmit(undefined)).toBeUndefined();
  });

  it('calls the listener at once, with the event alone', () => {
    const listener = vi.fn();
    const emit = createEmit(listener);
    expect(emit?.({ ...EVENT })).toBeUndefined();
    expect(listener.mock.calls).toEqual([[EVENT]]);
  });

  it('freezes the event before the listener has it', () => {
    const wasFrozen: boolean[] = [];
    createEmit((event) => wasFrozen.push(Object.isFrozen(event)))?.({ ...EVENT });
    expect(wasFrozen).toEqual([true]);
  });

  it.each(LISTENERS)('drops what becomes of a listener that %s', async (_what, listener) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    try {
      const emit = createEmit(listener);
      for (let count = 0; count < 2; count++) expect(emit?.({ ...EVENT })).toBeUndefined();
      await nextTurn();
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });
});

describe('the listener of a keyring', () => {
  it.each(LISTENERS)('changes no decision if it %s', async (_what, onEvent) => {
    const { keyring } = setUp({ onEvent });
    const { key, info } = await issue(keyring);
    await keyring.admit(bearer(key), { policy, operation: 'list' });
    await denied(
      () => keyring.admit(bearer(key), { policy, operation: 'remove' }),
      'insufficient_scope',
      'scope_missing',
    );
    const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await keyring.revoke(next.info.keyId, AUTHORITY);
    await denied(
      () => keyring.admit(bearer(key), { policy, operation: 'list' }),
      'invalid_token',
      'retired',
    );
    await nextTurn();
  });

  it('cannot rewrite an event for whoever reads it next', async () => {
    const thrownBy: unknown[] = [];
    const onEvent = (event: KeyringEvent) => {
      try {
        Object.assign(event, { keyId: NOWHERE });
      } catch (error) {
        thrownBy.push(error);
      }
    };
    await issue(setUp({ onEvent }).keyring);
    expect(thrownBy).toEqual([expect.any(TypeError)]);
  });
});
