/**
 * How much code a user loads. Unlike times, bytes are exact, so they may fail a build. If a change
 * needs more, raise the bound in the same change. Each run prints the figures.
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
    // A bundle of nothing would look small too.
    expect(bytes, what).toBeGreaterThan(bound / 2);
  }

  it('takes at most 20 kB in a Worker, minified and gzipped, dependencies included', async () => {
    const { code, gzipped } = await bundle(BUNDLES[CREATE] ?? '', built.path);
    expect(code).toMatch(/as createKeyring[,}]/);
    expect(code).not.toMatch(/\bimport\b/);
    expectAtMost('createKeyring in a Worker', gzipped, 20_000);
  });

  it("has Node load little on import 'keyscope'", () => {
    expectAtMost("import 'keyscope'", loadedByNode(built.path), 108_000);
  });
});
