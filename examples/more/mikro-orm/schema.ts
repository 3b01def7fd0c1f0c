import { defineEntity, p } from '@mikro-orm/postgresql';

export const Threat = defineEntity({
  name: 'Threat',
  tableName: 'threats',
  properties: { id: p.integer().primary(), name: p.text() },
});
