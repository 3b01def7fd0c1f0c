import { serve } from 'bun';
import { createGuard } from '../fetch/adapter.ts';
import { keyring } from '../keys.ts';

const guard = createGuard({ keyring });
const entity = ({ url }: Request) => new URL(url).searchParams.getAll('entity_uuid');

const projects = guard('listProjects', { entity })((_request, { entityId }) =>
  Response.json({ projects: [], entity: entityId }),
);

const server = serve({ hostname: '127.0.0.1', routes: { '/projects': { GET: projects } } });
console.log(`Listening on ${server.url}`);
