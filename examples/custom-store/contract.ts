/**
 * Runs the published contract on the store: the test that your own store should have from the first
 * day. As it is: `node --test contract.ts` on Node 22.18 or newer, or `npx tsx --test contract.ts`.
 * Compiled by TypeScript with `rewriteRelativeImportExtensions`: `node --test contract.js`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { storeContract } from 'keyscope/testing';
import { jsonFileStore } from './store.ts';

storeContract(test, () => {
  const folder = mkdtempSync(join(tmpdir(), 'custom-store-'));
  const close = () => rmSync(folder, { recursive: true });
  return { ...jsonFileStore(join(folder, 'keys.json')), close };
});
