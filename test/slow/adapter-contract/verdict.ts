/** What the adapter contract says of an adapter that is wrong. */
import { adapterContract, type ServeAdapter } from 'keyscope/testing';
import { expect, test } from 'vitest';
import { serveWith } from './right-adapter.ts';
import type { WrongAdapters } from './wrong-adapter.ts';

/** The tests that an adapter fails, sorted. */
export async function failures(serve: ServeAdapter): Promise<readonly string[]> {
  const failed: string[] = [];
  const running: Promise<void>[] = [];
  adapterContract((name, run) => {
    running.push(run().catch(() => void failed.push(name)));
  }, serve);
  await Promise.all(running);
  return failed.sort();
}

/** Registers a test for each wrong adapter: exactly the tests fail that are to notice it. */
export function noticesEach(wrongAdapters: WrongAdapters): void {
  test.each(Object.entries(wrongAdapters))('notices one that %s', async (_name, wrong) => {
    expect(await failures(serveWith(wrong.change))).toEqual([...wrong.noticedBy].sort());
  });
}
