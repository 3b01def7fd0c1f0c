/**
 * Runs the published contract on the store. Give your own store this test from the first day. Run
 * it with `node --test contract.ts` on Node 22.18 or newer, or with `npx tsx --test contract.ts`.
 * If you compile it with `rewriteRelativeImportExtensions`: `node --test contract.js`.
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
