/**
 * Lets Node run the source without a build, which could be stale. The package's own name resolves
 * to its source, and `./x.js` there to `./x.ts`. For child processes: `node --import
 * ./test/support/typescript.ts child.ts`.
 */
import { registerHooks } from 'node:module';
import './exit-flags.ts';
import { packageEntries } from './package-entries.ts';

const SOURCE = new URL('../../src/', import.meta.url).href;
const ENTRIES = new Map(
  packageEntries().map(({ specifier, source }) => [
    specifier,
    new URL(`../../${source}`, import.meta.url).href,
  ]),
);

registerHooks({
  resolve(specifier, context, next) {
    const source = ENTRIES.get(specifier);
    if (source !== undefined) return next(source, context);
    if (!context.parentURL?.startsWith(SOURCE)) return next(specifier, context);
    if (specifier === '#noble') return next(`${SOURCE}native/noble.ts`, context);
    return next(specifier.replace(/^(\..+)\.js$/, '$1.ts'), context);
  },
});
