import { createGuard } from '../fetch/adapter.ts';
import { keyring } from '../keys.ts';

const guard = createGuard({ keyring });
const entity = ({ url }: Request) => new URL(url).searchParams.getAll('entity_uuid');

const projects = guard('listProjects', { entity })((_request, { entityId }) =>
  Response.json({ projects: [], entity: entityId }),
);

Deno.serve({ port: Number(Deno.env.get('PORT') ?? 3000) }, (request) => {
  const { pathname } = new URL(request.url);
  if (pathname === '/projects' && request.method === 'GET') return projects(request);
  return new Response('Not Found', { status: 404 });
});
