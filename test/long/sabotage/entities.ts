/** Safeguards of the ids of entities. */
import type { Safeguard } from './safeguard.ts';

export const ENTITIES: readonly Safeguard[] = [
  {
    name: 'a key is not the id of an entity',
    file: 'src/core/entity.ts',
    text: ' && !isWholeKey(value)',
    instead: '',
  },
  {
    name: 'an authority has ids of the kind of its service',
    file: 'src/management/authority.ts',
    text: 'kind.holds(entityId)',
    instead: 'ANY_ID.holds(entityId)',
    tests: 'test/core/entity.test.ts',
  },
  {
    name: 'a request names an id of the kind of its service',
    file: 'src/core/principal.ts',
    text: 'if (!holds(entityId)) throw',
    instead: "if (typeof entityId !== 'string') throw",
  },
];
