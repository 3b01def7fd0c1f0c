/**
 * How much there is to load. Bytes are exact, so they may fail a build, which times may not. A
 * change that needs more is free to raise a bound, and shows it. The figures are printed, so that a
 * run shows them.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { bundle, loadedByNode } from '../bench/loading.js';
import { BUNDLES, CREATE } from '../bench/size.js';
import { buildPackage } from './support/built-package.ts';

describe('size', () => {
  const built = buildPackage();
  const figures: string[] = [];
  afterAll(() => {
    built.remove();
    console.log(`sizes: ${figures.join(', ')}`);
  });

  function expectAtMost(what: string, bytes: number, bound: number): void {
    figures.push(`${what} ${bytes} B of ${bound}`);
    expect(bytes, what).toBeLessThanOrEqual(bound);
    // Of something: a bundle of nothing is small too.
    expect(bytes, what).toBeGreaterThan(bound / 2);
  }

  it('takes at most 19 kB in a Worker, minified and gzipped, dependencies and all', async () => {
    const { code, gzipped } = await bundle(BUNDLES[CREATE] ?? '', built.path);
    expect(code).toMatch(/as createKeyring[,}]/);
    expect(code).not.toMatch(/\bimport\b/);
    expectAtMost('createKeyring in a Worker', gzipped, 19_000);
  });

  it("has Node load little on import 'keyscope'", () => {
    expectAtMost("import 'keyscope'", loadedByNode(built.path), 102_000);
  });
});
