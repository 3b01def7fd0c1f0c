/**
 * Bytes that a Worker uploads and that Node reads: `node bench/size.ts`. They are exact, so one
 * run is enough.
 */
import { bundle, loadedByNode } from './loading.ts';
import { publish, type Row } from './report.ts';

export const CREATE = 'createKeyring with its dependencies';

const GUARDED_ROUTE =
  "export { createKeyring, definePolicy, defineScopes, toResponse } from 'keyscope'";

/** Entries to bundle for a Worker. */
export const BUNDLES: Readonly<Record<string, string>> = {
  'isKey alone': "export { isKey } from 'keyscope'",
  [CREATE]: "export { createKeyring } from 'keyscope'",
  'a guarded route: createKeyring, definePolicy, defineScopes, toResponse': GUARDED_ROUTE,
  'the same with the store for D1 and cacheStore': [
    GUARDED_ROUTE,
    "export { d1Store } from 'keyscope/stores/d1'",
    "export { cacheStore } from 'keyscope/cache'",
  ].join('; '),
  'everything that keyscope exports': "export * from 'keyscope'",
};

if (import.meta.main) {
  const bundles: Row[] = [];
  for (const [name, entry] of Object.entries(BUNDLES)) {
    const { gzipped } = await bundle(entry);
    bundles.push({ name, cells: [gzipped.toLocaleString('en-US')] });
  }
  const loaded: Row = {
    name: "loaded by import 'keyscope' on Node, not minified",
    cells: [loadedByNode().toLocaleString('en-US')],
  };
  publish({
    name: 'size',
    title: 'Size',
    about:
      'Bundled for a Worker by esbuild from the built package, with dependencies, minified and ' +
      'gzipped. `test/size.test.ts` fails if these figures grow.',
    tables: [{ head: ['', 'bytes'], rows: [...bundles.toReversed(), loaded] }],
  });
}
