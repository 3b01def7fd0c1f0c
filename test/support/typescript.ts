/**
 * Lets Node run the source as it stands, with no build that could be stale: the package's own name
 * is its source, and `./x.js` in there is `./x.ts`. For child processes: `node --import
 * ./test/support/typescript.ts child.ts`.
 */
import { registerHooks } from 'node:module';

const SOURCE = new URL('../../src/', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const entry = /^keyscope(?:\/(.+))?$/.exec(specifier);
    if (entry)
      return next(`${SOURCE}${entry[1] === undefined ? '' : `${entry[1]}/`}index.ts`, context);
    const ours = specifier.startsWith('.') && context.parentURL?.startsWith(SOURCE);
    return next(ours ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});
