/**
 * Bytes: `node bench/size.ts`. What a Worker uploads and what Node reads; exact, so one run is
 * enough.
 */
import { bundle, loadedByNode } from './loading.ts';
import { aim, publish, type Row } from './report.ts';

export const CREATE = 'createKeyring with its dependencies';

const GUARDED_ROUTE =
  "export { createKeyring, definePolicy, defineScopes, toResponse } from 'keyscope'";

/** What is bundled for a Worker. */
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
  const rows: Row[] = [];
  for (const [name, entry] of Object.entries(BUNDLES)) {
    const { gzipped } = await bundle(entry);
    rows.push({
      name,
      group: 'A bundle for a Worker, minified and gzipped',
      value: gzipped,
      ours: true,
    });
  }
  rows.push({
    name: 'three files, and none of another package',
    group: "JavaScript that import 'keyscope' loads on Node, as published",
    value: loadedByNode(),
    ours: true,
  });
  const createKeyring = rows.find(({ name }) => name === CREATE)?.value ?? Number.NaN;
  publish({
    name: 'size',
    title: 'Size',
    about:
      'Bundled by esbuild from the built package, dependencies included. `test/size.test.ts` ' +
      'holds these figures to a bound.',
    unit: 'bytes',
    rows,
    aims: [
      aim('Worker bundle of createKeyring, min + gzip', createKeyring / 1000, '≤', 15.5, 'kB'),
    ],
  });
}
