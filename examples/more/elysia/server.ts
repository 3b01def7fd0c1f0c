import { Elysia } from 'elysia';
import { keyring } from '../keys.ts';
import { createGuard } from './adapter.ts';

const guard = createGuard({ keyring });
// Not `query`, which has only one value of each parameter.
const entity = ({ url }: Request) => new URL(url).searchParams.getAll('entity_uuid');

export const app = new Elysia().get(
  '/projects',
  guard('listProjects', { entity })(({ entityId }) => ({ projects: [], entity: entityId })),
);
if (import.meta.main) app.listen(3000); // On Bun. On Node, add `@elysiajs/node`.
