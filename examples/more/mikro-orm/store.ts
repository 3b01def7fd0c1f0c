import { MikroORM } from '@mikro-orm/postgresql';
import { postgresStore } from 'keyscope/stores/postgres';
import { Threat } from './schema.ts';

export const orm = await MikroORM.init({
  clientUrl: process.env.DATABASE_URL ?? '',
  entities: [Threat],
  // Without `skipTables`, `schema.update` drops every key.
  schemaGenerator: { skipTables: [/^keyscope_/], ignoreRoutines: true },
});
const pool = await orm.em.getConnection().getNativeClient();
export const store = postgresStore(pool);
