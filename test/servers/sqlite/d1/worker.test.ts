import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  describeWithWorkerd,
  OLD_DATE,
  RECENT_DATE,
  SLOW,
  startWorker,
  type Worker,
} from '../../../support/workerd.ts';

/**
 * The routes that test the contract, which uses nothing of the runtime that changed between the
 * dates.
 */
const CONTRACTS: Readonly<Record<string, readonly string[]>> = {
  [OLD_DATE]: [],
  [RECENT_DATE]: ['/contract', '/contract/batch', '/contract/cached'],
};

describeWithWorkerd.each([OLD_DATE, RECENT_DATE])('a Worker of %s', SLOW, (date) => {
  let worker: Worker;
  beforeAll(async () => {
    worker = await startWorker(date);
  }, SLOW.timeout);
  afterAll(() => worker.stop());

  test.each(['/walk', '/walk/cached'])(
    'issues, verifies, rotates and revokes: %s',
    async (route) => {
      expect(await worker.ask(route)).toMatchObject({
        digestBackend: 'noble',
        passed: true,
        old: 'retired',
        revoked: 'revoked',
        json: false,
      });
    },
  );

  // Five minutes: on a busy machine, sixty tests took more than one.
  test.each(CONTRACTS[date] ?? [])(
    'keeps the contract: %s',
    { timeout: 300_000 },
    async (route) => {
      const { tests, failed } = (await worker.ask(route)) as { tests: number; failed: string[] };
      expect(failed).toEqual([]);
      expect(tests).toBeGreaterThanOrEqual(60);
    },
  );

  // A query ends with the request that sent it, and so does a promise of its answer.
  test.each([
    ['migration', '/verify/new'],
    ['look-up', '/verify/shared'],
  ])('answers requests that arrived during the %s of a cancelled one', async (_what, route) => {
    const key = String(await worker.ask('/issue'));
    expect(await worker.ask(`${route}?leave`, key)).toBe('left');
    const answers = await Promise.all([1, 2, 3].map(() => worker.ask(route, key)));
    expect(answers).toEqual(['key', 'key', 'key']);
    expect(await worker.ask(route, key)).toBe('key');
  });
});
