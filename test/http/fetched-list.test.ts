/** A fetched list: when it is fetched, how long its items are used, and what happens on failure. */
import { causeOf, isStoreError } from 'keyscope';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createFetchedList,
  type FetchedList,
  type PublishedList,
} from '../../src/http/fetched-list.js';
import { eventually } from '../support/eventually.ts';
import { storeError } from '../support/keyring.ts';

const MAX_AGE = 900_000;
const REFRESH = 480_000;
const PAUSE = 30_000;
const DAY = 86_400_000;
/** The requests of a fetch that fails. */
const TRIES = 2;

const LIST: PublishedList<unknown> = {
  name: 'list',
  url: new URL('https://acme.example/list'),
  read: (json) => new Map(Object.entries(json as object)),
  maxAgeMs: MAX_AGE,
  refreshMs: REFRESH,
  pauseMs: PAUSE,
  overlapMs: 0,
};

/** Answers a request for the list. */
type Answer = (signal: AbortSignal) => Response | Promise<Response>;

/** Makes a list with the item `first`, until a test changes the answer. */
function setUp(over: Partial<PublishedList<unknown>> = {}) {
  const errors: unknown[] = [];
  const state = { asked: 0, answer: (() => Response.json({ first: 1 })) as Answer };
  async function fetch(_url: string, init: RequestInit): Promise<Response> {
    state.asked += 1;
    return state.answer(init.signal as AbortSignal);
  }
  const list = createFetchedList({ ...LIST, fetch, ...over }, (error) => errors.push(error));
  return {
    list,
    errors,
    asked: () => state.asked,
    /** Sets the answer to all later requests. */
    answer: (next: Answer) => {
      state.answer = next;
    },
    publish: (items: object) => {
      state.answer = () => Response.json(items);
    },
    fail: () => {
      state.answer = () => new Response('', { status: 500 });
    },
  };
}

/** An answer that does not arrive until a test sends it. */
function hanging() {
  let arrive = (_response: Response): void => {};
  const hang: Answer = () =>
    new Promise((resolve) => {
      arrive = resolve;
    });
  return { hang, send: (response: Response) => arrive(response) };
}

/** Moves both clocks and the timers. */
function later(ms: number): void {
  vi.advanceTimersByTime(ms);
}

