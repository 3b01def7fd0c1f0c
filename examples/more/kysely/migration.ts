import { schemaSql } from 'keyscope/stores/schema';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(schemaSql('postgres')).execute(db);
}
