/** The contents of a schema, according to PostgreSQL's catalog. */
import type { Opened, Schema } from './postgres-clients.ts';

/** Lists everything in a schema. */
export const CATALOG: string = `
  SELECT relname AS name, relkind::text AS what, reloptions::text FROM pg_class
    WHERE relnamespace = current_schema::regnamespace
  UNION ALL SELECT proname, 'function', prosrc FROM pg_proc
    WHERE pronamespace = current_schema::regnamespace
  UNION ALL SELECT tgname, 'trigger', pg_get_triggerdef(t.oid)
    FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
    WHERE relnamespace = current_schema::regnamespace AND NOT tgisinternal
  UNION ALL SELECT conname, 'constraint', pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = current_schema::regnamespace
  ORDER BY 1, 2`;

/** Everything in a schema as text, without the schema's name. */
export async function catalogOf(sql: Opened['sql'], schema: Schema): Promise<string> {
  return JSON.stringify(await sql(CATALOG), null, 2).replaceAll(schema.name, 'any');
}
