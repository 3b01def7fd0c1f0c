/** Runs the adapter contract on an adapter. */
import { adapterContract, type ServeAdapter } from 'keyscope/testing';

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
