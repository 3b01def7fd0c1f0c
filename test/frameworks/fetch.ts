/** The contract's routes as fetch handlers, without a server. */
import { createGuard } from './.project/fetch/adapter.ts';
import { entitiesOf, type Serve } from './served.ts';

export { createGuard };

export const serve: Serve = ({ handle, ...options }, { errors, cache }) => {
  const guard = createGuard(options);
  const headers = cache === undefined ? {} : { 'Cache-Control': cache };
  const routes = {
    '/whoami': guard('whoami')(
      (_, { principal, entityId }) => new Response(handle(principal, entityId), { headers }),
    ),
    '/reports': guard('readReports', { entity: entitiesOf })(
      (_, { principal, entityId }) => new Response(handle(principal, entityId), { headers }),
    ),
  };
  const fetch = async (request: Request) => {
    const { pathname } = new URL(request.url);
    try {
      return await routes[pathname as keyof typeof routes](request);
    } catch (error) {
      errors.push(error);
      return new Response('failed', { status: 500 });
    }
  };
  return { fetch };
};
