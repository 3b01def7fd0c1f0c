import type { EventListener, KeyringEvent } from 'keyscope';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createEmit, createReport } from '../../src/core/events.js';
import {
  AUTHORITY,
  bearer,
  denied,
  issue,
  NOWHERE,
  OWN,
  START,
  setUp,
  untyped,
} from '../support/keyring.ts';

/** An object with its own `then`: a listener may return one that is not a promise. */
const thenable = (then: (resolve: unknown, reject: (error: Error) => void) => void): object => ({
  then,
});

/** Behaviour of listeners that a keyring must survive. */
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

const EVENT = { type: 'key.revoked', time: START, keyId: NOWHERE, entityId: OWN } as const;

/** The report for each of {@link LISTENERS}. */
const isBroken = (what: string) => /throws|rejects/.test(what);

/** Gives an unhandled rejection the turn that it needs to appear; it then fails the run. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

afterEach(() => {
  vi.restoreAllMocks();
});

describe('createEmit', () => {
  it('returns undefined without a listener, so that callers build no event', () => {
    expect(createEmit(undefined, vi.fn())).toBeUndefined();
  });

  it('calls the listener immediately, with only the event', () => {
    const listener = vi.fn();
    const emit = createEmit(listener, vi.fn());
    expect(emit?.({ ...EVENT })).toBeUndefined();
    expect(listener.mock.calls).toEqual([[EVENT]]);
  });

  it('freezes the event before the listener gets it', () => {
    const wasFrozen: boolean[] = [];
    createEmit((event) => wasFrozen.push(Object.isFrozen(event)), vi.fn())?.({ ...EVENT });
    expect(wasFrozen).toEqual([true]);
  });

  it.each(LISTENERS)('reports the error of a listener that %s', async (what, listener) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    try {
      const report = vi.fn();
      const emit = createEmit(listener, report);
      for (let count = 0; count < 2; count++) expect(emit?.({ ...EVENT })).toBeUndefined();
      await nextTurn();
      expect(unhandled).not.toHaveBeenCalled();
      const told = [new Error('sink'), 'event'];
      expect(report.mock.calls).toEqual(isBroken(what) ? [told, told] : []);
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });
});

describe('createReport', () => {
  it('does nothing without a listener', async () => {
    const onFailure = vi.fn();
    expect(createReport(undefined, onFailure)(new Error('sink'), 'usage')).toBeUndefined();
    await nextTurn();
    expect(onFailure).not.toHaveBeenCalled();
  });

  it('calls the listener immediately, with the error and its kind', () => {
    const listener = vi.fn();
    const error = new Error('down');
    createReport(listener)(error, 'usage');
    expect(listener.mock.calls).toEqual([[error, 'usage']]);
  });

  it.each(LISTENERS)('drops the error of a listener that %s', async (_what, listener) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    try {
      const report = createReport<[Error, 'event']>(untyped(listener));
      expect(report(new Error('down'), 'event')).toBeUndefined();
      await nextTurn();
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });
});

describe('the listener of a keyring', () => {
  it.each(LISTENERS)('changes no decision if it %s', async (what, onEvent) => {
    const onError = vi.fn();
    const { keyring } = setUp({ onEvent, onError });
    const { key, info } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list' });
    await denied(
      () => keyring.admit(bearer(key), { operation: 'remove' }),
      'insufficient_scope',
      'scope_missing',
    );
    await keyring.suspend(info.keyId, AUTHORITY);
    await keyring.resume(info.keyId, AUTHORITY);
    expect(await keyring.get(NOWHERE, AUTHORITY)).toBeNull();
    const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await keyring.revokeLineage(next.info.keyId, AUTHORITY);
    expect(await keyring.identify(key)).toMatchObject({ state: 'revoked' });
    await denied(
      () => keyring.admit(bearer(key), { operation: 'list' }),
      'invalid_token',
      'revoked',
    );
    await nextTurn();
    expect(onError).toHaveBeenCalledTimes(isBroken(what) ? 11 : 0);
  });

  it('cannot change an event for its next reader', async () => {
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
