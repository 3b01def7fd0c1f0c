import { createGuard } from '../fetch/adapter.ts';
import { keyring } from '../keys.ts';

const guard = createGuard({ keyring });
const entity = ({ url }: Request) => new URL(url).searchParams.getAll('entity_uuid');

const threats = guard('listThreats', { entity })((_request, { entityId }) =>
  Response.json({ threats: [], entity: entityId }),
);

Deno.serve({ port: Number(Deno.env.get('PORT') ?? 3000) }, (request) => {
  const { pathname } = new URL(request.url);
  if (pathname === '/threats' && request.method === 'GET') return threats(request);
  return new Response('Not Found', { status: 404 });
});
