import { guard } from '../../guard';

const entity = ({ url }: Request) => new URL(url).searchParams.getAll('entity_uuid');

export const GET = guard('listThreats', { entity })(async (_request, { entityId }) =>
  Response.json({ threats: [], entity: entityId }),
);
