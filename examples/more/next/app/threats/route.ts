import { guard } from '../../guard';

const entity = ({ url }: Request) => new URL(url).searchParams.getAll('entity_uuid');

export const GET = guard('listThreats', { entity })(async (_request, { entityUuid }) =>
  Response.json({ threats: [], entity: entityUuid }),
);
