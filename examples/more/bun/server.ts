import { serve } from 'bun';
import { createGuard } from '../fetch/adapter.ts';
import { keyring } from '../keys.ts';

const guard = createGuard({ keyring });
const entity = ({ url }: Request) => new URL(url).searchParams.getAll('entity_uuid');

const threats = guard('listThreats', { entity })((_request, { entityId }) =>
  Response.json({ threats: [], entity: entityId }),
);

const server = serve({ hostname: '127.0.0.1', routes: { '/threats': { GET: threats } } });
console.log(`Listening on ${server.url}`);
