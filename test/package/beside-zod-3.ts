/** A user's code in a project on zod 3. Prints the result of each entry. */
import { isKey } from 'keyscope';
import { meSchema } from 'keyscope/schemas';
import { z } from 'zod';

const own = z.object({ entity_uuid: z.string().uuid() });
const entity = { entity_uuid: 'aaaaaaaa-0000-4000-8000-00000000000a' };
const me = { ...entity, key_id: entity.entity_uuid, scopes: [], accessible_entities: [] };

// A key can always address its own entity.
const reachable = { ...me, accessible_entities: [entity.entity_uuid] };
declare const console: { log(text: string): void };
const isTaken = own.safeParse(entity).success && meSchema.safeParse(reachable).success;
console.log(`${isTaken} ${isKey('acme_', { prefix: 'acme' }) || meSchema.safeParse(me).success}`);
