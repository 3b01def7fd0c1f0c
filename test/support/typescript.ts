/**
 * Lets Node run the source as it stands, with no build that could be stale: the package's own name
 * is its source, and `./x.js` in there is `./x.ts`. For child processes: `node --import
 * ./test/support/typescript.ts child.ts`.
 */
import { registerHooks } from 'node:module';

const SOURCE = new URL('../../src/', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'keyscope') return next(`${SOURCE}index.ts`, context);
    if (specifier.startsWith('keyscope/')) {
      const entry = specifier.slice('keyscope/'.length);
      return next(`${SOURCE}${entry}/index.ts`, context);
    }
    const isInside = specifier.startsWith('.') && context.parentURL?.startsWith(SOURCE);
    return next(isInside ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});
