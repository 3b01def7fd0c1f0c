/** The contract's routes on Next's own server, from the app that `next build` has built. */
import next from 'next';
import { createGuard } from './.project/fetch/adapter.ts';
import { entitiesOf, overHttp, type Serve } from './served.ts';

const dir = new URL('.project/next/', import.meta.url).pathname;

// Its types are for a bundler: in Node, the default export is the function itself.
const createNext = next as unknown as typeof next.default;

/** Starts Next's server, with the options of the Node server in front of it. */
export async function startNext(options: { readonly joinDuplicateHeaders: boolean }) {
  const app = createNext({ dev: false, dir });
  await app.prepare();
  const { url, close } = await overHttp(app.getRequestHandler(), options);
  const serve: Serve = ({ handle, ...setup }) => {
    const guard = createGuard(setup);
    const whoami = guard('whoami')(
      (_, { principal, entityId }) => new Response(handle(principal, entityId)),
    );
    const reports = guard('readReports', { entity: entitiesOf })(
      (_, { principal, entityId }) => new Response(handle(principal, entityId)),
    );
    Object.assign(globalThis, { serving: { whoami, reports } });
    return { url };
  };
  async function stop(): Promise<void> {
    await close?.();
    await app.close();
  }
  return { serve, url, stop };
}
