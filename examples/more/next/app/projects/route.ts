import { guard } from '../../guard';

const entity = ({ url }: Request) => new URL(url).searchParams.getAll('entity_uuid');

export const GET = guard('listProjects', { entity })(async (_request, { entityId }) =>
  Response.json({ projects: [], entity: entityId }),
);
