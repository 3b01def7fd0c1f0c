/** Stores that confuse ids of entities that are not UUIDs. */
import type { Mark } from 'keyscope';
import { copy, isAsked, newestFirst, type Rows } from '../right-store.ts';
import { lower, type Query, type WrongStore, type WrongStores } from '../wrong-store.ts';

/** A store whose listings compare what `change` makes of ids. */
function comparing(change: (id: string) => unknown): WrongStore {
  return (_right, rows: Rows) => ({
    list: (query: Query) => {
      const entityId = String(change(query.entityId));
      const found = [...rows.values()].filter((row) => {
        const accessibleEntities = row.accessibleEntities.map((id) => String(change(id)));
        const changed = { ...row, entityId: String(change(row.entityId)), accessibleEntities };
        return isAsked(changed, { ...query, entityId });
      });
      return found.sort(newestFirst).slice(0, query.limit).map(copy);
    },
  });
}

const isUuid = (id: string) => id.length === 36;

export const WRONG_ENTITY_IDS: WrongStores = {
  'list folds the case of ids that are not UUIDs': comparing((id) => (isUuid(id) ? id : lower(id))),
  'list compares ids as numbers': comparing((id) => (Number.isNaN(Number(id)) ? id : Number(id))),
  'list splits ids at a colon': comparing((id) => id.split(':')[0]),
  'list cuts ids to 40 characters': comparing((id) => id.slice(0, 40)),
  'list compares the beginning of ids': comparing((id) => (isUuid(id) ? id : id.slice(0, 7))),
  'list takes ids for patterns': comparing((id) => (isUuid(id) ? id : id.replace(/[_%-]/g, '_'))),
  'insert reads the id null as null': (right) => ({
    findById: (keyId: string) => {
      const row = right.findById(keyId);
      return row?.entityId === 'null' ? { ...row, entityId: null } : row;
    },
  }),
  'mark withdraws ids whatever their case': (right) => ({
    mark: (keyId: string, mark: Mark) => {
      const row = right.findById(keyId);
      const isSame = (id: string) => mark.kind === 'withdraw' && lower(id) === lower(mark.entityId);
      return row?.withdrawn.some(isSame) === true ? false : right.mark(keyId, mark);
    },
  }),
};
