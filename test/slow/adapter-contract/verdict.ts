/** Runs the adapter contract on wrong adapters. */
import { adapterContract, type ServeAdapter } from 'keyscope/testing';
import { expect, test } from 'vitest';
import { serveWith } from './right-adapter.ts';
import type { WrongAdapters } from './wrong-adapter.ts';

/** Returns the names of the tests that an adapter fails, sorted. */
export async function failures(serve: ServeAdapter): Promise<readonly string[]> {
  const failed: string[] = [];
  const running: Promise<void>[] = [];
  adapterContract((name, run) => {
    running.push(run().catch(() => void failed.push(name)));
  }, serve);
  await Promise.all(running);
  return failed.sort();
}

/** Registers a test for each wrong adapter, which must fail exactly the expected tests. */
export function noticesEach(wrongAdapters: WrongAdapters): void {
  test.each(Object.entries(wrongAdapters))('fails an adapter that %s', async (_name, wrong) => {
    expect(await failures(serveWith(wrong.change))).toEqual([...wrong.noticedBy].sort());
  });
}
