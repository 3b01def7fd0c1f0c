import { integer, pgTable, text } from 'drizzle-orm/pg-core';

export const threats = pgTable('threats', { id: integer().primaryKey(), name: text() });