/** Moves only the date, forward or back. */
function setClock(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Looks a name up many times, and checks that each finds the same. */
async function expectAlways(list: FetchedList<unknown>, name: string, found: unknown) {
  for (let round = 0; round < 20; round += 1) expect(await list.find(name)).toBe(found);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('a fetched list', () => {
  it('is fetched once, at the first look-up, for any number of them', async () => {
    const { list, asked, errors } = setUp();
    expect(asked()).toBe(0);
    const found = await Promise.all(Array.from({ length: 20 }, () => list.find('first')));
    expect(new Set(found)).toEqual(new Set([1]));
    await expectAlways(list, 'first', 1);
    expect([asked(), errors]).toEqual([1, []]);
  });

  it('has no items but its own', async () => {
    const { list } = setUp();
    for (const name of ['', '__proto__', 'constructor']) expect(await list.find(name)).toBeFalsy();
  });

  // Otherwise a stranger with made-up names could make this service flood another one.
  it('is fetched again for an unknown name, but not for every made-up one', async () => {
    const { list, asked, errors, publish } = setUp();
    expect(await list.find('second')).toBeNull();
    publish({ second: 2 });
    // It may have been listed since.
    await expectAlways(list, 'second', undefined);
    later(PAUSE - 1);
    expect(await list.find('second')).toBeUndefined();
    expect(asked()).toBe(1);
    later(1);
    const found = await Promise.all(Array.from({ length: 20 }, () => list.find('second')));
    expect(new Set(found)).toEqual(new Set([2]));
    expect(await list.find('first')).toBeUndefined();
    expect([asked(), errors]).toEqual([2, []]);
  });

  // Regression: after ten minutes, one token per process waited for a slow address.
  it('is fetched again in the background, without a delay for known names', async () => {
    const { list, asked, answer } = setUp();
    await list.find('first');
    const { hang, send } = hanging();
    answer(hang);
    later(REFRESH - 1);
    await expectAlways(list, 'first', 1);
    expect(asked()).toBe(1);
    later(1);
    await expectAlways(list, 'first', 1);
    expect(asked()).toBe(2);
    const waiting = list.find('second');
    send(Response.json({ first: 3, second: 2 }));
    expect(await waiting).toBe(2);
    expect(await list.find('first')).toBe(3);
    later(REFRESH - 1);
    await expectAlways(list, 'first', 3);
    expect(asked()).toBe(2);
  });

  it('is used for exactly its maximum age', async () => {
    const { list, asked, publish } = setUp();
    await list.find('first');
    later(MAX_AGE);
    publish({ second: 2 });
    expect(await list.find('first')).toBeNull();
    expect(await list.find('second')).toBe(2);
    expect(asked()).toBe(2);
  });

  it('is fetched with the global fetch at that time, by a named program', async () => {
    const { list } = setUp({ fetch: undefined });
    const asked: unknown[] = [];
    vi.stubGlobal('fetch', async (url: string, { headers }: RequestInit) => {
      asked.push(url, new Headers(headers).get('user-agent'));
      return Response.json({ first: 1 });
    });
    expect(await list.find('first')).toBe(1);
    expect(asked).toEqual(['https://acme.example/list', 'keyscope']);
  });

  // On Workers, a fetch may be cancelled with the request that started it, and then never ends.
  it('is fetched by each request for itself on Workers', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
    const { list, asked, answer, publish } = setUp();
    answer(() => new Promise(() => {}));
    void list.find('first').catch(() => {});
    publish({ first: 1 });
    expect(await list.find('first')).toBe(1);
    answer(() => new Promise(() => {}));
    later(REFRESH);
    await expectAlways(list, 'first', 1);
    expect(asked()).toBe(3);
  });
});

describe('an item that left the list', () => {
  it('ends with the next fetch', async () => {
    const { list, publish } = setUp();
    await list.find('first');
    publish({ second: 2 });
    later(PAUSE);
    expect(await list.find('second')).toBe(2);
    expect(await list.find('first')).toBeUndefined();
  });

  it('ends exactly after the overlap, if there is one', async () => {
    const { list, publish } = setUp({ overlapMs: PAUSE });
    await list.find('first');
    publish({ second: 2 });
    later(PAUSE);
    expect(await list.find('second')).toBe(2);
    later(PAUSE - 1);
    expect(await list.find('first')).toBe(1);
    later(1);
    expect(await list.find('first')).toBeNull();
    expect(await list.find('second')).toBe(2);
  });

  it('does not live longer with each fetch', async () => {
    const { list, publish } = setUp({ overlapMs: 2 * PAUSE });
    await list.find('first');
    publish({ second: 2 });
    for (let round = 0; round < 3; round += 1) {
      later(PAUSE);
      await list.find(`unknown ${round}`);
    }
    expect(await list.find('first')).toBeUndefined();
  });

  it('does not live longer than the list in which it was', async () => {
    const { list, publish } = setUp({ overlapMs: DAY });
    await list.find('first');
    publish({ second: 2 });
    later(MAX_AGE - 1);
    expect(await list.find('second')).toBe(2);
    expect(await list.find('first')).toBe(1);
    later(1);
    expect(await list.find('first')).toBeUndefined();
  });

  it.each([
    { clock: 'the date', behind: 0, advance: setClock },
    { clock: 'the time that passed', behind: 1_000, advance: later },
  ])('does not live longer by $clock alone', async ({ behind, advance }) => {
    const { list, publish } = setUp({ overlapMs: DAY });
    await list.find('first');
    publish({ second: 2 });
    later(REFRESH);
    expect(await list.find('second')).toBe(2);
    setClock(-behind);
    advance(MAX_AGE - REFRESH - 1);
    expect(await list.find('first')).toBe(1);
    advance(1);
    expect(await list.find('first')).toBeNull();
  });

  it('ends even if the list has no other items, which is a failure', async () => {
    const { list, asked, errors, publish } = setUp();
    await list.find('first');
    publish({});
    later(REFRESH);
    expect(await list.find('first')).toBe(1);
    await eventually(async () => errors.length === 1, 'the failure is reported');
    await storeError(() => list.find('first'));
    expect(asked()).toBe(2);
  });
});

describe('a list that cannot be fetched', () => {
  it('leads to an outage after the second try, with one report and no other for 5 s', async () => {
    const { list, asked, errors, fail, publish } = setUp();
    fail();
    const waiting = Array.from({ length: 20 }, () => storeError(() => list.find('first')));
    for (const error of await Promise.all(waiting)) expect(error).toBe(errors[0]);
    publish({ first: 1 });
    later(4_999);
    const again = await storeError(() => list.find('first'));
    expect(String(causeOf(again))).toContain('status 500');
    expect(asked()).toBe(TRIES);
    expect(errors.map(isStoreError)).toEqual([true]);
    later(1);
    expect(await list.find('first')).toBe(1);
    expect(asked()).toBe(TRIES + 1);
  });

  // Regression: a failed fetch gave 401, and was repeated for every token with an unknown kid.
  it('leads to an outage for unknown names; known ones are found', async () => {
    const { list, asked, errors, fail } = setUp();
    await list.find('first');
    fail();
    later(PAUSE);
    for (let round = 0; round < 20; round += 1) await storeError(() => list.find('second'));
    expect(asked()).toBe(1 + TRIES);
    await expectAlways(list, 'first', 1);
    later(5_000);
    await storeError(() => list.find('second'));
    expect([asked(), errors.length]).toEqual([1 + 2 * TRIES, 2]);
    later(REFRESH - PAUSE - 5_001);
    await expectAlways(list, 'first', 1);
    expect(asked()).toBe(1 + 2 * TRIES);
  });

  // Regression: one failed refresh after ten minutes gave 503 to every token for five seconds.
  it('is used for its maximum age, and fetched in the background after each pause', async () => {
    const { list, asked, errors, fail, publish } = setUp();
    await list.find('first');
    fail();
    later(REFRESH);
    for (let round = 1; round <= 14; round += 1) {
      await expectAlways(list, 'first', 1);
      await eventually(async () => errors.length === round, `failure ${round} is reported`);
      later(PAUSE - 1);
      await expectAlways(list, 'first', 1);
      expect(asked()).toBe(1 + round * TRIES);
      if (round < 14) later(1);
    }
    later(1);
    await storeError(() => list.find('first'));
    expect([asked(), errors.every(isStoreError)]).toEqual([1 + 15 * TRIES, true]);
    publish({ first: 1 });
    later(5_000);
    expect(await list.find('first')).toBe(1);
  });

  it('is given up after 5 s, whatever has not arrived', async () => {
    const signals: AbortSignal[] = [];
    const body = new ReadableStream({ start: (control) => control.enqueue(new Uint8Array(1)) });
    const reading = new Promise<ReadonlyMap<string, unknown>>(() => {});
    const answers: readonly Answer[] = [
      () => new Promise(() => {}),
      () => new Response(body),
      () => Response.json({}),
    ];
    for (const answer of answers) {
      const lists = setUp({ read: () => reading });
      lists.answer((signal) => {
        signals.push(signal);
        return answer(signal);
      });
      const failing = storeError(() => lists.list.find('first'));
      await vi.advanceTimersByTimeAsync(4_999);
      expect([signals.at(-1)?.aborted, lists.errors]).toEqual([false, []]);
      await vi.advanceTimersByTimeAsync(1);
      expect(String(causeOf(await failing))).toContain('did not answer within 5000 ms');
      expect(signals.at(-1)?.aborted).toBe(true);
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not tried again after the time limit, even if the first try fails then', async () => {
    const { list, asked, errors, answer } = setUp();
    answer((signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)));
    const failing = storeError(() => list.find('first'));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(String(causeOf(await failing))).toContain('did not answer within 5000 ms');
    await vi.advanceTimersByTimeAsync(0);
    expect([asked(), errors.length]).toEqual([1, 1]);
  });

  it('is given up after 5 s in total, if the second try hangs', async () => {
    const { list, asked, errors, answer } = setUp();
    const { hang, send } = hanging();
    answer(hang);
    const failing = storeError(() => list.find('first'));
    await vi.advanceTimersByTimeAsync(3_000);
    send(new Response('', { status: 500 }));
    await vi.advanceTimersByTimeAsync(1_999);
    expect([asked(), errors]).toEqual([TRIES, []]);
    await vi.advanceTimersByTimeAsync(1);
    expect(String(causeOf(await failing))).toContain('did not answer within 5000 ms');
    expect([asked(), errors.length]).toEqual([TRIES, 1]);
  });

  // Regression: after ten idle minutes, the first token waited 5 s for a slow address, although its
  // key was known.
  it('delays only unknown names while it hangs', async () => {
    const { list, asked, errors, answer, fail } = setUp();
    await list.find('first');
    const { hang, send } = hanging();
    answer(hang);
    later(MAX_AGE - 1);
    await expectAlways(list, 'first', 1);
    let isSettled = false;
    const unknown = storeError(() => list.find('second')).then(() => {
      isSettled = true;
    });
    await expectAlways(list, 'first', 1);
    expect([asked(), isSettled, errors]).toEqual([2, false, []]);
    fail();
    send(new Response('', { status: 500 }));
    await unknown;
    expect(errors).toHaveLength(1);
    later(1);
    await storeError(() => list.find('first'));
    expect(asked()).toBe(1 + TRIES);
  });
});

describe('a list, after a change of the clock', () => {
  // Regression: the keys of a set that was fetched while the clock was a day ahead were accepted
  // for a day after their removal.
  it.each(['while', 'before'])(
    'is fetched again if it arrived %s the clock was ahead, once the clock is right',
    async (when) => {
      const { list, asked, answer, publish } = setUp();
      // Ahead from the start, or only once the fetch has started.
      if (when === 'while') setClock(DAY);
      answer(() => {
        if (when === 'before') setClock(DAY);
        return Response.json({ first: 1 });
      });
      await list.find('first');
      setClock(-DAY);
      publish({ second: 2 });
      expect(await list.find('first')).toBeUndefined();
      expect(await list.find('second')).toBe(2);
      expect(asked()).toBe(2);
    },
  );

  // Regression: the set was dropped, and every token denied until the key server was back.
  it('is used for its maximum age in total, asleep or awake, if fetches fail', async () => {
    const { list, asked, fail, publish } = setUp();
    await list.find('first');
    fail();
    later(300_000);
    setClock(-DAY);
    await expectAlways(list, 'first', 1);
    expect(asked()).toBe(1 + TRIES);
    later(MAX_AGE - 300_001);
    expect(await list.find('first')).toBe(1);
    later(1);
    await storeError(() => list.find('first'));
    // Setting the clock back does not extend the pause after a failure.
    setClock(-DAY);
    publish({ first: 1 });
    later(5_000);
    expect(await list.find('first')).toBe(1);
    // While the machine sleeps, only the date advances.
    fail();
    setClock(MAX_AGE - 1);
    expect(await list.find('first')).toBe(1);
    setClock(1);
    await storeError(() => list.find('first'));
  });

  it('does not count as fetched a moment ago if the fetch failed', async () => {
    const { list, fail } = setUp();
    await list.find('first');
    fail();
    setClock(-1);
    expect(await list.find('first')).toBe(1);
    await storeError(() => list.find('second'));
  });
});
