/** The contract of the example of a store outside the package, as a user runs it. */
import { fileURLToPath } from 'node:url';
import { storeContract } from 'keyscope/testing';
import { expect, it } from 'vitest';
import { jsonFileStore } from '../../examples/custom-store/store.ts';
import { runByNode } from '../support/run-by-node.ts';

// It once imported `./store.js`, which does not exist before compilation.
it('a store in a JSON file passes its contract with the test runner of Node', async () => {
  const titles: string[] = [];
  storeContract(
    (title) => titles.push(title),
    () => jsonFileStore('unused'),
  );
  const file = fileURLToPath(new URL('../../examples/custom-store/contract.ts', import.meta.url));
  expect(await runByNode(file)).toEqual({ pass: titles.length, fail: 0 });
});
