import { EntitySchema } from 'typeorm';

export const Threat = new EntitySchema<{ id: number; name: string }>({
  name: 'Threat',
  tableName: 'threats',
  columns: { id: { type: 'integer', primary: true }, name: { type: 'text' } },
});
